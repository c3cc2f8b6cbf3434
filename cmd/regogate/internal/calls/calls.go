// Package calls reads tool calls from a stream of JSON lines, one call a line.
//
// Every line is a call, and nothing that is wrong with one stops the next: a line
// that can't be read is a call with an error, which its reader refuses. So what comes
// out has as many elements, in the same order, as the stream has lines. A blank line
// is such a broken line too; a line feed at the end of the stream begins no line.
//
// Arguments are the exact bytes of the line, whatever they are: whether they are one
// unambiguous object is for the gate to say.
//
// # Limits
//
// Memory is bounded by the longest line that is accepted, not by the stream. Numbers
// of lines are counted by line feeds alone.
package calls

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/strictjson"
)

// A Call is one line.
type Call struct {
	Line      int            // 1-based
	Tool      string         // "" in a line that names none
	Arguments []byte         // exact bytes; {} where the line has none, or null, as MCP has it
	Caller    *policy.Caller // nil when the line doesn't say
	Server    string         // "" when the line doesn't say
	Expected  string         // "allow", "refuse", or "" when the line doesn't say
	// Err says what is wrong with the line, without repeating what it says; nil when
	// nothing is. The other fields are then what could be read.
	Err error
	// Unread reports that it isn't known whether the line expects something.
	Unread bool
}

// A Reader reads calls. It is for one goroutine.
type Reader struct {
	in   *bufio.Reader
	max  int
	line int
	buf  []byte
}

// NewReader returns a Reader of r that refuses lines of more than max bytes.
func NewReader(r io.Reader, max int) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), max: max}
}

// Next returns the next call. The error is io.EOF after the last one, or says that the
// stream can't be read any further.
func (r *Reader) Next() (Call, error) {
	line, tooLong, err := r.readLine()
	if err != nil {
		return Call{}, err
	}
	r.line++
	c := Call{Line: r.line}
	switch {
	case tooLong:
		c.Err, c.Unread = fmt.Errorf("the line has more than %d bytes", r.max), true
	case len(bytes.TrimSpace(line)) == 0:
		c.Err, c.Unread = errors.New("the line is blank"), true
	default:
		c.parse(line)
	}
	return c, nil
}

// readLine returns a line without its line feed. Of one that is too long it reads all
// and keeps the beginning.
func (r *Reader) readLine() (line []byte, tooLong bool, err error) {
	r.buf = r.buf[:0]
	read := false
	for {
		part, err := r.in.ReadSlice('\n')
		read = read || len(part) > 0
		if room := r.max + 1 - len(r.buf); !tooLong {
			r.buf = append(r.buf, part[:min(len(part), room)]...)
			tooLong = len(bytes.TrimSuffix(r.buf, []byte("\n"))) > r.max
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && read:
			return bytes.TrimSuffix(r.buf, []byte("\n")), tooLong, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, false, err
		}
	}
}

// known are the members that mean something; others are ignored.
var known = []string{"tool", "arguments", "raw_arguments", "caller", "server", "expected"}

// parse fills c from a line that isn't blank.
func (c *Call) parse(line []byte) {
	m, err := members(line)
	if m == nil {
		c.Err, c.Unread = err, true
		return
	}
	var errs []error
	note := func(e error) { errs = append(errs, e) }
	note(err)
	c.readExpected(m["expected"], note)
	if raw, ok := m["tool"]; !ok {
		note(errors.New("the line has no member tool"))
	} else if c.Tool, err = text(raw); err != nil || c.Tool == "" {
		note(errors.New("tool is not a non-empty string"))
	}
	if raw, ok := m["server"]; ok && string(raw) != "null" {
		if c.Server, err = text(raw); err != nil {
			note(errors.New("server is not a string"))
		}
	}
	if raw, ok := m["caller"]; ok && string(raw) != "null" {
		caller, err := ParseCaller(raw)
		if err != nil {
			note(err)
		}
		c.Caller = &caller
	}
	c.readArguments(m, note)
	for _, e := range errs { // the first is enough to correct the line
		if e != nil {
			c.Err = e
			return
		}
	}
}

func (c *Call) readExpected(raw jsontext.Value, note func(error)) {
	if raw == nil {
		return
	}
	s, err := text(raw)
	if err != nil || s != "allow" && s != "refuse" {
		c.Unread = true
		note(errors.New(`expected is neither "allow" nor "refuse"`))
		return
	}
	c.Expected = s
}

func (c *Call) readArguments(m map[string]jsontext.Value, note func(error)) {
	exact, given := m["arguments"]
	quoted, both := m["raw_arguments"]
	switch {
	case given && both:
		note(errors.New("the line has both arguments and raw_arguments"))
	case both:
		s, err := text(quoted)
		if err != nil {
			note(errors.New("raw_arguments is not a string of valid Unicode"))
		}
		c.Arguments = []byte(s)
	case !given || string(exact) == "null":
		c.Arguments = []byte("{}")
	default:
		c.Arguments = exact
	}
}

// members returns the members of a line's object by name: the exact bytes of each
// value. The map is nil when the line is no object; otherwise the error says which of
// its names could be read in two ways.
func members(line []byte) (map[string]jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(line), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if dec.PeekKind() != '{' {
		if dec.SkipValue() != nil {
			return nil, errNotJSON
		}
		return nil, errors.New("the line is not an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	m := map[string]jsontext.Value{}
	var ambiguous error
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, errNotJSON
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, errNotJSON
		}
		if !slices.Contains(known, name) {
			for _, k := range known {
				if strictjson.FoldName(name) == k {
					ambiguous = fmt.Errorf("the line has a member that is called like %s in other letter case", k)
				}
			}
			continue
		}
		if m[name] != nil {
			ambiguous = fmt.Errorf("the line has %s twice", name)
			continue
		}
		m[name] = value.Clone()
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the line's object")
	}
	return m, ambiguous
}

var errNotJSON = errors.New("the line is not JSON that can be read")

// text reads a JSON string strictly.
func text(raw []byte) (string, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	token, err := dec.ReadToken()
	if err != nil {
		return "", err
	}
	if token.Kind() != '"' {
		return "", errors.New("not a string")
	}
	return token.String(), nil
}
