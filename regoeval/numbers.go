package regoeval

import (
	"encoding/json"
	"errors"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/strictjson"
)

// Extreme numbers go through arbitrary precision: 20 µs a comparison, and 40 µs to hash
// 5e-324, so that sorting 1 MB of them takes a minute inside of one built-in, which no
// deadline stops. maxSlowWork bounds their number times values around them: one of them in
// 100,000 values, or 316 among themselves.
const maxSlowWork = 100_000

var errSlowNumbers = errors.New("the input document has numbers beyond 1e±300 among too many values: comparing them has no bound in time")

// checkInput refuses an input whose numbers would make comparisons slow. What was read
// without meeting an extreme number isn't looked at again: 5 MB of arguments of which the
// rules read little would take longer than the rules.
func checkInput(in policy.Input) error {
	if in.PlainNumbers() {
		return nil
	}
	var c numberCount
	for _, tree := range in.Trees() {
		c.count(tree)
	}
	if c.tooSlow() {
		return errSlowNumbers
	}
	return nil
}

// checkNumbers refuses a document whose numbers would make comparisons slow.
func checkNumbers(doc map[string]any) error {
	var c numberCount
	c.count(doc)
	if c.tooSlow() {
		return errSlowNumbers
	}
	return nil
}

type numberCount struct{ slow, values int }

func (c *numberCount) tooSlow() bool { return c.slow*c.values > maxSlowWork }

func (c *numberCount) count(v any) {
	c.values++
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			c.count(e)
		}
	case []any:
		for _, e := range v {
			c.count(e)
		}
	case json.Number:
		if strictjson.IsExtreme(string(v)) {
			c.slow++
		}
	}
}
