package regoeval

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/dependencies"
	"github.com/open-policy-agent/opa/v1/storage"
)

// checkReads refuses a rule that reads data which isn't there: in Rego that makes
// the rule undefined, which is to say silent.
func (l loader) checkReads(fs *findings, rule ast.Ref) {
	if len(l.compiler.GetRulesExact(rule)) == 0 {
		return
	}
	refs, err := dependencies.Base(l.compiler, ast.NewBody(ast.NewExpr(ast.NewTerm(rule))))
	if err != nil {
		fs.add(idEngine, nil, "report it with the bundle", "what %s reads can't be told: %s", rule, err)
		return
	}
	for _, ref := range refs {
		if !ref.HasPrefix(ast.DefaultRootRef) || l.supplied(ref) {
			continue
		}
		fs.add(idDataMissing, l.placeOf(ref),
			fmt.Sprintf("add it to the bundle's data, or read it with object.get and a default: %s", objectGet(ref)),
			"%s is read, and neither data nor a rule supplies it", ref)
	}
}

// supplied reports whether the store has something at a constant data path.
func (l loader) supplied(ref ast.Ref) bool {
	path, err := storage.NewPathForRef(ref)
	if err != nil {
		return false
	}
	_, err = l.store.Read(l.ctx, l.txn, path)
	return err == nil
}

// objectGet writes how an optional piece of data is read.
func objectGet(ref ast.Ref) string {
	if len(ref) < 3 {
		return "object.get(data.settings, \"key\", default)"
	}
	return fmt.Sprintf("object.get(%s, %s, default)", ref[:len(ref)-1], ref[len(ref)-1])
}

// placeOf finds the first place, in the order of files and lines, that names ref.
func (l loader) placeOf(ref ast.Ref) *ast.Location {
	var found *ast.Location
	for _, m := range l.compiler.Modules {
		ast.WalkTerms(m, func(t *ast.Term) bool {
			if r, ok := t.Value.(ast.Ref); ok && r.HasPrefix(ref) && t.Location != nil && before(t.Location, found) {
				found = t.Location
			}
			return false
		})
	}
	if found == nil && len(ref) > 2 { // reached through an alias: name the place where that begins
		return l.placeOf(ref[:len(ref)-1])
	}
	return found
}
