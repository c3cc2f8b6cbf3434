package closures

import (
	"net/netip"
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// outcome is what a fast path for a test says.
type outcome int

const (
	notCovered outcome = iota // ask OPA's own built-in
	holds
	fails
)

func outcomeOf(b bool) outcome {
	if b {
		return holds
	}
	return fails
}

// fastTest returns a fast path for a built-in that is true or false, or nil.
func (b *body) fastTest(name string, args []operand) func(*frame) outcome {
	switch len(args) {
	case 1:
		return typeTest(name, args[0])
	case 2:
		return b.fastTest2(name, args[0], args[1])
	}
	return nil
}

func (b *body) fastTest2(name string, x, y operand) func(*frame) outcome {
	switch name {
	case ast.StartsWith.Name:
		return texts(x, y, strings.HasPrefix)
	case ast.EndsWith.Name:
		return texts(x, y, strings.HasSuffix)
	case ast.Contains.Name:
		return texts(x, y, strings.Contains)
	case ast.GreaterThan.Name:
		return ordered(x, y, func(r int) bool { return r > 0 })
	case ast.GreaterThanEq.Name:
		return ordered(x, y, func(r int) bool { return r >= 0 })
	case ast.LessThan.Name:
		return ordered(x, y, func(r int) bool { return r < 0 })
	case ast.LessThanEq.Name:
		return ordered(x, y, func(r int) bool { return r <= 0 })
	case ast.NotEqual.Name:
		return sameness(x, y, false)
	case ast.Equal.Name:
		return sameness(x, y, true)
	case ast.RegexMatch.Name:
		return matches(x, y)
	case ast.NetCIDRContains.Name:
		return b.inNetwork(x, y)
	case ast.Member.Name:
		return memberOf(x, y)
	}
	return nil
}

func texts(x, y operand, test func(s, t string) bool) func(*frame) outcome {
	return func(f *frame) outcome {
		v, w := x.get(f), y.get(f)
		if v.kind != text || w.kind != text {
			return notCovered
		}
		return outcomeOf(test(v.s, w.s))
	}
}

func ordered(x, y operand, test func(r int) bool) func(*frame) outcome {
	return func(f *frame) outcome {
		v, w := x.get(f), y.get(f)
		if !v.defined() || !w.defined() {
			return notCovered
		}
		return outcomeOf(test(f.eval.compare(v, w)))
	}
}

func sameness(x, y operand, want bool) func(*frame) outcome {
	return func(f *frame) outcome {
		v, w := x.get(f), y.get(f)
		if !v.defined() || !w.defined() {
			return notCovered
		}
		return outcomeOf(f.eval.equal(v, w) == want)
	}
}

// matches covers constant patterns, with the package that OPA's built-in uses as well.
// What doesn't compile is left to the built-in, which reports it.
func matches(pattern, s operand) func(*frame) outcome {
	if !pattern.isConstantText() {
		return nil
	}
	re, err := regexp.Compile(pattern.constant.val.s)
	if err != nil {
		return nil
	}
	test := textTest(pattern.constant.val.s)
	if test == nil {
		test = re.MatchString
	}
	return func(f *frame) outcome {
		v := s.get(f)
		if v.kind != text {
			return notCovered
		}
		return outcomeOf(test(v.s))
	}
}

// inNetwork covers constant IPv4 networks and addresses from the input.
func (b *body) inNetwork(network, address operand) func(*frame) outcome {
	if address.kind != fromSlot {
		return nil
	}
	i := b.addressNumber(address.index)
	return func(f *frame) outcome {
		p, ok := network.get(f).other.(netip.Prefix)
		if !ok {
			return notCovered
		}
		a := f.eval.address(f.in, i)
		if !a.IsValid() {
			return notCovered
		}
		return outcomeOf(p.Contains(a))
	}
}

func memberOf(x, y operand) func(*frame) outcome {
	if y.kind == fromConstant && y.constant.table != nil && y.constant.table.texts != nil {
		texts := y.constant.table.texts
		return func(f *frame) outcome {
			v := x.get(f)
			switch {
			case v.kind == text:
				_, ok := texts[v.s]
				return outcomeOf(ok)
			case v.defined():
				return fails
			}
			return notCovered
		}
	}
	return func(f *frame) outcome {
		v, in := x.get(f), y.get(f)
		if !v.defined() || in.kind != list {
			return notCovered
		}
		for _, elem := range in.other.([]any) {
			w := f.eval.fromJSON(elem)
			if f.eval.equal(v, &w) {
				return holds
			}
		}
		return fails
	}
}

// typeTest covers is_string and its like for what isn't a collection of OPA's own.
func typeTest(name string, x operand) func(*frame) outcome {
	want, ok := map[string]kind{
		ast.IsString.Name: text, ast.IsNumber.Name: number, ast.IsBoolean.Name: boolean,
		ast.IsNull.Name: null, ast.IsArray.Name: list, ast.IsObject.Name: record,
	}[name]
	if !ok {
		return nil
	}
	return func(f *frame) outcome {
		switch k := x.get(f).kind; k {
		case null, boolean, number, text, list, record:
			return outcomeOf(k == want)
		default:
			return notCovered
		}
	}
}
