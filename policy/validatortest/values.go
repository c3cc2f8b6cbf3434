package validatortest

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"
)

// usual are texts that patterns and formats of tools accept, or don't.
var usual = []string{
	"text", "a", "A", "1", "12", "123", "1234", "12345", "123456", "a1", "abc", "ABC", "A1", "ABC-123", "abc-123", "abc_123", "main", "owner/name",
	"/tmp/file", "/a", "./a", "file.txt", "ann@example.com", "https://example.com/a", "http://example.com", "example.com", "127.0.0.1", "::1",
	"2026-07-28", "12:30:00Z", "2026-07-28T12:30:00Z", "P1D", "550e8400-e29b-41d4-a716-446655440000", "#ffffff", "v1.2.3", "1.2.3", "+15551234567",
	"en", "en-US", "USD", "true", "0", "-1", "1.5", "x=y", "a b", "", " ", "0123456789abcdef0123456789abcdef01234567", strings.Repeat("a", 64),
}

// stringValue makes a text within the bounds of a schema.
func stringValue(m object) string {
	least, most := number(m, "minLength", 0), number(m, "maxLength", 1<<16)
	fits := func(s string) bool { n := utf8.RuneCountInString(s); return n >= least && n <= most }
	candidates := usual
	if format, ok := m["format"].(string); ok {
		if s, known := formats[format]; known {
			candidates = append([]string{s}, usual...)
		}
	}
	var pattern *regexp.Regexp
	if p, ok := m["pattern"].(string); ok {
		pattern, _ = regexp.Compile(p) // one that isn't RE2 matches anything here; the gate is who decides
	}
	for _, s := range candidates {
		if fits(s) && (pattern == nil || pattern.MatchString(s)) {
			return s
		}
	}
	return strings.Repeat("a", min(max(least, min(1, most)), 1<<16))
}

var formats = map[string]string{
	"date": "2026-07-28", "time": "12:30:00Z", "date-time": "2026-07-28T12:30:00Z", "duration": "P1D", "email": "ann@example.com",
	"idn-email": "ann@example.com", "hostname": "example.com", "ipv4": "127.0.0.1", "ipv6": "::1", "uri": "https://example.com/a",
	"uri-reference": "/a", "iri": "https://example.com/a", "url": "https://example.com/a", "uuid": "550e8400-e29b-41d4-a716-446655440000",
	"json-pointer": "/a", "regex": "a", "byte": "YQ==",
}

// numberValue makes a number within the bounds of a schema.
func numberValue(m object) json.Number {
	n := big.NewRat(1, 1)
	if least, open := bound(m, "minimum", "exclusiveMinimum"); least != nil && (n.Cmp(least) < 0 || open && n.Cmp(least) == 0) {
		n = least
		if open {
			n = new(big.Rat).Add(least, big.NewRat(1, 1))
		}
	}
	if most, open := bound(m, "maximum", "exclusiveMaximum"); most != nil && (n.Cmp(most) > 0 || open && n.Cmp(most) == 0) {
		n = most
		if open {
			n = new(big.Rat).Sub(most, big.NewRat(1, 1))
		}
	}
	if step, _ := bound(m, "multipleOf", ""); step != nil && step.Sign() > 0 {
		times := new(big.Rat).Quo(n, step)
		whole := new(big.Int).Quo(times.Num(), times.Denom())
		if !times.IsInt() && times.Sign() > 0 {
			whole.Add(whole, big.NewInt(1))
		}
		n = new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
	}
	return literal(n)
}

// bound returns the bound that a schema sets, and whether it is outside itself.
func bound(m object, closed, open string) (limit *big.Rat, outside bool) {
	for _, key := range []string{closed, open} {
		if n, ok := m[key].(json.Number); ok && len(n) <= 64 {
			if r, ok := new(big.Rat).SetString(n.String()); ok {
				return r, key == open
			}
		}
	}
	return nil, false
}

func literal(r *big.Rat) json.Number {
	if r.IsInt() {
		return json.Number(r.Num().String())
	}
	return json.Number(strings.TrimRight(r.FloatString(20), "0"))
}
