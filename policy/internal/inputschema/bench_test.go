package inputschema

import (
	"testing"
)

const (
	smallSchema = `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":100},"recursive":{"type":"boolean","default":false}},"required":["path"],"additionalProperties":false}`
	smallArgs   = `{"path":"/a/b","limit":10,"recursive":true}`

	mediumSchema = `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{
		"method":{"type":"string","enum":["create","update"]},"owner":{"type":"string"},"repo":{"type":"string"},"issue_number":{"type":"number"},
		"title":{"type":"string"},"body":{"type":"string"},"assignees":{"type":"array","items":{"type":"string"}},"labels":{"type":"array","items":{"type":"string"}},
		"milestone":{"type":"number"},"type":{"type":"string"},"state":{"type":"string","enum":["open","closed"]},"state_reason":{"type":"string","enum":["completed","not_planned","duplicate"]},
		"duplicate_of":{"type":"number"},"links":{"type":"array","items":{"type":"object","properties":{"url":{"type":"string","format":"uri"},"kind":{"enum":["a","b"]}},"required":["url"],"additionalProperties":false}}},
		"required":["method","owner","repo"]}`
	mediumArgs = `{"method":"update","owner":"octo","repo":"cat","issue_number":12,"title":"A title","body":"Some text that is a little longer than the others.","assignees":["a","b","c"],
		"labels":["bug","urgent"],"state":"closed","state_reason":"completed","links":[{"url":"https://example.com/1","kind":"a"},{"url":"https://example.com/2"}]}`
)

func BenchmarkCheck(b *testing.B) {
	for _, bench := range []struct{ name, schema, args string }{
		{"small valid", smallSchema, smallArgs},
		{"small with default", smallSchema, `{"path":"/a/b","limit":10}`},
		{"small invalid", smallSchema, `{"path":1,"limit":1000,"x":true}`},
		{"medium valid", mediumSchema, mediumArgs},
	} {
		s, args := must(b, bench.schema, Options{}), object(b, bench.args)
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s.Check(args)
			}
		})
		b.Run(bench.name+" parallel", func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					s.Check(args)
				}
			})
		})
	}
}

func BenchmarkSecondOpinion(b *testing.B) {
	s, args := must(b, mediumSchema, Options{SecondOpinion: SecondOpinionQri, Formats: Annotate}), object(b, mediumArgs)
	b.ReportAllocs()
	for b.Loop() {
		s.Check(args)
	}
}

func BenchmarkFoldConflicts(b *testing.B) {
	s, args := must(b, mediumSchema, Options{}), object(b, mediumArgs)
	b.ReportAllocs()
	for b.Loop() {
		s.FoldConflicts(args)
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, schema := range map[string]string{"small": smallSchema, "medium": mediumSchema} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				must(b, schema, Options{})
			}
		})
	}
}
