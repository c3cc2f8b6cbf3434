package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// A parser reads one input. It holds open containers in a slice of its own, so that
// nesting doesn't recurse, and what they contain so far in shared stacks, so that
// each container is made once, in its final size.
type parser struct {
	tokens jsontext.Decoder
	input  bytes.Buffer // what tokens reads
	reading
}

// A reading is the state of reading one input.
type reading struct {
	data   []byte
	text   string // a copy of data, which the strings of the result are parts of
	limits Limits
	namer  namer

	open   []container
	values []any  // the elements and member values of all open containers
	names  []name // the member names of all open objects

	unquoted []byte // scratch space
	extreme  bool   // a number was
	room     room
}

// A room is where a parser's stacks begin, so that they need no allocation while the
// input is small.
type room struct {
	open     [4]container
	values   [24]any
	names    [24]name
	folded   [40]byte
	unquoted [80]byte
}

// A container is an object or array whose end hasn't been read yet. Its values and
// names reach from where it begins to where the next one begins.
type container struct {
	object bool
	values int               // where its values begin
	names  int               // where its names begin
	large  map[string]string // its names by their folded form, if it has many
}

// prepare makes p ready to read data.
func (p *parser) prepare(data []byte, l Limits) {
	p.data, p.text, p.limits = data, string(data), l
	// A bytes.Buffer is read in place: jsontext neither copies nor changes it.
	p.input = *bytes.NewBuffer(data)
	p.tokens.Reset(&p.input, jsontext.AllowDuplicateNames(true))
	p.namer = namer{seed: maphash.MakeSeed(), scratch: p.room.folded[:0]}
	p.open, p.values, p.names = p.room.open[:0], p.room.values[:0], p.room.names[:0]
	p.unquoted = p.room.unquoted[:0]
}

// idleParsers keeps parsers, which are large, for further inputs.
var idleParsers = sync.Pool{New: func() any { return new(parser) }}

func takeParser() *parser { return idleParsers.Get().(*parser) }

// keptAfter is up to how long an input its parser is kept. Further ones may have left
// buffers behind that are as large.
const keptAfter = 64 << 10

// giveBack keeps p for another input. It lets go of this one.
func (p *parser) giveBack() {
	if len(p.data) > keptAfter {
		return
	}
	p.input = bytes.Buffer{}
	p.tokens.Reset(&p.input)
	p.reading = reading{}
	idleParsers.Put(p)
}

// parse reads the whole input.
func (p *parser) parse() (any, *Error) {
	for {
		value, complete, err := p.next()
		if err != nil {
			return nil, err
		}
		if !complete {
			continue
		}
		if len(p.open) == 0 {
			return value, p.end()
		}
		p.values = append(p.values, value)
	}
}

// next reads a token. Complete is false when there is no value yet: the token is a
// name or the beginning of a container.
func (p *parser) next() (value any, complete bool, err *Error) {
	switch kind := p.tokens.PeekKind(); kind {
	case '"':
		text, start, err := p.string()
		if err == nil && p.wantsName() {
			return nil, false, p.addName(text, start)
		}
		return text, true, err
	case '0':
		number, err := p.number()
		return number, true, err
	case '{', '[':
		return nil, false, p.begin(kind == '{')
	case '}', ']':
		if err := p.skip(); err != nil {
			return nil, false, err
		}
		return p.close(), true, nil
	case 'n':
		return nil, true, p.skip()
	case 't':
		return true, true, p.skip()
	case 'f':
		return false, true, p.skip()
	default:
		if err := p.skip(); err != nil {
			return nil, false, err
		}
		return nil, false, p.fail(ReasonSyntax, int(p.tokens.InputOffset()), "")
	}
}

// skip reads a token that says no more than its kind does.
func (p *parser) skip() *Error {
	if _, err := p.tokens.ReadToken(); err != nil {
		return p.syntax(err)
	}
	return nil
}

// literal reads a string or number as it is written, and returns where that begins.
func (p *parser) literal() (jsontext.Value, int, *Error) {
	raw, err := p.tokens.ReadValue()
	if err != nil {
		return nil, 0, p.syntax(err)
	}
	return raw, int(p.tokens.InputOffset()) - len(raw), nil
}

// string reads a string or name, and returns where it begins.
func (p *parser) string() (text string, start int, failure *Error) {
	raw, start, failure := p.literal()
	if failure != nil {
		return "", 0, failure
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return p.text[start+1 : start+len(raw)-1], start, nil
	}
	var err error
	if p.unquoted, err = jsontext.AppendUnquote(p.unquoted[:0], raw); err != nil {
		return "", 0, p.syntax(err)
	}
	return string(p.unquoted), start, nil
}

func (p *parser) number() (json.Number, *Error) {
	raw, start, err := p.literal()
	if err != nil {
		return "", err
	}
	if len(raw) > p.limits.NumberLength {
		detail := fmt.Sprintf("%d characters; the limit is %d", len(raw), p.limits.NumberLength)
		return "", p.fail(ReasonNumberLength, start, detail)
	}
	if !inRange(raw) {
		return "", p.fail(ReasonNumberRange, start, "")
	}
	literal := p.text[start : start+len(raw)]
	p.extreme = p.extreme || IsExtreme(literal)
	return json.Number(literal), nil
}

// begin opens a container.
func (p *parser) begin(object bool) *Error {
	if len(p.open) >= p.limits.Depth {
		detail := fmt.Sprintf("the limit is %d", p.limits.Depth)
		start := len(p.data) - len(bytes.TrimLeft(p.data[p.tokens.InputOffset():], jsonWhitespace+",:"))
		return p.fail(ReasonDepth, start, detail)
	}
	if err := p.skip(); err != nil {
		return err
	}
	p.open = append(p.open, container{object: object, values: len(p.values), names: len(p.names)})
	return nil
}

// close takes the innermost container's contents off the stacks and returns it.
func (p *parser) close() any {
	c := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	values, names := p.values[c.values:], p.names[c.names:]
	p.values, p.names = p.values[:c.values], p.names[:c.names]
	if !c.object {
		return append(make([]any, 0, len(values)), values...)
	}
	object := make(map[string]any, len(names))
	for i := range names {
		object[names[i].text] = values[i]
	}
	return object
}

// wantsName reports whether the next string is a member's name.
func (p *parser) wantsName() bool {
	if len(p.open) == 0 {
		return false
	}
	c := &p.open[len(p.open)-1]
	return c.object && len(p.names)-c.names == len(p.values)-c.values
}

// addName begins a member of the innermost object, unless its name clashes.
func (p *parser) addName(text string, start int) *Error {
	c := &p.open[len(p.open)-1]
	added, with, found := p.namer.clash(p.names[c.names:], &c.large, text)
	switch {
	case !found:
		p.names = append(p.names, added)
		return nil
	case with == text:
		return p.fail(ReasonDuplicateName, start, "")
	default:
		return p.fail(ReasonConfusableNames, start, "")
	}
}

// end checks that nothing follows the value.
func (p *parser) end() *Error {
	rest := bytes.TrimLeft(p.data[p.tokens.InputOffset():], jsonWhitespace)
	if len(rest) > 0 {
		return p.fail(ReasonTrailingData, len(p.data)-len(rest), "")
	}
	return nil
}
