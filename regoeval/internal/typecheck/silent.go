package typecheck

import (
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// A Silence is a rule that neither refuses a call nor is an error because a value that
// it reads is absent or of another kind than it expects.
type Silence struct {
	Rule *ast.Rule
	Path string
	// Absent says that it is silent where there is no value, Kinds of which kinds the
	// value is where it is silent.
	Absent bool
	Kinds  shape.Kinds
	// Typed says that the schema names the kinds that are possible.
	Typed bool
}

// States lists in words where the rule is silent.
func (s Silence) States() []string {
	var out []string
	if s.Absent {
		out = append(out, "absent")
	}
	return append(out, s.Kinds.Names()...)
}

// Silent asks of every place that the rules of the deny sets of a tool read, what they
// do where it is absent, null or of another kind. A rule is not silent about a call
// that another one certainly refuses, or that is certainly an error. only says which
// places are asked about.
func Silent(r Rules, t Tool, rules []*ast.Rule, only func(path string) bool) []Silence {
	base := newChecker(r, t, state{})
	base.quiet = true
	reads := map[*ast.Rule]map[string]*read{}
	alive, always := map[*ast.Rule]bool{}, map[*ast.Rule]bool{}
	places := map[string]*read{}
	for _, rule := range rules {
		_, v, rs := base.ask(rule)
		reads[rule], alive[rule] = rs, v.outcome != fails
		always[rule] = v.outcome == holds || v.outcome == errs
		for path, x := range rs {
			if !only(path) {
				continue
			}
			if p, ok := places[path]; ok {
				p.optional = p.optional || x.optional
				continue
			}
			copied := *x
			places[path] = &copied
		}
	}
	var out []Silence
	for _, path := range slices.Sorted(maps.Keys(places)) {
		var readers []*ast.Rule
		handled := false // by a rule that doesn't read it
		for _, rule := range rules {
			if reads[rule][path] != nil {
				readers = append(readers, rule)
			} else {
				handled = handled || always[rule]
			}
		}
		if !handled {
			out = append(out, silentAt(base, readers, path, places[path], reads, alive)...)
		}
	}
	return out
}

func silentAt(base *checker, rules []*ast.Rule, path string, p *read, reads map[*ast.Rule]map[string]*read, alive map[*ast.Rule]bool) []Silence {
	absent := map[*ast.Rule]verdict{}
	handledAbsent := true
	if p.optional && !strings.HasSuffix(path, "[_]") {
		absent, handledAbsent = answers(base, rules, state{path: path, absent: true})
	}
	byKind := map[shape.Kinds]map[*ast.Rule]verdict{}
	handled := map[shape.Kinds]bool{}
	if !p.shape.Kinds.One() {
		p.shape.Kinds.Each(func(k shape.Kinds) {
			byKind[k], handled[k] = answers(base, rules, state{path: path, kind: k})
		})
	}
	var out []Silence
	for _, rule := range rules {
		x := reads[rule][path]
		if x == nil || !alive[rule] {
			continue
		}
		if x.mixed { // of members that differ, each rule means some
			continue
		}
		s := Silence{Rule: rule, Path: path, Typed: p.shape.Kinds != shape.JSON}
		s.Absent = x.asked && !handledAbsent && absent[rule].outcome == fails
		speaks := false // where the value is of some kind
		for k, vs := range byKind {
			if vs[rule].outcome == fails {
				if !handled[k] && !vs[rule].meant {
					s.Kinds |= k
				}
			} else {
				speaks = true
			}
		}
		if !speaks {
			s.Kinds &= shape.Null // a rule about absence: null is the kind that is mistaken for it
		}
		if s.Absent || s.Kinds != 0 {
			out = append(out, s)
		}
	}
	return out
}

// answers asks rules in one state, and reports whether one of them certainly refuses,
// or is certainly an error.
func answers(base *checker, rules []*ast.Rule, st state) (map[*ast.Rule]verdict, bool) {
	c := newChecker(base.Rules, Tool{}, st)
	c.input, c.base, c.quiet = base.input, base, true
	out := map[*ast.Rule]verdict{}
	handled := false
	for _, rule := range rules {
		_, v, _ := c.ask(rule)
		out[rule] = v
		handled = handled || v.outcome == holds || v.outcome == errs
	}
	return out, handled
}
