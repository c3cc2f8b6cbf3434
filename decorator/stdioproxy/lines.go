package stdioproxy

import (
	"bufio"
	"errors"
	"io"
	"sync"
)

const readBuffer = 64 << 10

// A lineReader cuts a stream into lines.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, max int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// next returns a line with its ending, or a piece of one that has more than max
// bytes: end says that the line ends here. The last line may have no ending; it comes
// together with the error. The bytes are valid until the next call.
func (l *lineReader) next() (piece []byte, end bool, err error) {
	piece, err = l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return piece, true, err
	}
	var long []byte
	for {
		long = append(long, piece...)
		switch {
		case !errors.Is(err, bufio.ErrBufferFull):
			return long, true, err
		case len(long) > l.max:
			return long, false, nil
		}
		piece, err = l.r.ReadSlice('\n')
	}
}

var errClosed = errors.New("closed")

// A lineWriter writes whole lines, by any number of goroutines.
type lineWriter struct {
	mu      sync.Mutex
	w       io.Writer
	partial bool // what was written last has no line ending
	closed  bool
	writes  int
}

// message writes a message of the gate's own as a line.
func (l *lineWriter) message(b []byte) error {
	line := make([]byte, 0, len(b)+2)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.partial {
		line = append(line, '\n')
	}
	return l.write(append(append(line, b...), '\n'))
}

// forward writes a line as it is.
func (l *lineWriter) forward(line []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.write(line)
}

// stream writes a line in pieces: the first and those that next returns.
func (l *lineWriter) stream(first []byte, next func() (piece []byte, end bool, err error)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	failed := l.write(first)
	for {
		piece, end, err := next()
		if failed == nil {
			failed = l.write(piece)
		}
		if end || err != nil {
			return errors.Join(failed, err)
		}
	}
}

func (l *lineWriter) write(b []byte) error {
	if l.closed {
		return errClosed
	}
	if len(b) == 0 {
		return nil
	}
	_, err := l.w.Write(b)
	l.writes++
	l.partial = b[len(b)-1] != '\n'
	return err
}

// progress returns how often was written, and whether that is being done right now.
func (l *lineWriter) progress() (writes int, writing bool) {
	if !l.mu.TryLock() {
		return 0, true
	}
	defer l.mu.Unlock()
	return l.writes, false
}

// close makes further writes fail, unless one is under way that doesn't end.
func (l *lineWriter) close() {
	if l.mu.TryLock() {
		l.closed = true
		l.mu.Unlock()
	}
}
