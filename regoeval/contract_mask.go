package regoeval

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
)

const maskFix = "write `mask contains \"/input/arguments/NAME\" if …`, or an object with op (remove or upsert) and path"

// checkMask finds what is wrong with data.system.log.mask and can be known without a
// record: a wrong mask would drop every record of the decision log, one by one. A rule
// whose name is nearly mask is for lint.
func (l loader) checkMask(fs *findings) {
	if n := l.compiler.RuleTree.Find(maskRef); n != nil && len(n.Children) > 0 {
		fs.add(idLogMask, firstRule(n), maskFix, "there are rules below mask: they make it an object, not a set")
		return
	}
	rules := l.compiler.GetRulesExact(maskRef)
	for _, r := range rules {
		elements := []*ast.Term{r.Head.Key}
		if r.Head.RuleKind() != ast.MultiValue {
			elements = nil
			if why := maskValue(r); why != "" {
				fs.add(idLogMask, r.Location, maskFix, "data.system.log.mask %s", why)
				continue
			}
			switch v := r.Head.Value.Value.(type) {
			case *ast.Array:
				v.Foreach(func(t *ast.Term) { elements = append(elements, t) })
			case ast.Set:
				v.Foreach(func(t *ast.Term) { elements = append(elements, t) })
			}
		}
		for _, e := range elements {
			if err := checkMaskElement(e); err != nil {
				fs.add(idLogMask, r.Location, maskFix, "data.system.log.mask: %s", err)
			}
		}
	}
}

// maskValue says why a rule that is no partial set can't be a mask.
func maskValue(r *ast.Rule) string {
	if len(r.Head.Args) > 0 {
		return "is a function"
	}
	switch v := r.Head.Value.Value.(type) {
	case *ast.Array, ast.Set, *ast.SetComprehension, *ast.ArrayComprehension, ast.Var, ast.Ref, ast.Call:
		return ""
	default:
		return fmt.Sprintf("is %s, not a set", aKind(v))
	}
}

// checkMaskElement checks what is constant of an element.
func checkMaskElement(t *ast.Term) error {
	switch v := t.Value.(type) {
	case ast.Var, ast.Ref, ast.Call, *ast.TemplateString:
		return nil
	case ast.Object:
		if !v.IsGround() { // of which a part is known when it is asked
			return nil
		}
	}
	op, err := maskOp(t.Value)
	if err != nil {
		return err
	}
	return op.Check()
}
