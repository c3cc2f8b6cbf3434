package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// ReadTools reads the tools of one server from a tools/list result: an object with a
// member "tools" (other members are ignored) or a bare array of tools. Schemas are
// kept as the bytes that they are, to be read strictly when a tool is made of them.
//
// The error names every element that could not be read; the specs are the others. A
// tool whose declaration is ambiguous (declared twice, or with a member given twice)
// is among the specs with Broken set, so that its calls are refused and the other
// tools of the server are not.
func ReadTools(server string, data []byte) ([]ToolSpec, error) {
	elements, err := toolElements(data)
	if err != nil {
		return nil, err
	}
	specs := make([]ToolSpec, 0, len(elements))
	first := map[string]int{} // index into specs, by name
	var errs []error
	for i, e := range elements {
		spec, err := readTool(server, e)
		if err != nil {
			errs = append(errs, fmt.Errorf("/tools/%d: %w", i, err))
			continue
		}
		if j, twice := first[spec.Name]; twice {
			specs[j].Broken = fmt.Errorf("tool %q is declared twice, the second time at /tools/%d", spec.Name, i)
			continue
		}
		first[spec.Name] = len(specs)
		specs = append(specs, spec)
	}
	return specs, errors.Join(errs...)
}

func toolElements(data []byte) ([]jsontext.Value, error) {
	switch jsontext.Value(data).Kind() {
	case '[':
		return elements(data)
	case '{':
		m, err := members(data)
		if err != nil {
			return nil, fmt.Errorf("tools/list result: %w", err)
		}
		tools, ok := m["tools"]
		if !ok {
			return nil, errors.New(`tools/list result: no member "tools"`)
		}
		return elements(tools)
	default:
		return nil, errors.New("neither a tools/list result (an object with tools) nor an array of tools")
	}
}

func readTool(server string, data jsontext.Value) (ToolSpec, error) {
	spec := ToolSpec{Server: server}
	m, broken := members(data)
	if err := json.Unmarshal(m["name"], &spec.Name); err != nil || spec.Name == "" {
		return ToolSpec{}, errors.Join(errors.New("name: not a non-empty string"), broken)
	}
	spec.Broken = broken
	spec.InputSchema = present(m["inputSchema"])
	spec.Annotations = present(m["annotations"])
	_, spec.OutputSchema = m["outputSchema"]
	if json.Unmarshal(m["description"], &spec.Description) != nil {
		spec.Description = "" // nothing depends on it
	}
	if raw := present(m["title"]); raw != nil {
		if err := json.Unmarshal(raw, &spec.Title); err != nil {
			spec.Broken = errors.Join(spec.Broken, errors.New("title: not a string"))
		}
	}
	return spec, nil
}

// shallow reads one level and lets the levels below be whatever they are: they are
// read strictly, each by itself, by whoever uses them.
var shallow = jsontext.AllowDuplicateNames(true)

// members reads one object's members by their exact names. The error says that a
// name was given twice; the members are then those given first.
func members(data jsontext.Value) (map[string]json.RawMessage, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), shallow, jsontext.AllowInvalidUTF8(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return nil, errors.Join(errors.New("not an object"), err)
	}
	m := map[string]json.RawMessage{}
	var twice error
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		if _, ok := m[key]; ok {
			twice = fmt.Errorf("member %q is given twice", key)
			continue
		}
		m[key] = json.RawMessage(value.Clone())
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	return m, errors.Join(twice, atEnd(dec))
}

func elements(data []byte) ([]jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(data), shallow, jsontext.AllowInvalidUTF8(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '[' {
		return nil, errors.Join(errors.New("tools: not an array"), err)
	}
	var out []jsontext.Value
	for {
		switch dec.PeekKind() {
		case ']':
			if _, err := dec.ReadToken(); err != nil {
				return nil, err
			}
			return out, atEnd(dec)
		default:
			v, err := dec.ReadValue()
			if err != nil {
				return nil, fmt.Errorf("/tools/%d: %w", len(out), err)
			}
			out = append(out, v.Clone())
		}
	}
}

func atEnd(dec *jsontext.Decoder) error {
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the value")
	}
	return nil
}

// present drops null.
func present(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}
