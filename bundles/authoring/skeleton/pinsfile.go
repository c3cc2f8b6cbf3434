package skeleton

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/go-json-experiment/json/jsontext"
)

// readPins reads the pins that are there, and the bytes that they are.
func (w *writer) readPins() (map[key]pin, []byte, error) {
	pinned := map[key]pin{}
	if _, err := w.root.Stat(pinsFile); errors.Is(err, fs.ErrNotExist) {
		return pinned, nil, nil
	}
	raw, err := w.read(pinsFile)
	if err != nil {
		return nil, nil, err
	}
	where := path.Join(w.dir, pinsFile)
	const fix = "correct it, or remove the file and pin all tools again"
	// Strictly: where a name is given twice, readers would disagree about which counts.
	if _, err := jsontext.NewDecoder(bytes.NewReader(raw)).ReadValue(); err != nil {
		return nil, nil, fmt.Errorf("%s: not valid JSON: %w: %s", where, err, fix)
	}
	var doc struct {
		Tools []pin `json:"tools"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, nil, fmt.Errorf("%s: not pins: %w: %s", where, err, fix)
	}
	for i, p := range doc.Tools {
		k := key{p.Server, p.Name}
		if _, twice := pinned[k]; twice || p.Name == "" || p.Digest == "" {
			return nil, nil, fmt.Errorf("%s: /tools/%d: pinned twice, or without name or digest: %s", where, i, fix)
		}
		pinned[k] = p
	}
	return pinned, raw, nil
}

// writePins is the file of the pins: in order, so that a change shows as one.
func writePins(pinned map[key]pin) ([]byte, error) {
	list := make([]pin, 0, len(pinned))
	for _, k := range sortedKeys(pinned) {
		list = append(list, pinned[k])
	}
	return indented(map[string]any{"tools": list})
}

// indented is a value as JSON for people.
func indented(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
