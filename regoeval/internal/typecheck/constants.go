package typecheck

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/gobwas/glob"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// foldable built-ins are cheap, and the same at every call.
var foldable = []string{
	"lower", "upper", "trim", "trim_left", "trim_right", "trim_prefix", "trim_suffix", "trim_space", "startswith", "endswith", "contains",
	"indexof", "substring", "to_number", "format_int", "units.parse", "units.parse_bytes",
	"time.parse_rfc3339_ns", "time.parse_duration_ns", "time.parse_ns",
	"net.cidr_contains", "net.cidr_intersects", "net.cidr_is_valid", "semver.compare", "semver.is_valid",
	"base64.decode", "base64url.decode", "hex.decode", "plus", "minus", "mul", "div", "rem", "abs", "round", "ceil", "floor",
	"regex.match", "regex.is_valid",
}

// samples stand for an operand that isn't known, in built-ins of which another operand
// alone decides whether they are an error: some sample would do.
var samples = map[string][]ast.Value{
	"net.cidr_contains":   {ast.String("10.0.0.1"), ast.String("::1")},
	"net.cidr_intersects": {ast.String("10.0.0.0/8"), ast.String("::/0")},
	"semver.compare":      {ast.String("1.0.0")},
	"div":                 {ast.Number("1")},
	"rem":                 {ast.Number("1")},
}

const (
	maxCombinations = 256
	maxConstant     = 1024 // bytes of a text that is evaluated beforehand
)

// scalarsOf are the values that an operand can have: those that are certain, and those
// that the data has now.
func scalarsOf(s *shape.Shape) (vs []ast.Value, hints bool) {
	if vs, ok := s.Finite(); ok {
		return vs, false
	}
	return s.Hints, true
}

// checkConstants reports constants that make a built-in fail whatever the call: broken
// patterns, times, numbers, networks.
func (c *checker) checkConstants(e *ast.Expr, b *ast.Builtin, terms []*ast.Term, args []*shape.Shape) verdict {
	if c.quiet {
		return always
	}
	v := c.checkPatterns(e, b, args)
	if !v.reached() || !slices.Contains(foldable, b.Name) {
		return v
	}
	operands := make([][]ast.Value, len(args))
	certain, known := true, 0
	for i, a := range args {
		vs, hints := scalarsOf(a)
		if len(vs) == 0 {
			if vs = samples[b.Name]; len(vs) == 0 {
				return v
			}
		} else {
			known++
			certain = certain && !hints && len(vs) == 1
		}
		operands[i] = vs
	}
	if known == 0 || b.Name == "regex.match" {
		return v
	}
	t := c.visit(e, "constant")
	for i, vs := range operands {
		if known, _ := scalarsOf(args[i]); len(known) == 0 || subject(args[i]) != "" {
			continue
		}
		for _, x := range vs {
			one := slices.Clone(operands)
			one[i] = []ast.Value{x}
			if results, ok := c.evaluate(b, one); !ok || len(results) > 0 {
				continue
			}
			what := "a constant"
			if args[i].Data != "" {
				what = "an entry of " + args[i].Data
			}
			bad := t.found(errs, &Finding{
				Kind: BadValue, Location: e.Location, Hard: true, Advice: true,
				Message: fmt.Sprintf("%s, %s, makes %s fail: every call that gets there is undecided", what, quote(text(x)), b.Name),
				Fix:     "correct it",
			})
			if certain && len(vs) == 1 {
				return bad
			}
			return v
		}
	}
	return v
}

// evaluate returns the results for every combination of operands that is no error; ok
// is false when there are too many, or too long ones.
func (c *checker) evaluate(b *ast.Builtin, operands [][]ast.Value) (results []ast.Value, ok bool) {
	combinations := 1
	for _, vs := range operands {
		if combinations *= len(vs); combinations > maxCombinations {
			return nil, false
		}
		for _, v := range vs {
			if s, isText := v.(ast.String); isText && len(s) > maxConstant {
				return nil, false
			}
			if n, isNumber := v.(ast.Number); isNumber && len(n) > 64 {
				return nil, false
			}
		}
	}
	f := topdown.GetBuiltin(b.Name)
	if f == nil {
		return nil, false
	}
	defer func() {
		if recover() != nil { // of a built-in: then nothing is known of it
			results, ok = nil, false
		}
	}()
	terms := make([]*ast.Term, len(operands))
	var each func(i int)
	each = func(i int) {
		if i == len(operands) {
			_ = f(topdown.BuiltinContext{Context: context.Background()}, terms, func(t *ast.Term) error { // an error is a missing result
				results = append(results, t.Value)
				return nil
			})
			return
		}
		for _, v := range operands[i] {
			terms[i] = ast.NewTerm(v)
			each(i + 1)
		}
	}
	each(0)
	return results, true
}

