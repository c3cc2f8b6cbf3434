package mcpwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Defaults of [Limits].
const (
	DefaultBytes = 64 << 20
	DefaultDepth = 256
)

// Limits bound what [Read] accepts. They are not the limits of a call's arguments,
// which the gate has: a message may hold a sampled image. A field that is zero means
// its default, one that is negative refuses everything.
type Limits struct {
	// Bytes is the greatest length of a message, its line ending included.
	Bytes int
	// Depth is how many objects and arrays may be open at once, arguments excepted.
	Depth int
	// Multiline accepts line feeds between tokens, as the body of an HTTP request may
	// have them. Where a message is a line they end it.
	Multiline bool
}

// Filled returns l with the defaults in place of zeros.
func (l Limits) Filled() Limits {
	if l.Bytes == 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	return l
}

const (
	maxMembers = 256  // of the message, of params and of _meta: nobody has so many
	maxIDBytes = 1024 // of an id as it is written
	maxIDDigit = 64   // of an id that is a number
)

// TooLong is the fault of a message longer than allowed, for whoever cuts the input
// into messages.
func TooLong() *Fault { return invalid("the message has more bytes than this gate accepts") }

// Read reads one message of a client. The line may end with LF or CRLF; there must
// be nothing else around the message but JSON's white space. Either the message may
// go on as it is, or the fault says why not.
func Read(line []byte, l Limits) (m *Message, fault *Fault) {
	defer func() {
		if p := recover(); p != nil { // jsontext panics where it finds itself inconsistent
			m, fault = nil, parseFault("the message could not be read")
		}
	}()
	text, fault := frame(line, l.Filled())
	if fault != nil {
		return nil, fault
	}
	r := newReader(text, l.Filled())
	fault = r.read()
	if fault != nil && r.deep.end > 0 {
		span := r.deep
		r = newReader(hollow(text, span), l.Filled())
		if fault = r.read(); fault == nil {
			replace(r.params, "arguments", text[span.start:span.end])
		}
	}
	if fault != nil {
		return nil, fault
	}
	if hidesLine(text) {
		r.complain("a line of the message is a message by itself, which readers of lines would take for one")
	}
	return r.message()
}

// frame takes the line ending off and checks what can be checked without parsing.
func frame(line []byte, l Limits) ([]byte, *Fault) {
	if l.Bytes < 0 || l.Depth < 0 {
		return nil, &Fault{Code: CodeInternal, Message: "the gate's limits for messages are misconfigured; tell its operator"}
	}
	if len(line) > l.Bytes {
		return nil, TooLong()
	}
	text, cut := bytes.CutSuffix(line, []byte("\n"))
	if cut {
		text = bytes.TrimSuffix(text, []byte("\r"))
	}
	switch {
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return nil, parseFault("the message begins with a byte order mark")
	case bytes.IndexByte(text, '\r') >= 0:
		return nil, invalid("the message has a carriage return inside, where some readers would end it")
	case !l.Multiline && bytes.IndexByte(text, '\n') >= 0:
		return nil, invalid("the message has a line feed inside, where readers of lines would end it")
	}
	return text, nil
}

// A span is a part of a text. The zero span is none.
type span struct{ start, end int }

// A reader reads one message in one pass. It doesn't stop at the first thing that
// makes a message ambiguous, because the answer needs the id, which may come later.
type reader struct {
	text   []byte
	dec    *jsontext.Decoder
	limits Limits

	top, params, meta []member
	problem           string // the first thing that makes the message ambiguous or ill-shaped
	deep              span   // arguments that are nested deeper than the decoder goes
}

func newReader(text []byte, l Limits) *reader {
	// What the decoder lets pass is checked value by value, with an exception for the
	// arguments: see values. A bytes.Buffer is read in place.
	dec := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return &reader{text: text, dec: dec, limits: l}
}

// read reads the whole text. Its fault has no id: the text can't be read to its end,
// or isn't an object.
func (r *reader) read() *Fault {
	if kind := r.dec.PeekKind(); kind != '{' {
		if err := r.dec.SkipValue(); err != nil || !r.atEnd() {
			return parseFault("the message is not JSON")
		}
		if kind == '[' {
			return invalid("JSON-RPC batches are not accepted: send each message by itself")
		}
		return invalid("the message is not a JSON object")
	}
	var err error
	if r.top, err = r.members(topLevel); err != nil {
		return parseFault(err.Error())
	}
	if !r.atEnd() {
		return parseFault("something follows the message")
	}
	return nil
}

func (r *reader) atEnd() bool {
	_, err := r.dec.ReadToken()
	return errors.Is(err, io.EOF)
}

