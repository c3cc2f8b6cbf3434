package regoeval_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
)

// lineSink keeps what a decision log writes.
type lineSink struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *lineSink) Name() string { return "lines" }
func (s *lineSink) Close() error { return nil }
func (s *lineSink) Write(_ context.Context, lines [][]byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lines {
		s.text.Write(l)
	}
	return len(lines), nil
}

func TestMask(t *testing.T) {
	const deny = "package tools.t\n\nimport rego.v2\n\ndeny contains $\"no {input.arguments.email}\" if input.arguments.email\n"
	const arguments = `{"email":"alice@example.com","list":[1,"two words here",3],"deep":{"a b":"x y z 1"}}`
	tests := map[string]struct {
		mask           string
		erased, masked []string
		gone           []string // texts that the record doesn't have
		dropped        bool
	}{
		"none":            {mask: ""},
		"path":            {mask: `mask contains "/input/arguments/email"`, erased: []string{"/input/arguments/email"}, gone: []string{"alice@example.com"}},
		"list":            {mask: `mask := ["/input/arguments/email", "/input/arguments/list/1"]`, erased: []string{"/input/arguments/email", "/input/arguments/list/1"}, gone: []string{"alice", "two words"}},
		"remove":          {mask: `mask contains {"op": "remove", "path": "/input/arguments/list"}`, erased: []string{"/input/arguments/list"}, gone: []string{"two words"}},
		"upsert":          {mask: `mask contains {"op": "upsert", "path": "/input/arguments/email", "value": "gone"}`, masked: []string{"/input/arguments/email"}, gone: []string{"alice"}},
		"space in a name": {mask: `mask contains "/input/arguments/deep/a b"`, erased: []string{"/input/arguments/deep/a b"}, gone: []string{"x y z"}},
		"escaped":         {mask: `mask contains "/input/arguments/deep/a%20b"`, erased: []string{"/input/arguments/deep/a%20b"}, gone: []string{"x y z"}},
		"all":             {mask: `mask contains "/input"`, erased: []string{"/input"}, gone: []string{"alice", "two words"}},
		"result":          {mask: `mask contains "/result"`, erased: []string{"/result"}, gone: []string{`"result"`}},
		"not there":       {mask: `mask contains "/input/arguments/nothing/here"`},
		"condition":       {mask: `mask contains "/input/arguments/email" if input.input.tool.name == "t"`, erased: []string{"/input/arguments/email"}, gone: []string{"alice"}},
		"other condition": {mask: `mask contains "/input/arguments/email" if input.input.tool.name == "u"`},
		"undefined":       {mask: `mask := ["/input"] if input.input.nothing`},
		"path prefix":     {mask: `mask contains p if p := concat("", ["/labels", input.code])`, dropped: true},
		"no slash":        {mask: `mask contains p if p := concat("", ["input", input.code])`, dropped: true},
		"op":              {mask: `mask contains {"op": o, "path": "/input"} if o := concat("", ["erase", input.code])`, dropped: true},
		"no op":           {mask: `mask contains o if o := object.remove({"op": "remove", "path": input.path}, ["op"])`, dropped: true},
		"number":          {mask: `mask contains n if n := count(input.code)`, dropped: true},
		"object":          {mask: `mask := o if o := {"/input": input.allowed}`, dropped: true},
		"error":           {mask: `mask contains "/input/x" if to_number(input.input.tool.name) > 1`, dropped: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			files := map[string]string{"t.rego": deny}
			if tt.mask != "" {
				files["mask.rego"] = "package system.log\n\nimport rego.v2\n\n" + tt.mask + "\n"
			}
			sink := &lineSink{}
			l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{sink}})
			require.NoError(t, err)
			g, err := policy.NewGate(policy.Options{Recorder: l})
			require.NoError(t, err)
			g.Use(mustLoad(t, files))
			d := g.Decide(t.Context(), policy.Call{Tool: g.Tool(policy.ToolSpec{Name: "t", NoSchema: true}), Arguments: []byte(arguments)})
			require.Equal(t, policy.Denied, d.Code(), "a mask changes no decision")
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.NoError(t, l.Close(ctx))
			text := sink.text.String()
			if tt.dropped {
				require.Empty(t, text)
				require.Equal(t, int64(1), l.Stats().Unmasked)
				return
			}
			var e decisionlog.Event
			require.NoError(t, json.Unmarshal([]byte(text), &e))
			require.Len(t, e.Bundles, 1)
			require.Contains(t, e.Bundles, "b", "each bundle by its name")
			require.ElementsMatch(t, tt.erased, e.Erased)
			require.ElementsMatch(t, tt.masked, e.Masked)
			for _, s := range tt.gone {
				require.NotContains(t, text, s, "also in the message that repeats it")
			}
			if len(tt.gone) == 0 {
				require.Contains(t, text, "no alice@example.com")
			}
		})
	}
}
