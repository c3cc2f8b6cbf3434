package config

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// A fault is what is wrong with one value, and what to do; zero when nothing is.
type fault struct{ what, fix string }

func want(what string, n *yaml.Node, fix string) fault {
	return fault{"want " + what + ", not " + kindOf(n), fix}
}

// value reads the value of a key, or of a list's element called name.
func (l *loader) value(k Key, name string, n *yaml.Node) (any, bool) {
	switch k.Type {
	case Bundles:
		if n.Kind == yaml.SequenceNode {
			return l.texts(k, name, n)
		}
		s, ok := l.scalar(k, name, n)
		if !ok {
			return nil, false
		}
		return []string{s.(string)}, true
	case TextList:
		return l.texts(k, name, n)
	case Objects:
		return l.objects(k, name, n)
	default:
		return l.scalar(k, name, n)
	}
}

func (l *loader) texts(k Key, name string, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.SequenceNode {
		l.wrong(n, name, want("a list of strings", n, "write - and a string for each, or [a, b]"))
		return nil, false
	}
	out, good := []string{}, true
	for i, e := range n.Content {
		element := fmt.Sprintf("%s[%d]", name, i)
		l.origins[element] = l.at(e)
		s, ok := l.scalar(k, element, e)
		if good = good && ok; ok {
			out = append(out, s.(string))
		}
	}
	return out, good
}

func (l *loader) objects(k Key, name string, n *yaml.Node) (any, bool) {
	if n.Kind != yaml.SequenceNode {
		l.wrong(n, name, want("a list of objects", n, "write - before each, with "+fieldNames(k.Fields)))
		return nil, false
	}
	before := len(l.problems)
	out := make([]any, 0, len(n.Content))
	for i, e := range n.Content {
		element := fmt.Sprintf("%s[%d]", name, i)
		l.origins[element] = l.at(e)
		out = append(out, l.object(k, element, e))
	}
	return out, len(l.problems) == before
}

func (l *loader) object(k Key, name string, n *yaml.Node) map[string]any {
	out := map[string]any{}
	if n.Kind != yaml.MappingNode {
		l.wrong(n, name, want("an object", n, "give it "+fieldNames(k.Fields)))
		return out
	}
	before := len(l.problems)
	l.members(n, name+".", func(field string, kn, v *yaml.Node) {
		i := slices.IndexFunc(k.Fields, func(f Key) bool { return f.Name == field })
		if i < 0 {
			fix := "it has " + fieldNames(k.Fields)
			if near := nearestOf(field, fieldList(k.Fields)); near != "" {
				fix = "did you mean " + near + "?"
			}
			l.fail(kn.Line, name, fix, "unknown key %q", field)
			return
		}
		if value, ok := l.scalar(k.Fields[i], name+"."+field, v); ok {
			out[field] = value
		}
	})
	for _, f := range k.Fields {
		if _, ok := out[f.Name]; f.Required && !ok && len(l.problems) == before {
			l.fail(n.Line, name, "add it", "%s is missing", f.Name)
		}
	}
	return out
}

func fieldList(fields []Key) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
}

func fieldNames(fields []Key) string { return strings.Join(fieldList(fields), ", ") }

func (l *loader) wrong(n *yaml.Node, name string, p fault) { l.fail(n.Line, name, p.fix, "%s", p.what) }

// scalar reads one value that is neither a list nor an object.
func (l *loader) scalar(k Key, name string, n *yaml.Node) (any, bool) {
	v, p := k.scalar(n)
	if p.what == "" && (k.Type == File || k.Type == Bundles) {
		v = l.resolve(k.Type, v.(string))
	}
	if p.what != "" {
		l.wrong(n, name, p)
	}
	return v, p.what == ""
}

// starter is the word that stands for the embedded bundle.
const starter = "starter"

