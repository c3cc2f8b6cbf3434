package closures

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// A compilation turns planned functions into one program.
type compilation struct {
	plan     *ir.Policy
	index    *planIndex
	data     *Data
	more     map[string]*topdown.Builtin
	program  *Program
	byName   map[string]*function
	byPath   map[string]*function
	query    *ir.Func             // the query as a function, nil for a rule
	aliases  map[string]*alias    // by function
	keyed    map[string]keyedKind // partial rules over data (see keyed.go)
	literals *literals
	foldData bool // no `with` replaces data: it is a constant
	slotKeys map[slotKey]int
}

type slotKey struct {
	parent int
	key    string
	derive string // the built-in that derives it
}

// Compile makes a program of one rule document of a plan, by its path: of that and of
// all that it uses. The error is an *UnsupportedError.
func (p *Plan) Compile(rule ast.Ref, data *Data) (*Program, error) {
	name := "g0." + rule.String()
	for _, f := range p.policy.Funcs.Funcs {
		if f.Name == name {
			return p.compile(f, nil, data)
		}
	}
	return nil, unsupported("%s is not in the plan", rule)
}

// CompileQuery makes a program of the plan's query.
func (p *Plan) CompileQuery(data *Data) (*Program, error) {
	if n := len(p.policy.Plans.Plans); n != 1 {
		return nil, unsupported("%d queries in one plan", n)
	}
	return p.compile(nil, p.policy.Plans.Plans[0], data)
}

func (p *Plan) compile(rule *ir.Func, query *ir.Plan, data *Data) (_ *Program, err error) {
	defer func() {
		if x := recover(); x != nil {
			u, ok := x.(*UnsupportedError)
			if !ok {
				u = &UnsupportedError{fmt.Sprintf("the compiler panicked: %v", x)}
			}
			err = u
		}
	}()
	c := &compilation{
		plan: p.policy, index: p.index, data: data, more: p.more, program: &Program{data: data.root, slots: []slotPlan{{}}},
		byName: map[string]*function{}, byPath: map[string]*function{}, slotKeys: map[slotKey]int{},
	}
	start := rule
	if query != nil {
		start = &ir.Func{Name: query.Name, Params: []ir.Local{ir.Input, ir.Data}, Return: ir.Unused, Blocks: query.Blocks}
		c.query = start
	}
	funcs := c.reachable(start)
	c.literals = c.checkLiterals(funcs)
	p.checkSources(funcs)
	c.aliases = map[string]*alias{}
	for _, f := range funcs {
		c.aliases[f.Name] = c.aliasOf(f)
	}
	c.keyed = keyedFuncs(c.plan, funcs)
	c.foldData = !slices.ContainsFunc(funcs, func(f *ir.Func) bool { return replacesData(f.Blocks) })
	for _, f := range funcs {
		c.declare(f)
	}
	c.program.main = c.program.funcs[0]
	for i, f := range funcs {
		c.function(c.program.funcs[i], f)
	}
	return c.program, nil
}

// reachable returns the functions that start may call, start first.
func (c *compilation) reachable(start *ir.Func) []*ir.Func {
	out := []*ir.Func{start}
	seen := map[*ir.Func]bool{start: true}
	add := func(f *ir.Func) {
		if f != nil && !seen[f] {
			seen[f] = true
			out = append(out, f)
		}
	}
	for i := 0; i < len(out); i++ {
		walk(out[i].Blocks, func(s ir.Stmt) {
			switch s := s.(type) {
			case *ir.CallStmt:
				add(c.index.byName[s.Func])
			case *ir.CallDynamicStmt:
				for _, f := range c.plan.Funcs.Funcs {
					if c.mayCall(s, f) {
						add(f)
					}
				}
			}
		})
	}
	return out
}

// mayCall reports whether a call by path may be one of f.
func (c *compilation) mayCall(s *ir.CallDynamicStmt, f *ir.Func) bool {
	if len(s.Path) != len(f.Path) {
		return false
	}
	for i, o := range s.Path {
		if x, ok := o.Value.(ir.StringIndex); ok && c.text(int(x)) != f.Path[i] {
			return false
		}
	}
	return true
}

func walk(blocks []*ir.Block, visit func(ir.Stmt)) {
	for _, b := range blocks {
		for _, s := range b.Stmts {
			visit(s)
			walk(nested(s), visit)
		}
	}
}

func replacesData(blocks []*ir.Block) bool {
	found := false
	walk(blocks, func(s ir.Stmt) {
		if w, ok := s.(*ir.WithStmt); ok && w.Local == ir.Data {
			found = true
		}
	})
	return found
}

func (c *compilation) declare(f *ir.Func) {
	fn := &function{name: f.Name, index: len(c.program.funcs), ret: int(f.Return), document: f != c.query && len(f.Params) == 2}
	for _, p := range f.Params {
		fn.params = append(fn.params, int(p))
	}
	c.program.funcs = append(c.program.funcs, fn)
	c.byName[f.Name] = fn
	c.byPath[pathKey(f.Path)] = fn
}

func pathKey(path []string) string {
	var b strings.Builder
	for _, p := range path {
		fmt.Fprintf(&b, "%q.", p)
	}
	return b.String()
}

func (c *compilation) function(fn *function, f *ir.Func) {
	all := newUses()
	for _, b := range f.Blocks {
		all.block(b)
	}
	own := max(int(f.Return), slices.Max(fn.params))
	fn.locals = max(int(all.highest), own) + 1
	first := own + 2 // the planner keeps one local for the rule's result
	if f == c.query {
		first = int(ir.Unused) // a query has none
	}
	var guards []*guard
	for _, b := range f.Blocks {
		body := &body{compilation: c, fn: fn, first: ir.Local(first), all: all, uses: newUses(), known: map[ir.Local]operand{}, below: map[ir.Local]bool{}, keyed: map[ir.Local]keyedKind{}, saves: map[ir.Local]bool{}}
		body.uses.block(b)
		body.guard = &guard{open: true}
		fn.blocks = append(fn.blocks, body.block(b.Stmts))
		guards = append(guards, body.guard)
	}
	fn.dispatch = newDispatcher(fn, f, guards)
}

func (c *compilation) text(i int) string { return c.plan.Static.Strings[i].Value }

// slot returns the slot of a constant path.
func (c *compilation) slot(parent int, key string) int {
	k := slotKey{parent: parent, key: key}
	i, ok := c.slotKeys[k]
	if !ok {
		i = len(c.program.slots)
		c.slotKeys[k] = i
		c.program.slots = append(c.program.slots, slotPlan{parent: parent, key: textVal(key)})
	}
	return i
}

// addressNumber numbers the slots that are read as addresses.
func (c *compilation) addressNumber(slot int) int {
	i := slices.Index(c.program.addresses, slot)
	if i < 0 {
		i = len(c.program.addresses)
		c.program.addresses = append(c.program.addresses, slot)
	}
	return i
}

// derived returns the slot of what a built-in makes of another slot.
func (c *compilation) derived(parent int, name string, derive func(*val) val) int {
	k := slotKey{parent: parent, derive: name}
	i, ok := c.slotKeys[k]
	if !ok {
		i = len(c.program.slots)
		c.slotKeys[k] = i
		c.program.slots = append(c.program.slots, slotPlan{parent: parent, derive: derive})
	}
	return i
}

func (c *compilation) loc(l *ir.Location) *ast.Location {
	file := ""
	if l.File >= 0 && l.File < len(c.plan.Static.Files) {
		file = c.plan.Static.Files[l.File].Value
	}
	return ast.NewLocation(l.Text, file, l.Row, l.Col)
}
