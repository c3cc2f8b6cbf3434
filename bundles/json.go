package bundles

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// checkJSON reads a document strictly: valid UTF-8, no name twice, nothing after it.
// The error names file, line and column.
func checkJSON(file string, raw []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	_, err := dec.ReadValue()
	if err == nil {
		rest := raw[dec.InputOffset():]
		if len(bytes.TrimSpace(rest)) == 0 {
			return nil
		}
		line, col := position(raw, int64(len(raw)-len(bytes.TrimLeft(rest, " \t\r\n"))))
		return fmt.Errorf("%s:%d:%d: there is something after the JSON value: remove it", file, line, col)
	}
	offset := dec.InputOffset()
	what := err.Error()
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		offset = syntactic.ByteOffset
		if syntactic.Err != nil {
			what = syntactic.Err.Error()
		}
	}
	if errors.Is(err, jsontext.ErrDuplicateName) {
		what = "a name is given twice in one object: keep the one that is meant"
	}
	line, col := position(raw, offset)
	return fmt.Errorf("%s:%d:%d: not valid JSON: %s", file, line, col, what)
}

// position turns a byte offset into line and column, both from 1.
func position(raw []byte, offset int64) (line, col int) {
	offset = min(max(offset, 0), int64(len(raw)))
	before := raw[:offset]
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}
