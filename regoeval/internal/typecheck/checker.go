package typecheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// Rules are compiled rules and what is known of them.
type Rules struct {
	Compiler *ast.Compiler
	// Replaced reports whether some rule puts another value at a place, with `with`.
	Replaced func(ast.Ref) bool
	// ReplacedBuiltin reports the same of a built-in.
	ReplacedBuiltin func(name string) bool
	// Data returns what the data document has at a place now; nil when that is no matter.
	Data func(ref ast.Ref) (any, bool)
	// Memory remembers what has nothing to do with the tool; nil remembers nothing.
	Memory *Memory
	// Own reports whether a package is written for the tool that is checked, and not
	// for several.
	Own func(path ast.Ref) bool
}

// budget is how many expressions one check may look at.
const budget = 400_000

// A checker evaluates rules for one tool, in one state of the input.
type checker struct {
	Rules
	input *shape.Shape
	state state
	steps int

	at    *ast.Location // of the expression being looked at
	own   bool          // the rule being looked at is in a package of the tool's own
	sites Tallies
	memo  map[string]*group
	reads map[string]*read
	empty map[*shape.Shape][]*Finding // why a set is always empty
	over  map[string]*shape.Shape     // what `with` puts in place, by place

	patterns map[string]*ast.Location // regular expressions that are asked
	base     *checker                 // the same in every state, for what the state has no part in
	quiet    bool                     // findings are of no interest
}

// A state is a part of the calls: those in which one value is absent, or of one kind.
type state struct {
	path   string
	absent bool
	kind   shape.Kinds
}

// A read is a place that rules read.
type read struct {
	shape    *shape.Shape
	optional bool // it can be absent where what it is a member of is there
	asked    bool // it is read in a way that says nothing where it is absent
	mixed    bool // it is any member of an object
}

// A group is what the rules of one name come to for some arguments.
type group struct {
	shape *shape.Shape
	verdict
	reads map[string]*read
	args  []*shape.Shape // kept, because their addresses are a part of the group's name
}

func newChecker(r Rules, t Tool, st state) *checker {
	return &checker{
		Rules: r, input: t.input(), state: st, steps: budget,
		sites: Tallies{}, memo: map[string]*group{}, reads: map[string]*read{}, empty: map[*shape.Shape][]*Finding{}, patterns: map[string]*ast.Location{},
	}
}

// A scope has the variables of one body.
type scope struct {
	vars     map[ast.Var]*shape.Shape
	narrowed map[string]shape.Kinds // by place
	equal    map[string]ast.Value   // by place
	direct   map[ast.Var]bool       // is a place of the input, by the body itself
}

func newScope() *scope {
	return &scope{map[ast.Var]*shape.Shape{}, map[string]shape.Kinds{}, map[string]ast.Value{}, map[ast.Var]bool{}}
}

// child is a scope for a closure.
func (s *scope) child() *scope {
	return &scope{maps.Clone(s.vars), maps.Clone(s.narrowed), maps.Clone(s.equal), maps.Clone(s.direct)}
}

// body evaluates expressions in the order that the compiler gave them.
func (c *checker) body(b ast.Body, sc *scope) verdict {
	v := always
	for _, e := range b {
		if v = v.and(c.expr(e, sc)); !v.reached() {
			return v
		}
	}
	return v
}

// rules evaluates the rules of one name: their value, and whether there is one.
func (c *checker) rules(rules []*ast.Rule, args []*shape.Shape) (*shape.Shape, verdict) {
	key := fmt.Sprintf("%p", rules[0])
	for _, a := range args {
		key += " " + fingerprint(a, 3)
	}
	if g, ok := c.memo[key]; ok {
		c.take(g.reads)
		return g.shape, g.verdict
	}
	if c.base != nil && c.over == nil {
		if g, ok := c.base.memo[key]; ok && g.reads[c.state.path] == nil {
			c.take(g.reads)
			return g.shape, g.verdict
		}
	}
	if g, ok := c.remembered(key); ok {
		c.take(g.reads)
		return g.shape, g.verdict
	}
	if c.steps <= 0 {
		return shape.Anything(), perhaps
	}
	c.memo[key] = &group{shape: shape.Anything(), verdict: perhaps} // OPA refuses recursion; should it not, this is the careful answer
	outer, own, at := c.reads, c.own, c.at
	c.reads = map[string]*read{}
	g := &group{}
	switch r := rules[0]; {
	case len(r.Head.Ref()) > 1:
		g.shape, g.verdict = c.partialObject(rules)
	case r.Head.RuleKind() == ast.MultiValue:
		g.shape, g.verdict = c.partialSet(rules)
	default:
		g.shape, g.verdict = c.complete(rules, args)
	}
	g.reads = c.reads
	c.reads, c.own, c.at = outer, own, at
	g.args = args
	c.take(g.reads)
	c.memo[key] = g
	c.remember(key, g)
	return g.shape, g.verdict
}

