package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/regogate/regogate/policy"
)

// maxTools bounds a file with tools. The largest list of a real server that was seen
// has 3 MB.
const maxTools = 64 << 20

// maxMade bounds how many tools that aren't in a list are kept ready.
const maxMade = 4096

// Tools finds a tool by name. It is for one goroutine.
type Tools struct {
	gate     *policy.Gate
	noSchema bool
	specs    map[string]policy.ToolSpec
	order    []string
	made     map[toolKey]*policy.Tool
}

type toolKey struct{ server, name string }

// NoSchema returns tools of which nothing is known: each one exists, and there is no
// schema to check its arguments against.
func NoSchema(gate *policy.Gate) *Tools {
	return &Tools{gate: gate, noSchema: true, made: map[toolKey]*policy.Tool{}}
}

// ReadTools reads a tools/list result from a file. Every element of it must be a tool.
func ReadTools(gate *policy.Gate, file string) (*Tools, error) {
	data, err := readFile(file)
	if err != nil {
		return nil, fmt.Errorf("tools: %s: %w: give a file with a tools/list result", file, pathless(err))
	}
	if where, what := syntaxError(data); what != nil {
		return nil, fmt.Errorf("tools: %s%s: not JSON: %w: give a file with a tools/list result", file, where, what)
	}
	specs, err := policy.ReadTools("", data)
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("tools: %s: %s: correct it, or save the server's tools/list result again", file, first)
	}
	t := &Tools{gate: gate, specs: map[string]policy.ToolSpec{}, made: map[toolKey]*policy.Tool{}}
	for _, s := range specs {
		t.specs[s.Name] = s
		t.order = append(t.order, s.Name)
	}
	return t, nil
}

func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxTools+1))
	if err == nil && len(data) > maxTools {
		err = fmt.Errorf("larger than %d bytes", maxTools)
	}
	return data, err
}

// syntaxError says what makes data no JSON text, and where as :line:column. Names
// given twice are the business of policy.ReadTools.
func syntaxError(data []byte) (where string, what error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	at, what := int64(0), dec.SkipValue()
	if what == nil {
		rest := data[dec.InputOffset():]
		after := bytes.TrimLeft(rest, " \t\r\n")
		if len(after) == 0 {
			return "", nil
		}
		at, what = int64(len(data)-len(after)), errors.New("something follows the value")
	}
	var syntax *jsontext.SyntacticError
	if errors.As(what, &syntax) {
		at, what = syntax.ByteOffset, syntax.Err
	} else if errors.Is(what, io.EOF) {
		what = errors.New("the file is empty")
	}
	before := data[:min(at, int64(len(data)))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return fmt.Sprintf(":%d:%d", line, column), what
}

// Get returns the tool called name of a server; one that no list has is unknown.
func (t *Tools) Get(server, name string) *policy.Tool {
	key := toolKey{server, name}
	if tool, ok := t.made[key]; ok {
		return tool
	}
	spec, declared := t.specs[name]
	switch {
	case t.noSchema:
		spec = policy.ToolSpec{Name: name, NoSchema: true}
	case !declared:
		return policy.UndeclaredTool(server, name)
	}
	spec.Server = server
	if len(t.made) >= max(maxMade, 2*len(t.specs)) {
		clear(t.made)
	}
	t.made[key] = t.gate.Tool(spec)
	return t.made[key]
}

// All returns the tools of the list as tools of that server, in its order.
func (t *Tools) All(server string) []*policy.Tool {
	var all []*policy.Tool
	for _, name := range t.order {
		all = append(all, t.Get(server, name))
	}
	return all
}