// resolve makes a path relative to the file that it stands in.
func (l *loader) resolve(t Type, path string) string {
	if t == Bundles && (path == starter || strings.Contains(path, "://")) || filepath.IsAbs(path) {
		return path
	}
	path = filepath.Join(filepath.Dir(l.file), path)
	if path == starter {
		path = "./" + starter // a folder of that name, and not the word
	}
	return path
}

func (k Key) scalar(n *yaml.Node) (any, fault) {
	if n.Kind == yaml.AliasNode || n.Anchor != "" {
		return nil, fault{"anchors and aliases are not supported", "write the value out"}
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return nil, fault{"has no value", "give it one, or remove the key"}
	}
	switch k.Type {
	case Bool, Flag:
		if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
			return nil, want("true or false", n, "write true or false, without quotes")
		}
		on := strings.EqualFold(n.Value, "true")
		if k.Type == Flag {
			return on, fault{}
		}
		return switchOf(on), fault{}
	case Count:
		return k.count(n)
	case Bytes:
		return k.bytes(n)
	case Duration:
		return k.duration(n)
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		fix := ""
		if n.Kind == yaml.ScalarNode {
			fix = "put it in quotes"
		}
		return nil, want("a string", n, fix)
	}
	if strings.TrimSpace(n.Value) == "" {
		return nil, fault{"is an empty string", "give it a value, or remove the key"}
	}
	if k.Type == Choice {
		return n.Value, k.checkChoice(n.Value)
	}
	return n.Value, fault{}
}

func (k Key) checkChoice(s string) fault {
	if slices.Contains(k.Values, s) {
		return fault{}
	}
	fix := "choose one of them"
	if near := nearestOf(s, k.Values); near != "" {
		fix = "did you mean " + near + "?"
	}
	return fault{fmt.Sprintf("%q is not one of %s", s, strings.Join(k.Values, ", ")), fix}
}

func (k Key) count(n *yaml.Node) (any, fault) {
	var i int64
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || n.Decode(&i) != nil {
		return nil, want("a whole number", n, "write digits only")
	}
	return k.inRange(i)
}

// inRange refuses what would limit nothing.
func (k Key) inRange(i int64) (any, fault) {
	switch {
	case i <= 0:
		return nil, fault{"must be more than 0", "a limit can't be turned off: raise it, or remove the key for the default"}
	case i > k.max():
		return nil, fault{fmt.Sprintf("must be at most %s", show(k, k.max())), "lower it"}
	}
	return i, fault{}
}

var byteUnits = []struct {
	name string
	size int64
}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}

var number = regexp.MustCompile(`^([0-9]{1,10}) ?([A-Za-z]+)$`)

func (k Key) bytes(n *yaml.Node) (any, fault) {
	const fix = "write a number of bytes, or a whole number with a unit: 512KiB, 64MiB, 1GiB"
	var i int64
	if n.Kind == yaml.ScalarNode && n.Tag == "!!int" && n.Decode(&i) == nil {
		return k.inRange(i)
	}
	if m := number.FindStringSubmatch(n.Value); n.Kind == yaml.ScalarNode && n.Tag == "!!str" && m != nil {
		i, _ = strconv.ParseInt(m[1], 10, 64) // ten digits always fit
		for _, u := range byteUnits {
			if m[2] == u.name {
				return k.inRange(min(i, k.max()/u.size+1) * u.size) // no product overflows
			}
		}
	}
	return nil, want("a number of bytes", n, fix)
}

func (k Key) duration(n *yaml.Node) (any, fault) {
	const fix = "write a number with a unit: 500ms, 1s, 2m"
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		return nil, want("a duration", n, fix) // of a plain number nobody knows the unit
	}
	d, err := time.ParseDuration(n.Value)
	if err != nil {
		return nil, want("a duration", n, fix)
	}
	if _, p := k.inRange(int64(d)); p.what != "" {
		return nil, p
	}
	return d, fault{}
}

func switchOf(on bool) Switch {
	if on {
		return On
	}
	return Off
}
