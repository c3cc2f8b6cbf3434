package regoeval

import (
	"context"
	"encoding/json"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
)

// maxLiteral is the length of the longest string that is taken for one that rules
// compare with.
const maxLiteral = 256

// Literals returns up to most strings and numbers that rules compare with, as
// encoding/json decodes them with numbers as json.Number: those in the bodies of the
// packages named, then those of data.settings, then those of all other packages.
func (r *Ruleset) Literals(packages []string, most int) []any {
	l := literals{most: most, seen: map[string]bool{}}
	own := map[string]bool{}
	for _, p := range packages {
		own[p] = true
	}
	names := sorted(moduleNames(r.compiler))
	for _, mine := range []bool{true, false} {
		for _, name := range names {
			if m := r.compiler.Modules[name]; own[packageText(m.Package.Path)] == mine {
				l.module(m)
			}
		}
		if v, err := r.store.Read(context.Background(), r.txn, storage.Path{"settings"}); err == nil && mine {
			if v, ok := v.(ast.Value); ok {
				ast.WalkTerms(ast.NewTerm(v), l.add)
			}
		}
	}
	return l.out
}

func moduleNames(c *ast.Compiler) []string {
	var names []string
	for name := range c.Modules {
		names = append(names, name)
	}
	return names
}

type literals struct {
	most int
	seen map[string]bool
	out  []any
}

func (l *literals) module(m *ast.Module) {
	ast.WalkRules(m, func(rule *ast.Rule) bool {
		ast.WalkTerms(rule.Body, l.add)
		if rule.Head.Value != nil && rule.Head.RuleKind() != ast.MultiValue {
			ast.WalkTerms(rule.Head.Value, l.add)
		}
		return false
	})
}

func (l *literals) add(t *ast.Term) bool {
	var v any
	switch lit := t.Value.(type) {
	case ast.Ref: // the names of arguments are no values of theirs
		for _, e := range lit {
			if _, is := e.Value.(ast.Ref); is {
				ast.WalkTerms(e, l.add)
			}
		}
		return true
	case ast.String:
		v = string(lit)
		if len(lit) > maxLiteral {
			return false
		}
	case ast.Number:
		v = json.Number(lit)
	default:
		return false
	}
	if key := t.String(); len(l.out) < l.most && !l.seen[key] {
		l.seen[key] = true
		l.out = append(l.out, v)
	}
	return false
}