// folded evaluates a built-in over operands of which every possible value is known.
func (c *checker) folded(e *ast.Expr, b *ast.Builtin, args []*shape.Shape) (*shape.Shape, bool) {
	if !slices.Contains(foldable, b.Name) || c.ReplacedBuiltin(b.Name) {
		return nil, false
	}
	operands := make([][]ast.Value, len(args))
	for i, a := range args {
		vs, ok := a.Finite()
		if !ok {
			return nil, false
		}
		operands[i] = vs
	}
	results, ok := c.evaluate(b, operands)
	combinations := 1
	for _, vs := range operands {
		combinations *= len(vs)
	}
	if !ok || len(results) != combinations {
		return nil, false
	}
	for _, r := range results {
		if !ast.IsScalar(r) {
			return nil, false
		}
	}
	out := shape.Constants(nil)
	for _, r := range results {
		out = shape.Union(out, shape.Constant(r))
	}
	out = out.At("")
	out.From = firstSubject(args)
	if slices.ContainsFunc(args, func(a *shape.Shape) bool { return a.FromCall }) {
		out = out.Calls()
		out.Made = e.Location
	}
	return out, true
}

// conclude is a result that is known; a condition that never holds is a finding.
func (c *checker) conclude(e *ast.Expr, terms []*ast.Term, args []*shape.Shape, out *shape.Shape) (*shape.Shape, verdict, bool) {
	v := truth(out)
	if out.Kinds != shape.Boolean || len(e.Operands()) != len(terms) || out.From == "" {
		return out, always, true
	}
	t := c.visit(e, "fold")
	if v.outcome == fails {
		f := &Finding{Kind: WrongValue, Location: e.Location, Path: out.From, Advice: true, Soft: true,
			Message: fmt.Sprintf("this never holds for any value that %s can have", out.From)}
		for _, a := range args {
			if vs, ok := a.Finite(); ok && subject(a) != "" {
				f.Fix = "by the tool's schema it is one of " + enumerate(quoteAll(written(vs)))
			}
		}
		v = t.found(fails, f).because(v)
	}
	return out, v, true
}

// patternOperands says which operand is a regular expression.
var patternOperands = map[string]int{
	"regex.match": 0, "regex.split": 0, "regex.find_n": 0, "regex.find_all_string_submatch_n": 0, "regex.replace": 1,
}

// checkPatterns compiles the patterns that are known, as the built-in will.
func (c *checker) checkPatterns(e *ast.Expr, b *ast.Builtin, args []*shape.Shape) verdict {
	i, isRegex := patternOperands[b.Name]
	if !isRegex && b.Name != "glob.match" && b.Name != "regex.template_match" {
		return always
	}
	vs, hints := scalarsOf(args[i])
	t := c.visit(e, "pattern")
	for _, v := range vs {
		s, ok := v.(ast.String)
		if !ok {
			continue
		}
		var err error
		switch {
		case b.Name == "glob.match":
			err = c.compiles("glob "+string(s), func() error { _, err := glob.Compile(string(s), '.'); return err })
		case !isRegex:
			err = c.template(b, s, args)
		default:
			err = c.compiles("regex "+string(s), func() error { _, err := regexp.Compile(string(s)); return err })
			if c.patterns[string(s)] == nil {
				c.patterns[string(s)] = e.Location
			}
		}
		if err == nil {
			continue
		}
		what := "the pattern"
		if args[i].Data != "" {
			what = "a pattern in " + args[i].Data
		}
		bad := t.found(errs, &Finding{
			Kind: BadPattern, Location: e.Location, Hard: true, Advice: true,
			Message: fmt.Sprintf("%s %s is none: %s: every call that gets there is undecided", what, quote(string(s)), err),
			Fix:     "correct it: see https://github.com/google/re2/wiki/Syntax, which has no look-ahead and no back references",
		})
		if b.Name == "glob.match" {
			bad.causes[0].Fix = "correct it"
		}
		if !hints && len(vs) == 1 {
			return bad
		}
		break
	}
	return always
}

// compiles asks whether a pattern compiles, once.
func (c *checker) compiles(key string, compile func() error) error {
	if c.Memory == nil {
		return compile()
	}
	err, known := c.Memory.compiled[key]
	if !known {
		err = compile()
		c.Memory.compiled[key] = err
	}
	return err
}

// template says why a pattern with delimiters is none.
func (c *checker) template(b *ast.Builtin, s ast.String, args []*shape.Shape) error {
	open, okOpen := args[2].Single()
	end, okEnd := args[3].Single()
	if !okOpen || !okEnd {
		return nil
	}
	f := topdown.GetBuiltin(b.Name)
	if f == nil {
		return nil
	}
	defer func() { _ = recover() }() // of a built-in: then nothing is known of it
	terms := []*ast.Term{ast.NewTerm(s), ast.StringTerm(""), ast.NewTerm(open), ast.NewTerm(end)}
	return f(topdown.BuiltinContext{Context: context.Background()}, terms, func(*ast.Term) error { return nil })
}
