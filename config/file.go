package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is more than any configuration needs, and little enough to read at once.
const maxFile = 1 << 20

// readFile returns the file's values by key. JSON is read as the YAML that it is.
func (l *loader) readFile() map[string]any {
	values := map[string]any{}
	if l.file == "" {
		return values
	}
	switch ext := strings.ToLower(filepath.Ext(l.file)); ext {
	case ".yaml", ".yml", ".json":
	default:
		l.fail(0, "", "give a .yaml, .yml or .json file", "configuration files of the kind %q can't be read", ext)
		return values
	}
	data, err := readAtMost(l.file, maxFile)
	if err != nil {
		l.fail(0, "", "check the path that --config gives", "can't be read: %v", err)
		return values
	}
	if root := l.parse(data); root != nil {
		l.section(root, "", values)
	}
	return values
}

func readAtMost(path string, max int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err // the path is said already
		}
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > max {
		return nil, fmt.Errorf("larger than %d bytes", max)
	}
	return data, nil
}

var yamlLine = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)

// parse returns the root of the only document, nil when there is none or it is broken.
func (l *loader) parse(data []byte) *yaml.Node {
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	err := dec.Decode(&doc)
	if errors.Is(err, io.EOF) {
		return nil // nothing but comments: the defaults
	}
	if err == nil {
		switch err = dec.Decode(&second); {
		case err == nil:
			l.fail(second.Line, "", "keep one document in a file", "a second document begins here")
			return nil
		case errors.Is(err, io.EOF):
			return doc.Content[0]
		}
	}
	line, what := 0, err.Error()
	if m := yamlLine.FindStringSubmatch(what); m != nil {
		line, _ = strconv.Atoi(m[1])
		what = m[2]
	}
	l.fail(line, "", "correct the syntax", "not YAML: %s", strings.ReplaceAll(what, "\n", " "))
	return nil
}

// section reads a mapping whose keys are keys of the table, or sections of it.
func (l *loader) section(n *yaml.Node, prefix string, values map[string]any) {
	if n.Tag == "!!null" && n.Kind == yaml.ScalarNode {
		return // a section whose keys are all commented out
	}
	if n.Kind != yaml.MappingNode {
		l.fail(n.Line, strings.TrimSuffix(prefix, "."), "write its keys below it, indented", "want keys with values, not %s", kindOf(n))
		return
	}
	l.members(n, prefix, func(name string, k, v *yaml.Node) {
		full := prefix + name
		if strings.Contains(name, ".") {
			l.unknown(k, full)
			return
		}
		if key, ok := l.key(full); ok {
			l.origins[full] = l.at(k)
			if value, ok := l.value(key, full, v); ok {
				values[full] = value
			}
			return
		}
		if slices.Contains(sections(l.keys), full) {
			l.section(v, full+".", values)
			return
		}
		l.unknown(k, full)
	})
}

// members calls f for each member of a mapping whose name is plain and given once.
func (l *loader) members(n *yaml.Node, prefix string, f func(name string, k, v *yaml.Node)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		switch {
		case k.Kind == yaml.AliasNode || v.Kind == yaml.AliasNode || v.Anchor != "" || k.Anchor != "" || k.Tag == "!!merge":
			l.fail(k.Line, prefix+k.Value, "write the value out", "anchors, aliases and merge keys are not supported")
		case k.Kind != yaml.ScalarNode || k.Tag != "!!str":
			l.fail(k.Line, strings.TrimSuffix(prefix, "."), "remove it", "%s is no key of the configuration", kindOf(k))
		case first[k.Value] > 0:
			l.fail(k.Line, prefix+k.Value, "keep one of the two", "given twice, first in line %d", first[k.Value])
		default:
			first[k.Value] = k.Line
			f(k.Value, k, v)
		}
	}
}

func (l *loader) at(n *yaml.Node) string { return Problem{File: l.file, Line: n.Line}.Where() }

// unknown says which key may have been meant.
func (l *loader) unknown(n *yaml.Node, full string) {
	name := full
	if quoted := strconv.Quote(full); quoted != `"`+full+`"` {
		name = quoted // keeps the message on one line
	}
	fix := "remove it, or see docs/configuration.md for the keys"
	if near := nearest(full, l.keys); near == full {
		fix = "write its parts below each other, indented" // limits.depth: 5
	} else if near != "" {
		fix = fmt.Sprintf("did you mean %s?", near)
	}
	l.fail(n.Line, name, fix, "unknown key")
}

// sections are the names above the keys.
func sections(keys []Key) []string {
	var out []string
	for _, k := range keys {
		for i, c := range k.Name {
			if c == '.' && !slices.Contains(out, k.Name[:i]) {
				out = append(out, k.Name[:i])
			}
		}
	}
	return out
}

// kindOf names a node for somebody who doesn't know YAML's words.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.Tag {
	case "!!null":
		return "nothing"
	case "!!bool":
		return n.Value
	case "!!int", "!!float":
		return "the number " + n.Value
	case "!!str":
		return "the string " + strconv.Quote(n.Value)
	default:
		return "a value tagged " + strconv.Quote(n.Tag)
	}
}
