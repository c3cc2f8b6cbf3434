package decisionlog_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
)

// Arguments of 1 MB that are made to keep the masking busy: a log that takes long drops
// records, which is what somebody with something to hide would want.
func TestHostileArguments(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("-short, or the race detector: skipping 1 MB of arguments made to keep masking busy")
	}
	long := func(s string) string { return `{"a":"` + strings.Repeat(s, 1_000_000/len(s)) + `"}` }
	many := func(s string) string { return `{"a":[` + strings.Repeat(s+",", 900_000/(len(s)+1)) + `1]}` }
	for name, arguments := range map[string]string{
		"assignments": long("password=x "), "tags": long("<a>"), "closing": long(">"), "equals": long("="), "colons": long("a: "),
		"percent": long("a%3D"), "braces": long("token=["), "quotes": long(`password=\"`), "backslashes": long(`token=\\`), "flags": long("--token "), "dashes": long("-"),
		"nested": `{"a":"` + strings.Repeat(`[`, 300_000) + `"}`, "jwt": long("eyJhbGciO."), "pem": long("-----BEGIN PRIVATE KEY-----"),
		"urls": long("a://b@"), "mysql": long("mysql -p"), "bearer": long("bearer "), "prose": long("password is "), "ids": many(`{"password":"x"}`),
		"strings": many(`"password=abcdefgh"`), "small": many(`"abcd"`), "different": many(`{"token":"a","b":"c"}`), "keys": "{" + strings.Repeat(`"a":1,`, 1) + `"b":` + many(`{"password_of_somebody_else":1}`) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, _, stats := recorded(t, decisionlog.Options{}, rules{}, t.Context(), open, policy.Call{Arguments: []byte(arguments)})
			t.Log(time.Since(began))
			require.Zero(t, stats.Unmasked)
			require.Less(t, time.Since(began), 20*time.Second)
		})
	}
}

func BenchmarkRecord(b *testing.B) {
	sink := &memory{}
	l, err := decisionlog.New(decisionlog.Options{Sinks: []decisionlog.Sink{sink}, Required: true, BufferBytes: 1 << 40})
	require.NoError(b, err)
	g, err := policy.NewGate(policy.Options{Recorder: l})
	require.NoError(b, err)
	g.Use(rules{})
	call := policy.Call{Tool: g.Tool(open), Arguments: []byte(`{"path":"/srv/data/report.txt","mode":"read","to":["alice@example.com","bob@example.com"],"subject":"Minutes","body":"Dear all, this is what we said on Monday at 10:30.","n":17}`)}
	b.ReportAllocs()
	for b.Loop() {
		g.Decide(b.Context(), call)
	}
	require.NoError(b, l.Close(b.Context()))
}
