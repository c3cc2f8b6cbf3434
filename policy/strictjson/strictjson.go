// Package strictjson turns bytes into one unambiguous JSON value, or refuses them.
//
// Two readers of the same JSON text need not agree on what it says. One takes the
// first of two equal names and another the last, one matches names by letter case
// and another doesn't, one stops at the end of a value and another reads on, one
// rounds a number and another keeps it. A gate that reads differently from the
// handler behind it decides about a call that never happens. So this package accepts
// only text on which readers can't disagree:
//
//   - exactly one value by the grammar of RFC 8259, with no byte order mark before
//     it and nothing but JSON whitespace after it;
//   - valid UTF-8 in which no escape stands for half a surrogate pair;
//   - in each object no name twice, once escapes are undone, and no two names that
//     a case-insensitive reader takes for one another (see [FoldName]);
//   - numbers that are finite in IEEE 754 binary64 and don't round to zero unless
//     they are zero, with an exponent of at most four digits (leading zeros aside).
//     So 1e400 and 1e-400 are refused, 5e-324 and -0 accepted; and of zeros, 0e9999
//     is accepted and 0e10000 refused, for some readers with exact arithmetic fail on
//     such exponents or compute the power of ten;
//   - no more bytes, nesting or digits than [Limits] allow.
//
// The syntax is checked by jsontext; its own check for duplicate names is replaced by
// the stricter one here. Work and memory are linear in the size of the input, also
// for input that is made to hurt, and nesting uses no goroutine stack.
//
// # Limits
//
// Whether a name is one that a schema declares is for the caller to ask: compare
// [FoldName] of both. FoldName follows encoding/json, so it knows neither readers
// that ignore hyphens and underscores nor Turkish or full case folding (ß and ss stay
// two names). Strings aren't normalized: composed and decomposed forms are different
// names. The integers beyond 2^53 that a binary64 reader would round are accepted,
// as their literal is kept; a schema or a rule has to bound them where it matters.
//
// Nesting beyond 10,000 is refused even if Limits allow more. Whoever raises
// NumberLength exposes later steps to arithmetic that is quadratic in the number of
// digits. The strings of a result share one copy of the input: keeping one of them
// keeps that copy. A result takes up to about 50 times the bytes of its text (a list
// of one-member objects), because each Go map has room for eight members: count with
// it when raising Bytes.
package strictjson

import (
	"bytes"
	"fmt"
)

// Defaults of [Limits].
const (
	DefaultBytes        = 1 << 20
	DefaultDepth        = 64
	DefaultNumberLength = 64
)

// maxDepth is the deepest nesting that jsontext and encoding/json read.
const maxDepth = 10_000

// Limits bounds what is read. A field that is zero means its default; with a field
// that is negative everything is refused, for [ReasonLimits].
type Limits struct {
	// Bytes is the greatest length of the whole input, whitespace included.
	Bytes int
	// Depth is how many containers (objects and arrays) may be open at once: a
	// number alone has depth 0, [] has depth 1, [{}] has depth 2. Values above
	// 10,000 count as 10,000.
	Depth int
	// NumberLength is the greatest length of a number's literal in bytes, with its
	// sign, point and exponent.
	NumberLength int
}

// effective returns l with its defaults filled in, or false if it can't be used.
func (l Limits) effective() (Limits, bool) {
	if l.Bytes < 0 || l.Depth < 0 || l.NumberLength < 0 {
		return Limits{}, false
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	if l.NumberLength == 0 {
		l.NumberLength = DefaultNumberLength
	}
	l.Depth = min(l.Depth, maxDepth)
	return l, true
}

const byteOrderMark = "\xef\xbb\xbf"

// jsonWhitespace is all that RFC 8259 allows between tokens.
const jsonWhitespace = " \t\r\n"

// Parse reads data as one JSON value of any kind. The result is made of
// map[string]any, []any, string, [encoding/json.Number] (the exact literal), bool and
// nil; it belongs to the caller, and shares no memory with data, which isn't changed.
//
// The error, if any, is an [*Error], and the result is then nil: tell a JSON null by
// the error, not by the result.
func Parse(data []byte, l Limits) (value any, err error) {
	value, _, err = Read(data, l)
	return value, err
}

// Traits are what was noticed of a value while it was read. The zero Traits say
// nothing of a value that nobody read.
type Traits struct {
	// Extreme says that it holds a number for which [IsExtreme] is true.
	Extreme bool
}

// Read is [Parse] that says as well what was noticed on the way.
func Read(data []byte, l Limits) (value any, traits Traits, err error) {
	l, ok := l.effective()
	if !ok {
		return nil, Traits{}, &Error{Reason: ReasonLimits, Detail: "a limit is negative"}
	}
	if len(data) > l.Bytes {
		detail := fmt.Sprintf("%d bytes; the limit is %d", len(data), l.Bytes)
		return nil, Traits{}, &Error{Reason: ReasonSize, Offset: int64(l.Bytes), Detail: detail}
	}
	if bytes.HasPrefix(data, []byte(byteOrderMark)) {
		return nil, Traits{}, &Error{Reason: ReasonByteOrderMark}
	}
	if len(bytes.TrimLeft(data, jsonWhitespace)) == 0 {
		return nil, Traits{}, &Error{Reason: ReasonEmpty}
	}
	// jsontext panics where it finds a mistake of its own. No input is known that leads
	// there, but one that does must refuse a call, not end the process.
	defer func() {
		if r := recover(); r != nil {
			value, traits, err = nil, Traits{}, &Error{Reason: ReasonInternal, Detail: fmt.Sprint(r)}
		}
	}()
	p := takeParser()
	p.prepare(data, l)
	value, failure := p.parse()
	traits = Traits{Extreme: p.extreme}
	p.giveBack() // not after a panic, which leaves it as nobody knows
	if failure != nil {
		return nil, Traits{}, failure
	}
	return value, traits, nil
}

// ParseObject reads data as one JSON object, by the rules of [Parse]. Any other JSON
// value is refused, for [ReasonNotObject]; so is null.
func ParseObject(data []byte, l Limits) (map[string]any, error) {
	object, _, err := ReadObject(data, l)
	return object, err
}

// ReadObject is [ParseObject] that says as well what was noticed on the way, for later
// steps that would otherwise have to look at every value again.
func ReadObject(data []byte, l Limits) (map[string]any, Traits, error) {
	value, traits, err := Read(data, l)
	if err != nil {
		return nil, Traits{}, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, Traits{}, &Error{Reason: ReasonNotObject}
	}
	return object, traits, nil
}
