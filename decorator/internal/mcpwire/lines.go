package mcpwire

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// hidesLine reports whether a line of a message that has several is a message, or a
// batch with one, by itself: whoever hands the bytes on to a reader of lines, as some
// bridges to a stdio server do, would have that one run. Empty lines around a message
// leave it the one that it is.
func hidesLine(text []byte) bool {
	text = bytes.Trim(text, " \t\r\n")
	if bytes.IndexByte(text, '\n') < 0 {
		return false
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && (line[0] == '{' || line[0] == '[') && len(line) < len(text) && beginsMessage(line) {
			return true
		}
	}
	return false
}

// beginsMessage reports whether a text begins with an object that has a method, or with
// an array of such. The text is part of one that is JSON.
func beginsMessage(text []byte) bool {
	value, err := lenient(text).ReadValue()
	if err != nil {
		return false
	}
	if value.Kind() == '{' {
		return hasMethod(value)
	}
	elements := lenient(value)
	if _, err := elements.ReadToken(); err != nil {
		return false
	}
	for elements.PeekKind() != ']' {
		element, err := elements.ReadValue()
		if err != nil {
			return false
		}
		if element.Kind() == '{' && hasMethod(element) {
			return true
		}
	}
	return false
}

// hasMethod reports whether an object has a method, and something that says that it is
// meant as a message, in any spelling of the names.
func hasMethod(object jsontext.Value) bool {
	dec := lenient(object)
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	method, message := false, false
	for dec.PeekKind() == '"' {
		quoted, err := dec.ReadValue()
		if err != nil {
			return false
		}
		name := unquote(json.RawMessage(quoted))
		value, err := dec.ReadValue()
		if err != nil {
			return false
		}
		switch exact, ok := known(topLevel, name); {
		case !ok:
		case exact == "method":
			method = true
			message = message || strings.Contains(unquote(json.RawMessage(value)), "/")
		case exact == "jsonrpc", exact == "params":
			message = true
		}
	}
	return method && message
}
