package incidents

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// shapes are calls of about a size, of the kinds that get large.
func shapes(size int) map[string]struct {
	tool string
	args any
} {
	text := strings.Repeat("Some ordinary text, with a comma; and more (like this). ", size/56+1)[:size]
	list := func(each int, f func(i int) any) []any {
		out := make([]any, 0, size/each+1)
		for i := 0; i*each < size; i++ {
			out = append(out, f(i))
		}
		return out
	}
	type call = struct {
		tool string
		args any
	}
	return map[string]call{
		"one text": {"write_file", map[string]any{"path": "src/app/main.py", "content": text}},
		"issue":    {"create_issue", map[string]any{"owner": "acme", "repo": "app", "title": "It's broken", "body": text, "labels": []any{"bug"}}},
		"entities": {"create_entities", map[string]any{"entities": list(110, func(i int) any {
			return map[string]any{"name": fmt.Sprint("Entity ", i), "entityType": "person", "observations": []any{"likes tea, and (a lot of) books", "knows the way"}}
		})}},
		"sql": {"query", map[string]any{"sql": "SELECT id, name FROM orders o JOIN customers c USING (customer_id) WHERE " +
			strings.Join(phrases(size, 46, "(o.status = 'open; it''s' AND c.n%d >= 10)"), " OR ") + " ORDER BY 1 LIMIT 50"}},
		"command": {"bash", map[string]any{"command": strings.Join(phrases(min(size, 8_000), 40, "git log --oneline -n %d -- src/a/b.go"), " && ")}},
		"rows":    {"update_cells", map[string]any{"range": "A1:J9", "values": list(40, func(i int) any { return []any{i, 2 * i, 3.5, "abc", "d e f", true, nil} })}},
		"paths":   {"read_multiple_files", map[string]any{"paths": list(34, func(i int) any { return fmt.Sprintf("src/module%d/sub/file_%d.py", i, i) })}},
		"urls":    {"fetch_all", map[string]any{"urls": list(44, func(i int) any { return fmt.Sprintf("https://www.example.com/item/%d?x=1", i) })}},
		"records": {"batch_upsert", map[string]any{"items": list(170, func(i int) any {
			return map[string]any{"id": fmt.Sprint("rec", i), "owner": "acme", "title": "A title, here", "status": "open", "url": "https://example.com/i", "path": "docs/f.md", "count": i}
		})}},
		"json text": {"invoke", map[string]any{"payload": "[" + strings.TrimSuffix(strings.Repeat(`{"id": 5, "name": "a b", "note": "it's, ok"},`, size/46+1), ",") + "]"}},
	}
}

// phrases are size/each phrases with a number in them.
func phrases(size, each int, format string) []string {
	var out []string
	for i := range size/each + 1 {
		out = append(out, fmt.Sprintf(format, i))
	}
	return out
}

// Large calls are decided within the step budget, and what is benign is allowed.
func TestLargeCallsAreDecided(t *testing.T) {
	g := starterGate(t, "")
	for _, size := range []int{1_000, 10_000, 100_000} {
		for name, c := range shapes(size) {
			args, err := json.Marshal(c.args)
			require.NoError(t, err)
			var times []time.Duration
			for range 3 {
				start := time.Now()
				d := decide(g, c.tool, args)
				times = append(times, time.Since(start))
				require.Truef(t, d.Allowed, "%s of %d bytes: %v %v", name, len(args), d.Refusals, d.Err)
			}
			slices.Sort(times)
			t.Logf("%-10s %7d bytes: %v", name, len(args), times[len(times)/2])
		}
	}
}

func BenchmarkStarter(b *testing.B) {
	g := starterGate(b, "")
	for _, size := range []int{1_000, 10_000, 100_000} {
		for name, c := range shapes(size) {
			args, err := json.Marshal(c.args)
			require.NoError(b, err)
			b.Run(fmt.Sprintf("%s/%dKB", strings.ReplaceAll(name, " ", "-"), size/1000), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if d := decide(g, c.tool, args); !d.Allowed {
						b.Fatal(d.Refusals, d.Err)
					}
				}
			})
		}
	}
}
