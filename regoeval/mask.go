package regoeval

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy/decisionlog"
)

var (
	_ decisionlog.Masker    = (*Ruleset)(nil)
	_ decisionlog.Revisions = (*Ruleset)(nil)
)

// BundleRevisions implements decisionlog.Revisions: the revision of each bundle by its name.
func (r *Ruleset) BundleRevisions() map[string]string { return maps.Clone(r.revisions) }

// maskRef is the rule that says what to leave out of decision records, as in OPA.
var maskRef = ast.Ref{ast.DefaultRootDocument, ast.StringTerm("system"), ast.StringTerm("log"), ast.StringTerm("mask")}

// Mask implements decisionlog.Masker: it evaluates the bundle's data.system.log.mask in
// this snapshot. A bundle without that rule masks nothing; a rule that can't be evaluated
// to what OPA accepts is an error.
func (r *Ruleset) Mask(ctx context.Context, event map[string]any) ([]decisionlog.Op, error) {
	if len(r.compiler.GetRulesExact(maskRef)) == 0 {
		return nil, nil
	}
	if err := checkNumbers(event); err != nil {
		return nil, err
	}
	input, err := ast.InterfaceToValue(event)
	if err != nil {
		return nil, errors.New("the event can't be converted")
	}
	// The rule's value is put into a list, which is empty where it has none.
	v, x := ast.VarTerm("mask@list"), ast.VarTerm("mask@value")
	list := ast.ArrayComprehensionTerm(x, ast.NewBody(ast.Equality.Expr(x, ast.NewTerm(maskRef))))
	result, err := r.evaluate(ctx, ast.NewBody(ast.Equality.Expr(v, list)), ast.NewTerm(input))
	if err != nil {
		return nil, err
	}
	values, ok := result[v.Value.(ast.Var)].Value.(*ast.Array)
	if !ok || values.Len() > 1 {
		return nil, errors.New("it has more than one value")
	}
	var ops []decisionlog.Op
	for i := range values.Len() {
		if ops, err = maskOps(values.Elem(i).Value); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// maskOps reads a set or a list of paths and operations.
func maskOps(v ast.Value) (ops []decisionlog.Op, err error) {
	each := func(t *ast.Term) {
		op, e := maskOp(t.Value)
		ops, err = append(ops, op), errors.Join(err, e)
	}
	switch v := v.(type) {
	case ast.Set:
		v.Foreach(each)
	case *ast.Array:
		v.Foreach(each)
	default:
		return nil, fmt.Errorf("it is %s, not a set", aKind(v))
	}
	return ops, err
}

func maskOp(v ast.Value) (decisionlog.Op, error) {
	switch v := v.(type) {
	case ast.String:
		return decisionlog.Op{Op: "remove", Path: string(v)}, nil
	case ast.Object:
		op := decisionlog.Op{}
		for name, to := range map[string]*string{"op": &op.Op, "path": &op.Path} {
			t := v.Get(ast.StringTerm(name))
			if t == nil {
				return op, fmt.Errorf("an element has no %s", name)
			}
			s, ok := t.Value.(ast.String)
			if !ok {
				return op, fmt.Errorf("an element's %s is %s, not a string", name, aKind(t.Value))
			}
			*to = string(s)
		}
		if t := v.Get(ast.StringTerm("value")); t != nil {
			value, err := ast.JSON(t.Value)
			if err != nil {
				return op, errors.New("an element's value is no JSON")
			}
			op.Value = value
		}
		return op, nil
	default:
		return decisionlog.Op{}, fmt.Errorf("an element is %s, neither a path nor an object", aKind(v))
	}
}