// take adds what something else reads.
func (c *checker) take(reads map[string]*read) {
	for path, r := range reads {
		if mine, ok := c.reads[path]; ok {
			mine.asked = mine.asked || r.asked
			mine.optional = mine.optional || r.optional
			mine.mixed = mine.mixed || r.mixed
			continue
		}
		copied := *r
		c.reads[path] = &copied
	}
}

// enter says in which package what follows is.
func (c *checker) enter(r *ast.Rule) {
	c.own = r.Module != nil && c.Own(r.Module.Package.Path)
	c.at = r.Loc()
}

// complete evaluates complete rules and functions.
func (c *checker) complete(rules []*ast.Rule, args []*shape.Shape) (*shape.Shape, verdict) {
	out, v := &shape.Shape{}, never
	certain := false
	for _, r := range rules {
		c.enter(r)
		if r.Default {
			s, _ := c.term(r.Head.Value, newScope())
			out, certain = shape.Union(out, s), true
			continue
		}
		s, w := c.chain(r, args)
		out, v = shape.Union(out, s), v.or(w)
	}
	if certain && v.outcome != errs && v.outcome != mayErr {
		v = always
	}
	return out, v
}

// chain evaluates a rule and its else branches, in order.
func (c *checker) chain(r *ast.Rule, args []*shape.Shape) (*shape.Shape, verdict) {
	out, v := &shape.Shape{}, never
	for b := r; b != nil; b = b.Else {
		s, w := c.branch(b, args)
		if w.reached() {
			out = shape.Union(out, s)
		}
		v = v.or(w)
		if w.outcome == holds || w.outcome == errs {
			break
		}
	}
	return out, v
}

// branch evaluates one body and its value.
func (c *checker) branch(r *ast.Rule, args []*shape.Shape) (*shape.Shape, verdict) {
	sc := newScope()
	v := always
	for i, p := range r.Head.Args {
		a := shape.Anything()
		if i < len(args) {
			a = args[i]
		}
		if v = v.and(c.match(p, a, sc, nil)); !v.reached() {
			return &shape.Shape{}, v
		}
	}
	if v = v.and(c.body(r.Body, sc)); !v.reached() || r.Head.Value == nil {
		return &shape.Shape{}, v
	}
	s, w := c.term(r.Head.Value, sc)
	return s, v.and(w)
}

// partialSet evaluates `name contains element if …`: a set, whatever holds.
func (c *checker) partialSet(rules []*ast.Rule) (*shape.Shape, verdict) {
	elements, v := &shape.Shape{}, never
	for _, r := range rules {
		c.enter(r)
		s, w := c.element(r)
		elements, v = shape.Union(elements, s), v.or(w)
	}
	out := shape.Of(shape.Set)
	out.Items = &shape.Items{}
	if !elements.Empty() {
		out.Items.Rest = shape.Now(elements)
	} else if v.outcome == fails {
		c.empty[out] = v.causes
	}
	if v.outcome == errs || v.outcome == mayErr {
		return out, v
	}
	return out, always
}

// element evaluates one rule of a partial set: its element, and whether it has one.
func (c *checker) element(r *ast.Rule) (*shape.Shape, verdict) {
	sc := newScope()
	v := c.body(r.Body, sc)
	if !v.reached() || r.Head.Key == nil {
		return &shape.Shape{}, v
	}
	s, w := c.term(r.Head.Key, sc)
	return s, v.and(w)
}

// partialObject evaluates `name[key] := value if …`. What it holds isn't followed.
func (c *checker) partialObject(rules []*ast.Rule) (*shape.Shape, verdict) {
	for _, r := range rules {
		c.enter(r)
		sc := newScope()
		if c.body(r.Body, sc).reached() {
			for _, t := range []*ast.Term{r.Head.Key, r.Head.Value} {
				if t != nil {
					c.term(t, sc)
				}
			}
		}
	}
	return shape.Anything(), perhaps
}

// fingerprint tells shapes apart, as far as it matters for what follows from them.
func fingerprint(s *shape.Shape, depth int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d.%d.%d%s", s.Kinds, s.Limited, s.Case, s.Path)
	if s.Path != "" {
		if only, ok := s.Single(); ok {
			b.WriteString("=" + only.String())
		}
		return b.String()
	}
	fmt.Fprintf(&b, "<%s|%s|%s|%t", s.From, s.Names, s.Data, s.Whole)
	if s.FromCall {
		b.WriteByte('!')
	}
	if s.Fields != nil {
		fmt.Fprintf(&b, "%p", s.Fields)
	}
	vs := slices.Clone(s.Values)
	slices.SortFunc(vs, func(a, b ast.Value) int { return a.Compare(b) })
	for _, v := range vs {
		b.WriteString(v.String() + ",")
	}
	if s.Items != nil && depth > 0 {
		b.WriteByte('[')
		for _, l := range s.Items.Prefix {
			b.WriteString(fingerprint(l.Get(), depth-1) + ";")
		}
		if s.Items.Rest != nil {
			b.WriteString("*" + fingerprint(s.Items.Rest.Get(), depth-1))
		}
		b.WriteByte(']')
	}
	return b.String()
}
