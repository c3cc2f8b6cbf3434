package regoeval

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
)

// OPA compares numbers up to this power of ten, and of at most 15 digits, as they
// stand. Beyond it goes through arbitrary precision: 20 µs a comparison, and 40 µs to
// hash 5e-324, so that sorting 1 MB of such numbers takes a minute inside of one
// built-in, which no deadline stops.
const fastExponent = 300

// maxSlowWork bounds numbers beyond that times values around them: one of them in
// 100,000 values, or 316 among themselves.
const maxSlowWork = 100_000

var errSlowNumbers = errors.New("the input document has numbers beyond 1e±300 among too many values: comparing them has no bound in time")

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
		if isSlow(string(v)) {
			c.slow++
		}
	}
}

// isSlow reports whether a JSON number's leading digit may lie beyond the powers of
// ten that are compared fast.
func isSlow(n string) bool {
	i := strings.IndexAny(n, "eE")
	if i < 0 {
		return len(n) > fastExponent
	}
	exp, err := strconv.Atoi(strings.TrimPrefix(n[i+1:], "+"))
	if err != nil {
		return true
	}
	return exp+i > fastExponent || exp-i < -fastExponent
}
