package strictjson_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/regogate/regogate/policy/strictjson"
)

// smallCall is about the size of a usual tool call: 363 bytes.
const smallCall = `{"path":"/srv/data/reports/2026/q3/summary.md","mode":"write","owner":{"name":"report-bot","teamIds":[4711]},` +
	`"tags":["finance","quarterly","draft"],"limits":{"maxBytes":1048576,"timeoutSeconds":2.5},"notify":true,` +
	`"after":"2026-10-01T00:00:00Z","before":"2026-12-31T23:59:59Z","source":"10.20.30.40","ticket":null,` +
	`"body":"All figures are in.\nSee \"appendix\" B."}`

// rows returns an object of at least size bytes: many rows of mixed values.
func rows(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"table":"orders","rows":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"customerName":"customer %d","price":%d.%02d,"paid":%t,"note":null,"lines":[%d,"a\tb",{}]}`,
			i, i*7, i%1000, i%100, i%2 == 0, i*3)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

type benchmarkInput struct {
	label string
	data  []byte
}

func benchmarkInputs() []benchmarkInput {
	return []benchmarkInput{
		{"363B", []byte(smallCall)},
		{"10KB", rows(10_000)},
		{"1MB", rows(1_000_000)},
		{"1MB-string", []byte(`{"text":"` + strings.Repeat("All figures are in. ", 50_000) + `"}`)},
	}
}

func BenchmarkParseObject(b *testing.B) {
	for _, in := range benchmarkInputs() {
		b.Run(in.label, func(b *testing.B) {
			b.SetBytes(int64(len(in.data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := strictjson.ParseObject(in.data, strictjson.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEncodingJSON is for comparison: the same trees from encoding/json, which
// checks far less.
func BenchmarkEncodingJSON(b *testing.B) {
	for _, in := range benchmarkInputs() {
		b.Run(in.label, func(b *testing.B) {
			b.SetBytes(int64(len(in.data)))
			b.ReportAllocs()
			for b.Loop() {
				var value any
				decoder := json.NewDecoder(bytes.NewReader(in.data))
				decoder.UseNumber()
				if err := decoder.Decode(&value); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
