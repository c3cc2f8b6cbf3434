package httpproxy

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"
)

const firstBody = 64 << 10 // what a Content-Length is believed up to

// contentType says what is wrong with what a POST says of its body, nil when nothing is.
func contentType(h http.Header) *problem {
	if len(h.Values("Content-Encoding")) > 0 {
		return badRequest(http.StatusUnsupportedMediaType, "the body must have no content encoding")
	}
	types := h.Values("Content-Type")
	if len(types) != 1 || !isPlainJSON(types[0]) {
		return badRequest(http.StatusUnsupportedMediaType, "the body must be application/json, in UTF-8")
	}
	return nil
}

// isPlainJSON reports whether a media type is JSON for every reader of it: parameters can
// be written in more ways than readers agree on.
func isPlainJSON(contentType string) bool {
	kind, parameter, has := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.Trim(kind, " \t"), "application/json") {
		return false
	}
	if !has {
		return true
	}
	name, value, _ := strings.Cut(strings.Trim(parameter, " \t"), "=")
	return strings.EqualFold(name, "charset") && (strings.EqualFold(value, "utf-8") || strings.EqualFold(value, `"utf-8"`))
}

// A budget bounds what is held in memory at once.
type budget struct {
	max  int64
	used atomic.Int64
}

func (b *budget) take(n int) bool {
	if b.used.Add(int64(n)) > b.max {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

func (b *budget) give(n int) { b.used.Add(-int64(n)) }

// readBody reads the body of a POST. What it takes of the budget is given back when the
// exchange ends.
func (x *exchange) readBody() *problem {
	most := x.p.o.MessageBytes
	if x.r.ContentLength > int64(most) {
		return tooLarge()
	}
	control := http.NewResponseController(x.w)
	// A writer that has no deadlines is one of a test, or leaves them to somebody else. If
	// the body can't be taken the deadline stays: the server reads what is left of it before
	// it answers.
	_ = control.SetReadDeadline(time.Now().Add(x.p.o.BodyTimeout))
	size := firstBody
	if n := x.r.ContentLength; n >= 0 && n < firstBody {
		size = int(n) + 1
	}
	if !x.reserve(size) {
		return busy()
	}
	body := make([]byte, 0, size)
	for {
		n, err := x.r.Body.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case len(body) > most:
			return tooLarge()
		case errors.Is(err, io.EOF):
			x.body = body
			_ = control.SetReadDeadline(time.Time{})
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			x.w.Header().Set("Connection", "close")
			return badRequest(http.StatusRequestTimeout, "the body didn't come in time")
		case err != nil:
			return badRequest(http.StatusBadRequest, "the body can't be read")
		}
		if len(body) == cap(body) {
			more := min(cap(body), most+1-cap(body))
			if !x.reserve(more) {
				return busy()
			}
			body = append(make([]byte, 0, cap(body)+more), body...)
		}
	}
}

func (x *exchange) reserve(n int) bool {
	if !x.p.pending.take(n) {
		return false
	}
	x.reserved += n
	return true
}

func tooLarge() *problem {
	return badRequest(http.StatusRequestEntityTooLarge, "the message has more bytes than this gate accepts")
}

func busy() *problem {
	pr := badRequest(http.StatusServiceUnavailable, "the gate holds too many messages; try again later")
	pr.header = http.Header{"Retry-After": {"1"}}
	return pr
}
