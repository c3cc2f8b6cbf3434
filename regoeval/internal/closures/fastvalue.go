package closures

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
)

// fastValue returns a fast path for a built-in that makes a value, or nil. An undefined
// value says that it doesn't cover the operands.
func (b *body) fastValue(name string, args []operand) func(*frame) val {
	switch name {
	case ast.ParseRFC3339Nanos.Name:
		return func(f *frame) val { return parseTime(args[0].get(f)) }
	case ast.Lower.Name:
		return textOf(args[0], strings.ToLower)
	case ast.Upper.Name:
		return textOf(args[0], strings.ToUpper)
	case ast.Count.Name:
		return func(f *frame) val { return count(f, args[0].get(f)) }
	case ast.Plus.Name:
		return sum(args[0], args[1], 1)
	case ast.Minus.Name:
		return sum(args[0], args[1], -1)
	case ast.ObjectGet.Name:
		return objectGet(args)
	case ast.InternalTemplateString.Name:
		return templateText(args[0])
	}
	return nil
}

// Times that don't fit into nanoseconds since 1970 are an error, which is the built-in's.
var (
	firstTime = time.Unix(0, -1<<63)
	lastTime  = time.Unix(0, 1<<63-1)
)

func parseTime(v *val) val {
	if v.kind != text {
		return val{}
	}
	t, err := time.Parse(time.RFC3339, v.s)
	if err != nil || t.Before(firstTime) || t.After(lastTime) {
		return val{}
	}
	return intVal(t.UnixNano())
}

func textOf(x operand, convert func(string) string) func(*frame) val {
	return func(f *frame) val {
		v := x.get(f)
		if v.kind != text {
			return val{}
		}
		return textVal(convert(v.s))
	}
}

func count(f *frame, v *val) val {
	if v.kind == text {
		return intVal(int64(utf8.RuneCountInString(v.s)))
	}
	if n, ok := f.eval.length(v); ok {
		return intVal(int64(n))
	}
	return val{}
}

// maxSum keeps sums of two within int64.
const maxSum = 1 << 62

func sum(x, y operand, sign int64) func(*frame) val {
	small := func(v *val) bool {
		return v.kind == number && v.exact && -maxSum < v.n && v.n < maxSum
	}
	return func(f *frame) val {
		v, w := x.get(f), y.get(f)
		if !small(v) || !small(w) {
			return val{}
		}
		return intVal(v.n + sign*w.n)
	}
}

// objectGet covers one constant name.
func objectGet(args []operand) func(*frame) val {
	if len(args) != 3 || !args[1].isConstantText() {
		return nil
	}
	name := &args[1].constant.val
	return func(f *frame) val {
		from, otherwise := args[0].get(f), args[2].get(f)
		if !otherwise.defined() {
			return val{}
		}
		switch from.kind {
		case record:
		case term:
			if _, ok := from.other.(ast.Object); !ok {
				return val{}
			}
		default:
			return val{}
		}
		if v := f.eval.get(from, name); v.defined() {
			return v
		}
		return *otherwise
	}
}

// templateText covers parts that are text.
func templateText(x operand) func(*frame) val {
	return func(f *frame) val {
		v := x.get(f)
		if v.kind != listMade {
			return val{}
		}
		var s strings.Builder
		for _, part := range v.other.(*listMaker).elems {
			if part.kind == setMade && part.other != nil {
				if only := part.other.(ast.Set).Slice(); len(only) == 1 {
					part = fromTerm(only[0].Value)
				}
			}
			if part.kind != text {
				return val{}
			}
			s.WriteString(part.s)
		}
		return textVal(s.String())
	}
}
