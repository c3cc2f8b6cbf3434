package typecheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// A Kind of finding.
type Kind string

// The kinds of findings; they are ids of the lint's findings.
const (
	Undeclared Kind = "argument-undeclared"
	WrongType  Kind = "argument-type"
	WrongValue Kind = "argument-value"
	InputPath  Kind = "input-path"
	BadFormat  Kind = "format"
	BadPattern Kind = "pattern"
	BadValue   Kind = "constant"
	DataType   Kind = "data-type"
	ListLookup Kind = "list-lookup"
)

// Once reports whether one way in which a site is reached is enough for a finding.
// The others may have their use in another way: they are findings when all are idle.
func (k Kind) Once() bool {
	switch k {
	case BadFormat, BadPattern, BadValue, DataType, ListLookup:
		return true
	default:
		return false
	}
}

// A Finding is one expression that can't do what it is there for.
type Finding struct {
	Kind     Kind
	Location *ast.Location
	Path     string // the place in the input document that it is about
	Near     string // the declared name, or possible value, that was probably meant
	Message  string // without the tool's name
	Fix      string
	// Hard says that every call which gets there is an error, and so undecided.
	Hard bool
	// Soft says that it may be meant. Advice is for the author of the rules, and no
	// reason to refuse a tool.
	Soft, Advice bool
}

// A site is one thing that is asked at one place of the source.
type site struct {
	node any // *ast.Term or *ast.Expr
	what string
}

// A Tally says how often a site was reached, in how many ways it is called, and in how
// many of these there was something to find.
type Tally struct {
	Reached, Failed int
	Findings        []*Finding
	own             bool
	at              *ast.Location // of the expression, for findings about what has none
}

// Tallies are the sites of a check.
type Tallies map[any]*Tally

// Merge adds what another tool's check said of the same rules.
func (t Tallies) Merge(other Tallies) {
	for k, o := range other {
		mine, ok := t[k]
		if !ok {
			copied := *o
			t[k] = &copied
			continue
		}
		mine.Reached += o.Reached
		mine.Failed += o.Failed
		if len(mine.Findings) == 0 || !nearly(mine.Findings) && nearly(o.Findings) {
			mine.Findings = o.Findings // whichever tool has the name that was meant
		}
	}
}

// nearly reports whether one of them knows what was meant.
func nearly(fs []*Finding) bool {
	return slices.ContainsFunc(fs, func(f *Finding) bool { return f.Near != "" })
}

// visit counts that a site was reached.
func (c *checker) visit(node any, what string) *Tally {
	key := site{node, what}
	t, ok := c.sites[key]
	if !ok {
		t = &Tally{own: c.own, at: c.at}
		c.sites[key] = t
	}
	t.Reached++
	return t
}

// found counts that there was something to find, and returns it as the cause of what
// follows from it.
func (t *Tally) found(v outcome, fs ...*Finding) verdict {
	t.Failed++
	for _, f := range fs {
		if f.Location == nil {
			f.Location = t.at
		}
	}
	if len(t.Findings) == 0 {
		t.Findings = fs
	}
	return verdict{outcome: v, causes: fs}
}

// nearest returns the name among candidates that somebody most likely meant.
func nearest(name string, candidates []string) string {
	best, least := "", 0
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(c))
		if best == "" || d < least {
			best, least = c, d
		}
	}
	if least > max(2, len([]rune(name))/3) {
		return ""
	}
	return best
}

func (c *checker) undeclared(t *ast.Term, at *ast.Location, s *shape.Shape, name string) *Finding {
	names := s.Fields.Names()
	f := &Finding{Kind: Undeclared, Location: at, Path: below(s.Path, name), Near: nearest(name, names)}
	of := "the tool declares no argument"
	switch {
	case s.Path == "input" || s.Path == "input.caller" || s.Path == "input.tool" || s.Path == "input.call":
		of, f.Kind = s.Path+" has no member", InputPath
	case s.Path != "input.arguments":
		of = s.Path + " has no declared member"
	}
	f.Message = fmt.Sprintf("%s %s, so that reading it is always undefined", of, quote(name))
	switch {
	case f.Near != "":
		f.Fix = "did you mean " + quote(f.Near) + "?"
	case len(names) == 0:
		f.Fix = "there is none that it could be: remove the rule, or correct the tool's name in its package"
	default:
		f.Fix = "it has " + enumerate(quoteAll(names))
	}
	return f
}

