package strictjson

import (
	"fmt"
	"strings"
)

// Reason says which rule the input breaks. The values are stable and few, so they can
// be a metric's label. The zero value is no known reason; it refuses like any other.
type Reason string

// What input is refused for.
const (
	ReasonLimits          Reason = "limits"           // the gate's own limits can't be used
	ReasonSize            Reason = "size"             // more bytes than Limits.Bytes
	ReasonEmpty           Reason = "empty"            // no value at all
	ReasonByteOrderMark   Reason = "byte_order_mark"  // begins with U+FEFF
	ReasonSyntax          Reason = "syntax"           // not JSON
	ReasonIncomplete      Reason = "incomplete"       // ends within the value
	ReasonTrailingData    Reason = "trailing_data"    // something follows the value
	ReasonInvalidUTF8     Reason = "invalid_utf8"     // bytes that aren't UTF-8
	ReasonLoneSurrogate   Reason = "lone_surrogate"   // \uD800 to \uDFFF without its other half
	ReasonDepth           Reason = "depth"            // nested deeper than Limits.Depth
	ReasonNumberLength    Reason = "number_length"    // a literal longer than Limits.NumberLength
	ReasonNumberRange     Reason = "number_range"     // infinite, or wrongly zero, in binary64
	ReasonDuplicateName   Reason = "duplicate_name"   // one name twice in an object
	ReasonConfusableNames Reason = "confusable_names" // two names of an object that fold together
	ReasonNotObject       Reason = "not_an_object"    // a value other than an object
	ReasonInternal        Reason = "internal"         // the JSON library failed
)

// text returns what the agent may read. Every text is a constant: it can't repeat
// what the input says.
func (r Reason) text() string {
	switch r {
	case ReasonLimits:
		return "the gate's limits for JSON are misconfigured, so nothing can be read; tell its operator"
	case ReasonSize:
		return "the JSON text has more bytes than allowed; send less"
	case ReasonEmpty:
		return "the JSON text is empty; send a JSON value"
	case ReasonByteOrderMark:
		return "the JSON text begins with a byte order mark; leave it out"
	case ReasonIncomplete:
		return "the JSON text ends before its value is complete; send all of it"
	case ReasonTrailingData:
		return "something follows the JSON value; send exactly one value"
	case ReasonInvalidUTF8:
		return "the JSON text is not valid UTF-8; encode it as UTF-8"
	case ReasonLoneSurrogate:
		return "a \\u escape stands for half of a surrogate pair; write both halves, or the character itself"
	case ReasonDepth:
		return "objects and arrays are nested deeper than allowed; send a flatter value"
	case ReasonNumberLength:
		return "a number has more characters than allowed; write it shorter, or as a string if that is accepted"
	case ReasonNumberRange:
		return "a number is too large, or too close to zero, for a 64-bit floating-point number; send one within its range"
	case ReasonDuplicateName:
		return "an object has the same name twice; give each name once"
	case ReasonConfusableNames:
		return "an object has two names that differ only in letter case or in trailing NUL characters; give each name once, spelled as declared"
	case ReasonNotObject:
		return "the JSON value is not an object; send an object"
	case ReasonInternal:
		return "the JSON text could not be read; tell the gate's operator"
	case ReasonSyntax:
		fallthrough
	default:
		return "the text is not valid JSON; correct its syntax"
	}
}

// Error is a refusal to read. It is made for two readers: Error and the fields are for
// the operator, Message is for the agent.
type Error struct {
	// Reason is the rule that the input breaks.
	Reason Reason
	// Pointer is the JSON Pointer (RFC 6901) of the container in which it happened,
	// empty for the outermost. It is made of names in the input. Should it be longer
	// than 1 KiB, it is that of the nearest enclosing container whose pointer isn't.
	Pointer string
	// Offset is the position in the input in bytes: of the token or character that
	// breaks the rule, else (after an internal failure) 0.
	Offset int64
	// Detail says more about what was found. It may quote a few bytes of the input.
	Detail string
}

// Error describes the refusal to the operator, in one line of printable characters.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "JSON refused (%s) at byte %d", e.Reason, e.Offset)
	if e.Pointer != "" {
		fmt.Fprintf(&b, " in the container at JSON Pointer %+q", e.Pointer)
	}
	fmt.Fprintf(&b, ": %s", e.Reason.text())
	if e.Detail != "" {
		fmt.Fprintf(&b, " (%s)", printable(e.Detail))
	}
	return b.String()
}

// Message describes the refusal to the agent: a fixed text for each reason, with
// nothing in it from the input.
func (e *Error) Message() string {
	return e.Reason.text()
}

// printable returns s, or s quoted if it could disturb a log or a terminal.
func printable(s string) string {
	for _, r := range s {
		if r < ' ' || r > '~' {
			return fmt.Sprintf("%+q", s)
		}
	}
	return s
}
