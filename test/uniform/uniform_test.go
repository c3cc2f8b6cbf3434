package uniform

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

// wire is what the caller of a tool is told.
type wire struct {
	ran  bool // the answer is the handler's
	code policy.Code
	text string
}

// A source is one way in which tools are called.
type source struct {
	name  string
	start func(t *testing.T, f *fixture) func(t *testing.T, r row) wire
	// cannot says why a row can't be carried by this source, "" when it can.
	cannot func(r row) string
	// exact says that the handler gets the bytes, and not only the value.
	exact bool
	// foreign says that the answer to a refused row is not the gate's to write.
	foreign func(r row) bool
}

func TestEverySourceDecidesTheSame(t *testing.T) {
	rows := table()
	require.GreaterOrEqual(t, len(rows), 200)
	codes := map[policy.Code]int{}
	for _, kind := range []string{"", "none"} {
		f := newFixture(t, kind)
		for _, r := range rows {
			if r.gate == kind {
				d := f.reference(r)
				require.Equal(t, r.code, d.Code(), "%s: %s", r, d.Text())
				codes[r.code]++
			}
		}
	}
	for _, code := range []policy.Code{"", policy.NotReady, policy.Malformed, policy.UnknownTool, policy.SchemaUnusable, policy.SchemaViolation, policy.Unmapped, policy.Denied, policy.Undecided} {
		require.NotZero(t, codes[code], "no row is refused as %q", code)
	}
	t.Logf("%d calls, by code: %v", len(rows), codes)
	for _, s := range sources {
		t.Run(s.name, func(t *testing.T) {
			left := map[string]int{}
			asked := 0
			for _, kind := range []string{"", "none"} {
				f := newFixture(t, kind)
				call := s.start(t, f)
				f.take()
				for _, r := range rows {
					if r.gate != kind {
						continue
					}
					if why := s.cannot(r); why != "" {
						left[why]++
						continue
					}
					asked++
					s.same(t, f, r, call)
				}
			}
			t.Logf("%d calls the same; not carried: %v", asked, left)
			require.GreaterOrEqual(t, asked, 200)
			require.LessOrEqual(t, len(rows)-asked, 60, "a source may not excuse itself from more than no message can carry")
		})
	}
}

// same makes one call and compares what came of it to what the gate says by itself.
func (s source) same(t *testing.T, f *fixture, r row, call func(*testing.T, row) wire) {
	t.Helper()
	want := f.reference(r)
	w := call(t, r)
	decided, got := f.take()
	require.Len(t, decided, 1, "%s: decided exactly once", r)
	require.Equal(t, want.Allowed, decided[0].Allowed, "%s: %s (%v)", r, decided[0].Text(), decided[0].Err)
	require.Equal(t, want.Code(), decided[0].Code(), "%s", r)
	require.Equal(t, want.Text(), decided[0].Text(), "%s", r)
	require.Equal(t, want.Refusals, decided[0].Refusals, "%s", r)
	require.Equal(t, want.Allowed, w.ran, "%s: %q", r, w.text)
	if !want.Allowed {
		require.Empty(t, got, "%s: the handler must not run", r)
		if s.foreign == nil || !s.foreign(r) {
			require.Equal(t, want.Code(), w.code, "%s", r)
			require.Equal(t, want.Text(), w.text, "%s", r)
		}
		return
	}
	require.Len(t, got, 1, "%s: the handler runs once", r)
	switch {
	case r.arguments == "" || r.arguments == "null":
		require.Contains(t, []string{"", "null", "{}"}, got[0], "%s", r)
	case s.exact:
		// White space around a value belongs to the message.
		require.Equal(t, strings.TrimSpace(r.arguments), strings.TrimSpace(got[0]), "%s", r)
	default:
		require.Equal(t, value(t, r.arguments), value(t, got[0]), "%s", r)
	}
}

func value(t *testing.T, text string) (v any) {
	t.Helper()
	d := json.NewDecoder(reader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v), text)
	return v
}
