package typecheck

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// A Memory has what checks of the same rules found out and the tool has no part in:
// compiled patterns, the data, and what rules come to that look at neither its
// arguments nor its name. It is for one goroutine, and for checks either all with data
// or all without.
type Memory struct {
	compiled map[string]error
	data     map[string]*shape.Shape
	groups   map[string]*group
	literals map[*ast.Term]*shape.Shape
}

// NewMemory returns an empty memory.
func NewMemory() *Memory {
	return &Memory{compiled: map[string]error{}, data: map[string]*shape.Shape{}, groups: map[string]*group{}, literals: map[*ast.Term]*shape.Shape{}}
}

// ofTools are the parts of the input document that are another tool's otherwise.
var ofTools = []string{"input.arguments", "input.tool"}

func ofTool(text string) bool {
	for _, p := range ofTools {
		if strings.Contains(text, p) {
			return true
		}
	}
	return text == "input"
}

// constant evaluates a list or a set of constants, once.
func (c *checker) constant(t *ast.Term, k shape.Kinds, each func(func(*ast.Term)), sc *scope) (*shape.Shape, verdict) {
	if c.Memory == nil {
		return c.literal(k, each, sc)
	}
	if s, ok := c.Memory.literals[t]; ok {
		return s, always
	}
	s, v := c.literal(k, each, sc)
	if v.outcome == holds && ast.IsConstant(t.Value) {
		c.Memory.literals[t] = s
	}
	return s, v
}

// remembered returns what a group of rules came to for another tool.
func (c *checker) remembered(key string) (*group, bool) {
	if c.Memory == nil || c.over != nil || c.state.path != "" && !ofTool(c.state.path) {
		return nil, false
	}
	g, ok := c.Memory.groups[key]
	return g, ok
}

// remember keeps what a group of rules came to when the tool has no part in it.
func (c *checker) remember(key string, g *group) {
	_, args, _ := strings.Cut(key, " ")
	if c.Memory == nil || c.over != nil || c.state.path != "" || c.steps <= 0 || ofTool(args) || strings.Contains(args, "0x") {
		return
	}
	for path := range g.reads {
		if ofTool(path) {
			return
		}
	}
	c.Memory.groups[key] = g
}
