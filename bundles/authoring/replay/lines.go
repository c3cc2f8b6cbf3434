package replay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxLine is how long one record may be.
const MaxLine = 64 << 20

// A line is one record of a log as bytes, or what is wrong with it.
type line struct {
	number int
	data   []byte
	err    error
}

// lines reads the records of a log: one a line, or the elements of arrays. Gzip is
// recognised. It hands each to yield until that returns false; the error says that the
// log can't be read any further.
func lines(r io.Reader, yield func(line) bool) error {
	in := bufio.NewReaderSize(r, 256<<10)
	if magic, _ := in.Peek(2); bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		zr, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("not gzip: %w", err)
		}
		in = bufio.NewReaderSize(zr, 256<<10)
	}
	for number := 1; ; number++ {
		data, tooLong, err := readLine(in)
		l := line{number: number, data: bytes.TrimSpace(data)}
		if tooLong {
			l.data, l.err = nil, fmt.Errorf("more than %d bytes", MaxLine)
		}
		switch {
		case l.err == nil && len(l.data) > 0 && l.data[0] == '[':
			if !elements(l, yield) {
				return nil
			}
		case l.err != nil || len(l.data) > 0:
			if !yield(l) {
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
}

// readLine returns a line of its own memory.
func readLine(in *bufio.Reader) (out []byte, tooLong bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if !tooLong {
			if tooLong = len(out)+len(part) > MaxLine; tooLong {
				out = nil
			} else {
				out = append(out, part...)
			}
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return out, tooLong, err
		}
	}
}

// elements yields the elements of an array, as OPA uploads them.
func elements(l line, yield func(line) bool) bool {
	d := json.NewDecoder(bytes.NewReader(l.data))
	if _, err := d.Token(); err != nil {
		return yield(line{number: l.number, err: errors.New("not JSON")})
	}
	for d.More() {
		var e json.RawMessage
		if err := d.Decode(&e); err != nil {
			return yield(line{number: l.number, err: errors.New("an array that is not JSON to its end")})
		}
		if !yield(line{number: l.number, data: e}) {
			return false
		}
	}
	if _, err := d.Token(); err != nil {
		return yield(line{number: l.number, err: errors.New("an array that is not JSON to its end")})
	}
	return true
}
