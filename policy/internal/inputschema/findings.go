package inputschema

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	errorkind "github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// probed explains what a probe refused.
func probed(e *jsonschema.ValidationError, k *errorkind.Format) failure {
	f, ok := k.Err.(*finding)
	if !ok {
		return failure{at: e.InstanceLocation, message: textGeneric}
	}
	return failure{at: e.InstanceLocation, message: f.message(), finding: f}
}

func (f *finding) message() string {
	if f.reason == reasonKind {
		got := f.got.article()
		if f.got == kindNumber && f.want&kindInteger != 0 {
			got = "a number with a fraction"
		}
		return fmt.Sprintf("must be %s, and is %s", f.want.alternatives(), got)
	}
	return f.text
}

func formatText(name string) string {
	text := "must be of the format " + quote(name)
	if like, ok := formatExamples[name]; ok {
		text += ", like " + like
	}
	return text
}

// formatExamples show what formats look like.
var formatExamples = map[string]string{
	"date-time":     "2025-01-31T09:30:00Z",
	"date":          "2025-01-31",
	"time":          "09:30:00Z",
	"duration":      "P1DT12H",
	"email":         "name@example.com",
	"hostname":      "www.example.com",
	"ipv4":          "192.0.2.1",
	"ipv6":          "2001:db8::1",
	"uri":           "https://example.com/path",
	"iri":           "https://example.com/path",
	"uri-reference": "../path",
	"uuid":          "123e4567-e89b-12d3-a456-426614174000",
	"json-pointer":  "/a/0",
}

// enumText lists the allowed values, which are the schema's.
func enumText(allowed []any) string {
	texts := make([]string, 0, maxListed)
	for _, v := range allowed[:min(len(allowed), maxListed)] {
		texts = append(texts, shown(v))
	}
	return oneOfText(texts, len(allowed))
}

// oneOfText lists allowed values that are shown already, or the first of total ones.
func oneOfText(texts []string, total int) string {
	switch total {
	case 0:
		return textNotAccepted
	case 1:
		return "must be " + texts[0]
	}
	text := "must be one of " + strings.Join(texts[:min(len(texts), maxListed)], ", ")
	if left := total - maxListed; left > 0 {
		text += fmt.Sprintf(", %d more", left)
	}
	return text
}

// shown writes a value of the schema as JSON, shortened.
func shown(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "the value that the schema says"
	}
	return cut(string(text), maxQuoted)
}
