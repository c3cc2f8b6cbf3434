package typecheck

import (
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// A Tool is what is known of one tool before it is called. Without a name it is any tool.
type Tool struct {
	Name, Server string
	Arguments    *shape.Shape
}

// input is the shape of the input document of every call of a tool.
func (t Tool) input() *shape.Shape {
	text, unknown := shape.Of(shape.String), shape.Of(shape.String|shape.Null)
	server, name := unknown, text
	if t.Name != "" {
		name = shape.Constant(ast.String(t.Name))
	}
	if t.Server != "" {
		server = shape.Constant(ast.String(t.Server))
	}
	return document(map[string]*shape.Shape{
		"arguments": t.Arguments,
		"tool": document(map[string]*shape.Shape{
			"name": name, "server": server, "title": unknown, "annotations": shape.Of(shape.Object),
		}),
		"caller": document(map[string]*shape.Shape{
			"subject": unknown, "tenant": unknown, "scopes": texts(), "claims": shape.Of(shape.Object),
		}),
		"call": document(map[string]*shape.Shape{
			"id": unknown, "session": unknown, "transport": unknown, "time": text, "responses": shape.Of(shape.Object),
		}),
	}).At("input")
}

func texts() *shape.Shape {
	s := shape.Of(shape.Array)
	s.Items = &shape.Items{Rest: shape.Now(shape.Of(shape.String))}
	return s
}

// document is the shape of an object with exactly these members.
func document(members map[string]*shape.Shape) *shape.Shape {
	f := &shape.Fields{Openness: shape.Closed, Members: map[string]*shape.Field{}, Required: map[string]bool{}}
	for name, m := range members {
		f.Members[name] = &shape.Field{Lazy: shape.Now(m)}
		f.Required[name] = true
	}
	s := shape.Of(shape.Object)
	s.Fields = f
	return s
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// below writes the place of a member.
func below(path, name string) string {
	switch {
	case path == "":
		return ""
	case plainName.MatchString(name):
		return path + "." + name
	}
	quoted, err := json.Marshal(name)
	if err != nil { // can't be: it is a string
		quoted = []byte(strconv.Quote(name))
	}
	return path + "[" + string(quoted) + "]"
}

// within writes the place of any element.
func within(path string) string {
	if path == "" {
		return ""
	}
	return path + "[_]"
}
