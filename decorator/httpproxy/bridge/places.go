package bridge

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// A span is a part of a text. The zero span is none.
type span struct{ start, end int }

func (s span) of(text []byte) json.RawMessage {
	if s.end == 0 {
		return nil
	}
	return json.RawMessage(text[s.start:s.end])
}

// The places in a message that name a request.
const (
	atID                 = "/id"
	atToken              = "/params/progressToken" // of a progress notification
	atRequest            = "/params/requestId"     // of a cancellation
	atMetaToken          = "/params/_meta/progressToken"
	atSubscription       = "/params/_meta/io.modelcontextprotocol/subscriptionId"
	atResultSubscription = "/result/_meta/io.modelcontextprotocol/subscriptionId"
)

var (
	// inside are the objects that have such places in them.
	inside = []string{"/params", "/params/_meta", "/result", "/result/_meta"}
	known  = []string{atID, atToken, atRequest, atMetaToken, atSubscription, atResultSubscription}
)

var errAmbiguous = errors.New("a name that says whose message it is stands there twice")

// find returns where in a message the places are. A message in which one of them
// is there twice is an error: readers would differ about whose it is.
func find(text []byte) (places map[string]span, err error) {
	defer func() {
		if p := recover(); p != nil { // jsontext panics where it finds itself inconsistent
			places, err = nil, errors.New("the message can't be read")
		}
	}()
	f := finder{
		dec:    jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		places: map[string]span{},
		opened: map[string]bool{},
	}
	if err := f.object(""); err != nil {
		return nil, err
	}
	return f.places, nil
}

type finder struct {
	dec    *jsontext.Decoder
	places map[string]span
	opened map[string]bool
}

// object reads the object at a path.
func (f *finder) object(path string) error {
	if tok, err := f.dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return errors.Join(err, errors.New("not an object"))
	}
	for f.dec.PeekKind() == '"' {
		name, err := f.dec.ReadToken()
		if err != nil {
			return err
		}
		if err := f.member(path + "/" + name.String()); err != nil {
			return err
		}
	}
	_, err := f.dec.ReadToken()
	return err
}

func (f *finder) member(path string) error {
	if slices.Contains(inside, path) && f.dec.PeekKind() == '{' {
		if f.opened[path] {
			return errAmbiguous
		}
		f.opened[path] = true
		return f.object(path)
	}
	raw, err := f.dec.ReadValue()
	if err != nil {
		return err
	}
	if slices.Contains(known, path) {
		if _, twice := f.places[path]; twice {
			return errAmbiguous
		}
		end := int(f.dec.InputOffset())
		f.places[path] = span{end - len(raw), end}
	}
	return nil
}

// An edit puts other bytes into a place.
type edit struct {
	at   span
	text []byte
}

// apply returns a copy of text with the edits made. Places that are not there are left out.
func apply(text []byte, edits ...edit) []byte {
	edits = slices.DeleteFunc(edits, func(e edit) bool { return e.at.end == 0 })
	slices.SortFunc(edits, func(a, b edit) int { return a.at.start - b.at.start })
	var out []byte
	done := 0
	for _, e := range edits {
		out = append(append(out, text[done:e.at.start]...), e.text...)
		done = e.at.end
	}
	return append(out, text[done:]...)
}