var errNotJSON = errors.New("the message is not JSON")

// members reads an object whose names have a meaning at level l. The error says that
// the text is not JSON; what is wrong beyond that becomes the reader's problem.
func (r *reader) members(l level) ([]member, error) {
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	ms := make([]member, 0, 8)
	for r.dec.PeekKind() == '"' {
		quoted, err := r.dec.ReadValue()
		if err != nil {
			return nil, errNotJSON
		}
		name, err := nameOf(quoted)
		if err != nil {
			return nil, errCharacters
		}
		raw, err := r.value(l, name)
		if err != nil {
			return nil, err
		}
		if len(ms) == maxMembers {
			r.complain(l.String() + " has more members than this gate accepts")
			continue
		}
		r.checkName(l, name, ms)
		ms = append(ms, member{name, raw})
	}
	if _, err := r.dec.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	return ms, nil
}

// nameOf returns the name that a JSON string is, most of the time as it is written.
func nameOf(quoted jsontext.Value) (string, error) {
	inside := quoted[1 : len(quoted)-1]
	for _, c := range inside {
		if c == '\\' || c >= utf8.RuneSelf {
			name, err := jsontext.AppendUnquote(nil, quoted)
			return string(name), err
		}
	}
	return string(inside), nil
}

// complain makes message the reader's problem unless there is one.
func (r *reader) complain(message string) {
	if r.problem == "" {
		r.problem = message
	}
}

func (r *reader) checkName(l level, name string, before []member) {
	for i := range before {
		if before[i].name == name {
			r.complain(l.String() + " has a name twice")
			return
		}
	}
	if exact, ok := known(l, name); ok && exact != name {
		r.complain(fmt.Sprintf("%s has a name that some readers take for %q", l, exact))
	}
}

// value reads a member's value and returns it as it is written.
func (r *reader) value(l level, name string) (json.RawMessage, error) {
	kind := r.dec.PeekKind()
	start := r.valueStart()
	var err error
	switch {
	case l == topLevel && name == "params" && kind == '{' && r.params == nil:
		r.params, err = r.members(paramsLevel)
	case l == paramsLevel && name == "_meta" && kind == '{' && r.meta == nil:
		r.meta, err = r.members(metaLevel)
	default:
		err = r.plain(l, name, kind, start)
	}
	if err != nil {
		return nil, err
	}
	return r.text[start:r.dec.InputOffset()], nil
}

// valueStart returns where the value begins that the decoder peeked at.
func (r *reader) valueStart() int {
	i := int(r.dec.InputOffset())
	for i < len(r.text) && (r.text[i] == ':' || isSpace(r.text[i])) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// plain reads a value whose members have no meaning here.
func (r *reader) plain(l level, name string, kind jsontext.Kind, start int) error {
	if err := r.dec.SkipValue(); err != nil {
		if end, depth := extent(r.text[start:]); l == paramsLevel && name == "arguments" && depth > tooDeep && end > 0 {
			r.deep = span{start, start + end}
		}
		return errNotJSON
	}
	if l == paramsLevel && isDeferred(name) {
		return nil
	}
	return r.strict(l, kind, r.text[start:r.dec.InputOffset()])
}

// isDeferred says that a member of params is read strictly by the gate, when it is a
// call that has it.
func isDeferred(name string) bool { return name == "arguments" || name == "inputResponses" }

var errCharacters = errors.New("the message is not valid UTF-8, or an escape in it stands for half of a surrogate pair")

// strict checks a value that is JSON.
func (r *reader) strict(l level, kind jsontext.Kind, raw jsontext.Value) error {
	if !raw.IsValid() {
		dec := jsontext.NewDecoder(bytes.NewBuffer(raw))
		if err := dec.SkipValue(); !errors.Is(err, jsontext.ErrDuplicateName) || !utf8.Valid(raw) {
			return errCharacters
		}
		r.complain("an object in " + l.String() + " has a name twice")
	}
	if kind == '{' || kind == '[' {
		if _, depth := extent(raw); depth+int(l)+1 > r.limits.Depth {
			r.complain("objects and arrays are nested deeper than this gate accepts")
		}
	}
	return nil
}

// checkID says what is wrong with an id, "" when nothing is.
func checkID(raw json.RawMessage) string {
	switch jsontext.Value(raw).Kind() {
	case '"':
		if len(raw) > maxIDBytes {
			return "the id is longer than this gate accepts"
		}
	case '0':
		if _, err := strconv.ParseFloat(string(raw), 64); err != nil || len(raw) > maxIDDigit {
			return "the id is a number larger or longer than this gate accepts"
		}
	default:
		return "the id is neither a string nor a number"
	}
	return ""
}