func enumerate(names []string) string {
	const most = 12
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

func quote(s string) string {
	const most = 64
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

func quoteAll(names []string) []string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = quote(n)
	}
	return out
}

// subject names what a value has to do with the input document; "" when nothing.
func subject(s *shape.Shape) string {
	switch {
	case s.Path != "":
		return s.Path
	case s.Names != "":
		return s.Names
	default:
		return s.From
	}
}

// firstSubject is the place of which something is made.
func firstSubject(args []*shape.Shape) string {
	for _, a := range args {
		if p := subject(a); p != "" {
			return p
		}
	}
	return ""
}

// described says what a value is, for a message.
func described(s *shape.Shape) string {
	switch {
	case s.Path != "":
		return s.Path
	case s.Names != "":
		return "the name of a member of " + s.Names
	case s.KindOf != "":
		return "the type of " + s.KindOf
	default:
		return "what is made of " + s.From
	}
}

// mismatch says why two values are never equal; nil when neither is a place of the input.
func mismatch(at *ast.Location, a, b *shape.Shape) *Finding {
	if a.Path == "" && (b.Path != "" || subject(a) == "") {
		a, b = b, a
	}
	if subject(a) == "" || a.Empty() || b.Empty() {
		return nil
	}
	f := &Finding{Location: at, Path: subject(a), Advice: a.Path == ""}
	if a.Kinds&b.Kinds == 0 {
		f.Kind = WrongType
		f.Message = fmt.Sprintf("%s is %s by the tool's schema, and is compared with %s", described(a), kinds(a), kinds(b))
		if a.Path == "" {
			f.Message = fmt.Sprintf("%s is %s, and is compared with %s", described(a), kinds(a), kinds(b))
		}
		f.Fix = "compare it with a value of its own type"
		return f
	}
	f.Kind = WrongValue
	values, _ := a.Finite()
	names := written(values)
	wanted := written(b.Values)
	f.Message = fmt.Sprintf("%s is never %s", described(a), enumerate(quoteAll(wanted)))
	if a.Names != "" && a.Path == "" {
		f.Kind = Undeclared
		f.Message = fmt.Sprintf("%s has no declared member %s", a.Names, enumerate(quoteAll(wanted)))
	}
	if len(wanted) > 0 {
		f.Near = nearest(wanted[0], names)
	}
	switch {
	case f.Near != "":
		f.Fix = "did you mean " + quote(f.Near) + "?"
	case a.Case != shape.AnyCase && len(names) == 0 && a.Kinds&b.Kinds == shape.String:
		f.Fix = map[shape.Case]string{shape.Lower: "it is in lower case by then: write the text so, too", shape.Upper: "it is in upper case by then: write the text so, too"}[a.Case]
	case a.Whole && a.Kinds&b.Kinds == shape.Number && len(names) == 0:
		f.Fix = "it has no fraction by the tool's schema"
	case len(names) > 0:
		f.Fix = "by the tool's schema it is one of " + enumerate(quoteAll(names))
	default:
		f.Fix = "compare it with a value that it can have"
	}
	return f
}

func kinds(s *shape.Shape) string {
	if s.Kinds == shape.All {
		return "anything"
	}
	return withArticle(strings.Join(s.Kinds.Names(), " or "))
}

// written writes scalars as a person would.
func written(vs []ast.Value) []string {
	var out []string
	for _, v := range vs {
		if s, ok := v.(ast.String); ok {
			out = append(out, string(s))
		} else {
			out = append(out, v.String())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
