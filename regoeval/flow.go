package regoeval

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// A flow says what the variables of one compiled rule stand for. The compiler gives
// every call and every reference inside another expression a variable of its own,
// and authors name what they use often, so that one place in the input or data
// document is reached in many ways. Resolved, all of them look the same.
type flow struct {
	places map[ast.Var]ast.Ref   // what a variable was bound to
	consts map[ast.Var]*ast.Term // constants with a name
}

// newFlow reads the bindings of a rule, its else branches included. args are the
// places that a function's parameters stand for, nil where that isn't known.
func newFlow(rule *ast.Rule, args []ast.Ref) *flow {
	f := &flow{places: map[ast.Var]ast.Ref{}, consts: map[ast.Var]*ast.Term{}}
	for i, a := range rule.Head.Args {
		if v, ok := a.Value.(ast.Var); ok && i < len(args) && args[i] != nil {
			f.places[v] = args[i]
		}
	}
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		f.read(e)
		return false
	})
	return f
}

func (f *flow) read(e *ast.Expr) {
	if e.Negated || len(e.With) > 0 { // under `with`, a place isn't what it is elsewhere
		return
	}
	if ev, ok := e.Terms.(*ast.Every); ok {
		f.readEvery(ev)
		return
	}
	if !e.IsEquality() && !e.IsAssignment() {
		return
	}
	a, b := e.Operand(0), e.Operand(1)
	f.bind(a, b)
	f.bind(b, a)
}

func (f *flow) bind(to, from *ast.Term) {
	v, ok := to.Value.(ast.Var)
	if !ok || f.places[v] != nil {
		return
	}
	switch x := from.Value.(type) {
	case ast.Ref:
		f.places[v] = x
	case ast.Var: // two names of one thing
		if x != v && f.places[x] != nil {
			f.places[v] = f.places[x]
		}
		if x != v && f.consts[x] != nil {
			f.consts[v] = f.consts[x]
		}
	default:
		if from.IsGround() && ast.IsConstant(from.Value) {
			f.consts[v] = from
		}
	}
}

// constant reports whether a reference looks into a constant that has such a member.
func (f *flow) constant(ref ast.Ref) bool {
	v, ok := ref[0].Value.(ast.Var)
	if !ok || f.consts[v] == nil || !ref.IsGround() {
		return false
	}
	_, err := f.consts[v].Value.Find(ref[1:])
	return err == nil
}

func (f *flow) readEvery(ev *ast.Every) {
	v, ok := ev.Value.Value.(ast.Var)
	domain := f.placeOf(ev.Domain)
	if !ok || domain == nil {
		return
	}
	key := ev.Key
	if key == nil {
		key = ast.VarTerm("key@every") // no Rego variable can be called so
	}
	f.places[v] = domain.Append(key)
}

// placeOf returns the place that a term reads, nil when it is none.
func (f *flow) placeOf(t *ast.Term) ast.Ref {
	switch v := t.Value.(type) {
	case ast.Ref:
		return f.resolve(v)
	case ast.Var:
		if p := f.places[v]; p != nil {
			return f.resolve(p)
		}
	}
	return nil
}

// resolve follows variables to the documents that they were read from, and puts
// constants in place of their names.
func (f *flow) resolve(ref ast.Ref) ast.Ref {
	const enough = 32 // names of names of names
	for range enough {
		v, ok := ref[0].Value.(ast.Var)
		if !ok {
			break
		}
		p := f.places[v]
		if p == nil {
			break
		}
		ref = p.Concat(ref[1:])
	}
	var out ast.Ref
	for i, t := range ref[1:] {
		v, ok := t.Value.(ast.Var)
		if !ok || f.consts[v] == nil || !ast.IsScalar(f.consts[v].Value) {
			continue
		}
		if out == nil {
			out = append(ast.Ref{}, ref...)
		}
		out[i+1] = f.consts[v]
	}
	if out != nil {
		return out
	}
	return ref
}

// rooted reports whether a place is in the input or data document.
func rooted(ref ast.Ref) bool {
	return ref != nil && (ref.HasPrefix(ast.DefaultRootRef) || ref.HasPrefix(ast.InputRootRef))
}

// userFunction returns the rules of the function that e calls, nil when e is no call
// or calls a built-in.
func (l loader) userFunction(e *ast.Expr) []*ast.Rule {
	if !e.IsCall() {
		return nil
	}
	op := e.Operator()
	if !op.HasPrefix(ast.DefaultRootRef) {
		return nil
	}
	return l.compiler.GetRulesExact(op)
}

// callArgs returns the places that a call passes, in the order of the parameters.
func (f *flow) callArgs(e *ast.Expr) []ast.Ref {
	operands := e.Operands()
	args := make([]ast.Ref, len(operands))
	for i, t := range operands {
		if p := f.placeOf(t); rooted(p) {
			args[i] = p
		}
	}
	return args
}

// branches returns a rule and its else branches: the ways in which it gets a value.
func branches(r *ast.Rule) []*ast.Rule {
	var out []*ast.Rule
	for ; r != nil; r = r.Else {
		out = append(out, r)
	}
	return out
}
