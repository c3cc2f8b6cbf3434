package typecheck

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/regoeval/internal/shape"
)

// verbs are those that write a value as it is meant, by what sprintf gets for it: text
// for everything but numbers.
var verbs = map[rune]shape.Kinds{
	'v': shape.All, 's': shape.All &^ shape.Number, 'q': shape.All, 'x': shape.All, 'X': shape.All,
	'd': shape.Number, 'b': shape.Number, 'o': shape.Number, 'c': shape.Number, 'U': shape.Number,
	'e': shape.Number, 'E': shape.Number, 'f': shape.Number, 'F': shape.Number, 'g': shape.Number, 'G': shape.Number, 'T': shape.All,
}

// format checks a format against the values that it is given.
func (c *checker) format(e *ast.Expr, args []*shape.Shape) {
	only, ok := args[0].Single()
	text, isText := only.(ast.String)
	if !ok || !isText {
		return
	}
	t := c.visit(e, "format")
	if why := misfit(string(text), args[1]); why != "" {
		t.found(fails, &Finding{Kind: BadFormat, Location: e.Location, Advice: true,
			Message: why + ": what comes out has the error in it", Fix: "give each verb one value of its kind (%v takes any), and write a percent sign as %%"})
	}
}

// misfit says what of a format doesn't fit its values; "" when nothing is known to.
func misfit(format string, values *shape.Shape) string {
	n, rest := 0, format
	for {
		_, after, found := strings.Cut(rest, "%")
		if !found {
			break
		}
		spec := strings.TrimLeft(after, "+-# 0123456789.")
		if strings.HasPrefix(spec, "*") || strings.HasPrefix(spec, "[") {
			return "" // widths and positions among the values: rare, and not followed
		}
		if spec == "" {
			return "the format ends in the middle of a verb"
		}
		verb := []rune(spec)[0]
		rest = spec[len(string(verb)):]
		if verb == '%' {
			continue
		}
		takes, known := verbs[verb]
		if !known {
			return fmt.Sprintf("the format has %s, which is no verb of sprintf", quote("%"+string(verb)))
		}
		if values.Items != nil && values.Kinds == shape.Array {
			s, ok := values.Items.Element(n)
			if !ok {
				return fmt.Sprintf("the format has more verbs than there are values: %d", n)
			}
			if !s.Empty() && s.Kinds&takes == 0 || s.Whole && s.Kinds == shape.Number && strings.ContainsRune("eEfFgG", verb) {
				return fmt.Sprintf("the verb %s is given %s", quote("%"+string(verb)), kinds(s))
			}
		}
		n++
	}
	if values.Items != nil && values.Kinds == shape.Array && values.Items.Rest == nil && values.Items.Sure > n {
		return fmt.Sprintf("the format has %d verbs, and there are %d values", n, values.Items.Sure)
	}
	return ""
}
