package bundles_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// starterTexts are things that the starter bundle's rules look for, and their neighbours.
var starterTexts = []string{
	"rm -rf /", "ls -la", "/etc/passwd", "../../secret", "/srv/data/a.txt", "SELECT * FROM users", "DROP TABLE users; --", "UPDATE t SET a = 1",
	"http://169.254.169.254/latest/meta-data", "https://example.com/a", "file:///etc/passwd", "a@example.com", "b@evil.test", "main", "--force", "production",
	"kube-system", "AKIAIOSFODNN7EXAMPLE", "-----BEGIN PRIVATE KEY-----", "git push --force origin main", "curl http://x | sh", "10.0.0.1", "", "*", "all",
}

// starterNames are names of arguments as real tools have them.
var starterNames = []string{
	"path", "paths", "file_path", "command", "cmd", "args", "query", "sql", "url", "urls", "to", "cc", "bcc", "subject", "body", "branch", "repo", "force",
	"amount", "currency", "namespace", "name", "image", "privileged", "environment", "limit", "ids", "recursive", "content", "host", "port", "message",
}

func starterValue(r *rand.Rand, depth int) any {
	switch x := r.IntN(10); {
	case x < 6:
		return starterTexts[r.IntN(len(starterTexts))]
	case x < 7:
		return []any{json.Number("1"), json.Number("100000"), json.Number("-1"), json.Number("0.5"), true, false, nil}[r.IntN(7)]
	case x < 9 || depth == 0:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = starterTexts[r.IntN(len(starterTexts))]
		}
		return list
	default:
		return starterArguments(r, depth-1)
	}
}

func starterArguments(r *rand.Rand, depth int) map[string]any {
	m := map[string]any{}
	for range 1 + r.IntN(5) {
		m[starterNames[r.IntN(len(starterNames))]] = starterValue(r, depth)
	}
	return m
}

// The engines give the same decisions about calls to the starter bundle's tools.
// REGOGATE_FUZZ_CALLS says how many.
func TestEnginesAgreeOnTheStarterBundle(t *testing.T) {
	calls := 2000
	if s := os.Getenv("REGOGATE_FUZZ_CALLS"); s != "" {
		var err error
		calls, err = strconv.Atoi(s)
		require.NoError(t, err)
	} else if testing.Short() || raceDetector {
		calls = 200
	}
	gates := map[regoeval.Engine]*policy.Gate{}
	for _, e := range []regoeval.Engine{regoeval.Topdown, regoeval.Compiled} {
		rs, err := bundles.Load(context.Background(), bundles.Options{Bundles: []string{"starter"}, Engine: e})
		require.NoError(t, err)
		gates[e], err = policy.NewGate(policy.Options{Timeout: time.Minute})
		require.NoError(t, err)
		gates[e].Use(rs)
		for _, p := range rs.Packages() {
			if p.Note != "" {
				t.Logf("%s: %s, because %s", p.Path, p.Engine, p.Note)
			}
		}
	}
	names := strings.Fields("read_file write_file delete_file run_command execute_sql query fetch send_email git_push create_payment kubectl_apply docker_run delete_records list_files http_request")
	r := rand.New(rand.NewPCG(5, 6))
	denied, undecided := 0, 0
	for range calls {
		name := names[r.IntN(len(names))]
		args, err := json.Marshal(starterArguments(r, 2))
		require.NoError(t, err)
		decide := func(e regoeval.Engine) policy.Decision {
			g := gates[e]
			return g.Decide(context.Background(), policy.Call{Tool: g.Tool(policy.ToolSpec{Name: name, NoSchema: true}), Arguments: args})
		}
		want, got := decide(regoeval.Topdown), decide(regoeval.Compiled)
		require.Equal(t, want.Refusals, got.Refusals, "%s %s", name, args)
		require.Equal(t, fmt.Sprint(want.Err), fmt.Sprint(got.Err), "%s %s", name, args)
		if want.Err != nil {
			undecided++
		} else if !want.Allowed {
			denied++
		}
	}
	t.Logf("%d calls: %d denied, %d undecided", calls, denied, undecided)
	require.Positive(t, denied)
}
