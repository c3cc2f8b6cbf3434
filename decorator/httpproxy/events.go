package httpproxy

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"
)

const eventStreamType = "text/event-stream"

// mediaType returns the media type of a message, in lower case and without parameters.
func mediaType(h http.Header) string {
	t, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return t
}

// mark may come before the first event of a stream.
const mark = "\ufeff"

const firstBuffer = 4 << 10 // of a stream: most say little at a time

// events cuts an event stream into events, whatever its line endings are.
type events struct {
	r   io.Reader
	max int // of an event

	begun   bool // the mark, if there is one, was passed on
	pending []byte
	done    int  // before this, pending holds whole events and comments
	start   int  // of the event that is not whole yet
	over    bool // it has more than max bytes, and was passed on in part

	line    int  // length of the line that is not whole yet
	comment bool // that line is one
	fields  bool // the event has lines that are none
	skipLF  bool // the last byte was a CR that ended a line
}

func newEvents(r io.Reader, max int) *events {
	return &events{r: r, max: max, pending: make([]byte, 0, firstBuffer)}
}

// next reads on, calls each with every event that became whole (nil for one that is too
// long), and returns what can be passed on. The bytes are valid until the next call.
func (e *events) next(each func(event []byte)) (ready []byte, err error) {
	rest := copy(e.pending, e.pending[e.done:])
	e.pending, e.start, e.done = e.pending[:rest], e.start-e.done, 0
	if rest == cap(e.pending) {
		e.pending = append(make([]byte, 0, 2*cap(e.pending)), e.pending...)
	}
	n, err := e.r.Read(e.pending[rest:cap(e.pending)])
	e.pending = e.pending[:rest+n]
	from := rest
	if !e.begun {
		if len(e.pending) < len(mark) && strings.HasPrefix(mark, string(e.pending)) {
			return nil, err
		}
		e.begun, from = true, 0
		if bytes.HasPrefix(e.pending, []byte(mark)) {
			e.whole(len(mark))
			from = len(mark)
		}
	}
	for i := from; i < len(e.pending); i++ {
		e.scan(i, each)
	}
	if len(e.pending)-e.start > e.max {
		e.over, e.done, e.start = true, len(e.pending), len(e.pending)
	}
	return e.pending[:e.done], err
}

// rest returns the beginning of an event that is not whole.
func (e *events) rest() []byte { return e.pending[e.done:] }

// scan looks at the byte at i.
func (e *events) scan(i int, each func([]byte)) {
	c := e.pending[i]
	if e.skipLF {
		e.skipLF = false
		if c == '\n' { // it belongs to the CR before it
			if !e.fields && e.line == 0 {
				e.whole(i + 1)
			}
			return
		}
	}
	switch c {
	case '\r', '\n':
		e.skipLF = c == '\r'
		e.endOfLine(i, each)
		e.line = 0
	default:
		if e.line == 0 {
			e.comment = c == ':'
		}
		e.line++
	}
}

func (e *events) endOfLine(i int, each func([]byte)) {
	switch {
	case e.line == 0:
		if e.over {
			each(nil)
		} else if e.fields {
			each(e.pending[e.start : i+1])
		}
		e.over, e.fields = false, false
		e.whole(i + 1)
	case e.comment && !e.fields:
		e.whole(i + 1) // keeps the connection alive, and waits for nothing
	default:
		e.fields = true
	}
}

func (e *events) whole(end int) { e.done, e.start = end, end }

// eventData returns the data of an event, nil when it has none.
func eventData(event []byte) []byte {
	var data []byte
	for _, line := range bytes.FieldsFunc(event, func(r rune) bool { return r == '\r' || r == '\n' }) {
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "data" {
			continue
		}
		if data == nil {
			data = []byte{}
		} else {
			data = append(data, '\n')
		}
		data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
	}
	return data
}

// hasField reports whether an event has a line with that field.
func hasField(event []byte, name string) bool {
	for i := 0; i < len(event); {
		if bytes.HasPrefix(event[i:], []byte(name+":")) {
			return true
		}
		n := bytes.IndexAny(event[i:], "\r\n")
		if n < 0 {
			return false
		}
		i += n + 1
	}
	return false
}
