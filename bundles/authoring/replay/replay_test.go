package replay_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/bundles/authoring/replay"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const oldRules = `package tools.t

import rego.v2

deny contains {"msg": "outside", "rule": "paths"} if not startswith(input.arguments.path, "/srv/")

deny contains $"mode {input.arguments.mode}" if input.arguments.mode == "write"
`

// newRules widen (write is allowed), narrow (/srv/secret) and look at everything else.
const newRules = `package tools.t

import rego.v2

deny contains {"msg": "outside", "rule": "paths"} if not startswith(input.arguments.path, "/srv/")

deny contains {"msg": "secret", "rule": "secret"} if startswith(input.arguments.path, "/srv/secret")

deny contains "late" if time.parse_rfc3339_ns(input.call.time) > time.parse_rfc3339_ns("2100-01-01T00:00:00Z")

deny contains "mallory" if input.caller.subject == "mallory"
`

const schema = `{"type":"object","properties":{"path":{"type":"string"},"mode":{"type":"string","default":"read"},"password":{"type":"string"}},"required":["path"]}`

func side(t testing.TB, rego string, o policy.Options) replay.Side {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t.rego"), []byte(rego), 0o600))
	rs, err := bundles.Load(t.Context(), bundles.Options{Bundles: []string{dir}})
	require.NoError(t, err)
	g, err := policy.NewGate(o)
	require.NoError(t, err)
	g.Use(rs)
	return replay.Side{Gate: g, Tools: []policy.ToolSpec{{Name: "t", InputSchema: []byte(schema)}}}
}

// written decides calls by the old rules and returns the log about them.
func written(t testing.TB, o decisionlog.Options, calls ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "d.jsonl")
	f, err := decisionlog.NewFile(decisionlog.FileOptions{Path: path})
	require.NoError(t, err)
	o.Sinks = []decisionlog.Sink{f}
	l, err := decisionlog.New(o)
	require.NoError(t, err)
	s := side(t, oldRules, policy.Options{Recorder: l})
	tool := s.Gate.Tool(s.Tools[0])
	for _, c := range calls {
		ctx := policy.WithCaller(t.Context(), policy.Caller{Subject: strings.SplitN(c, " ", 2)[0]})
		s.Gate.Decide(ctx, policy.Call{Tool: tool, Arguments: []byte(strings.SplitN(c, " ", 2)[1])})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, l.Close(ctx))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

var someCalls = []string{
	`bob {"path":"/srv/a"}`, `bob {"path":"/etc/a"}`, `bob {"path":"/srv/a","mode":"write"}`, `bob {"path":"/srv/secret/a"}`, `bob {"path":"/srv/secret/b"}`,
	`mallory {"path":"/srv/a"}`, `bob {"path":"/srv/a","password":"hunter2"}`, `bob {"path":7}`, `bob {"path":`,
}

func TestRun(t *testing.T) {
	log := written(t, decisionlog.Options{}, someCalls...)
	r, err := replay.Run(t.Context(), strings.NewReader(log), replay.Options{New: side(t, newRules, policy.Options{})})
	require.NoError(t, err)
	require.Equal(t, int64(9), r.Records)
	require.Equal(t, int64(7), r.Replayed)
	require.Equal(t, int64(3), r.Unchanged)
	require.Equal(t, map[replay.Reason]int64{replay.Masked: 1, replay.WasMalformed: 1}, r.NotReplayable)
	require.True(t, r.Widens())
	var got []string
	for _, tr := range r.Transitions {
		got = append(got, fmt.Sprint(tr.From, ">", tr.To, " ", tr.Count, " ", tr.Tool, " ", tr.Code, " ", tr.Rule, " @", tr.Example.Line))
	}
	require.Equal(t, []string{"refuse>allow 1 t denied mode write @3", "allow>refuse 2 t denied secret @4", "allow>refuse 1 t denied mallory @6"}, got)
	require.Contains(t, r.Transitions[0].Example.Arguments, `"mode":"write"`)
	// Against the rules that wrote the log nothing changes, and comparing rules is the same.
	r, err = replay.Run(t.Context(), strings.NewReader(log), replay.Options{New: side(t, oldRules, policy.Options{})})
	require.NoError(t, err)
	require.Empty(t, r.Transitions)
	old := side(t, oldRules, policy.Options{})
	r, err = replay.Run(t.Context(), strings.NewReader(log), replay.Options{New: side(t, newRules, policy.Options{}), Old: &old})
	require.NoError(t, err)
	require.Equal(t, int64(1), r.RefuseToAllow)
	require.Equal(t, int64(3), r.AllowToRefuse)
}

// Every way of leaving arguments out is counted, and full ones are all decided again.
func TestRecordedArguments(t *testing.T) {
	for how, want := range map[decisionlog.Arguments]map[replay.Reason]int64{
		decisionlog.Full:   {},
		decisionlog.Digest: {replay.NotRecorded: 8, replay.WasMalformed: 1},
		decisionlog.None:   {replay.NotRecorded: 8, replay.WasMalformed: 1},
	} {
		log := written(t, decisionlog.Options{Arguments: how}, someCalls...)
		r, err := replay.Run(t.Context(), strings.NewReader(log), replay.Options{New: side(t, oldRules, policy.Options{})})
		require.NoError(t, err)
		require.Equal(t, want, r.NotReplayable)
		require.Equal(t, r.Records, r.Replayed+r.NotReplayable[replay.NotRecorded]+r.NotReplayable[replay.WasMalformed])
		require.Equal(t, r.Replayed, r.Unchanged)
	}
}

// OPA's own records, in every shape of result, one a line or as an uploaded array.
func TestOPA(t *testing.T) {
	record := func(path, arguments, result string) string {
		return `{"decision_id":"x","path":"` + path + `","input":{"arguments":` + arguments + `},"result":` + result + `,"timestamp":"2026-01-01T00:00:00Z","labels":{}}`
	}
	records := []string{
		record("tools/t/deny", `{"path":"/srv/a"}`, `[]`),
		record("tools/t/deny", `{"path":"/srv/a"}`, `["why"]`),
		record("tools/t", `{"path":"/etc/a"}`, `{"deny":[],"helper":1}`),
		record("tools/t", `{"path":"/etc/a"}`, `{"deny":[{"msg":"m","rule":"r"}]}`),
		record("tools/t", `{"path":"/srv/a"}`, `{"allow":false}`),
		record("/tools/t/deny", `{"path":"/srv/a"}`, `true`),
	}
	late := strings.Replace(record("tools/t/deny", `{"path":"/srv/a"}`, `[]`), "2026", "2101", 1)
	unknown := []string{record("tools/t", `{"path":"/srv/a"}`, `{"x":1}`), `{"decision_id":"x","path":"tools/t","input":{"arguments":{}}}`}
	all := append(append(records, late), unknown...)
	for name, log := range map[string]string{"lines": strings.Join(all, "\n"), "array": "[" + strings.Join(all, ",\n"[:1]) + "]"} {
		r, err := replay.Run(t.Context(), strings.NewReader(log), replay.Options{New: side(t, newRules, policy.Options{})})
		require.NoError(t, err, name)
		require.Equal(t, int64(9), r.Records, name)
		require.Equal(t, int64(2), r.RefuseToAllow, name)
		require.Equal(t, int64(2), r.AllowToRefuse, name)
		require.Equal(t, int64(3), r.Unchanged, name)
		require.Equal(t, map[replay.Reason]int64{replay.NoVerdict: 2}, r.NotReplayable, name)
		require.Zero(t, r.Broken)
	}
}

func TestBrokenLines(t *testing.T) {
	good := strings.TrimSpace(written(t, decisionlog.Options{}, someCalls[0]))
	log := strings.Join([]string{good, "", "not JSON", `{"decision_id":`, `{"level":"info"}`, `{"decision_id":7}`, `{"decision_id":"x"}`, good[:len(good)-1], `[` + good + `,`, `7`, "\x00\xff", good}, "\n")
	r, err := replay.Run(t.Context(), strings.NewReader(log), replay.Options{New: side(t, oldRules, policy.Options{})})
	require.NoError(t, err)
	require.Equal(t, int64(3), r.Records)
	require.Equal(t, int64(9), r.Broken)
	var at []int
	for _, b := range r.BrokenLines {
		at = append(at, b.Line)
	}
	require.Equal(t, []int{3, 4, 5, 6, 7, 8, 9, 10, 11}, at)
}

func TestGzipAndLongLines(t *testing.T) {
	long := `bob {"path":"/srv/` + strings.Repeat("x", 900_000) + `"}`
	log := written(t, decisionlog.Options{}, long, someCalls[0])
	padded := strings.Replace(log, `"labels":`, `"x":"`+strings.Repeat("y", 9_000_000)+`","labels":`, 1)
	var b bytes.Buffer
	zw := gzip.NewWriter(&b)
	_, err := io.WriteString(zw, padded)
	require.NoError(t, err)
	require.NoError(t, zw.Close())
	whole := b.Bytes()
	r, err := replay.Run(t.Context(), bytes.NewReader(whole), replay.Options{New: side(t, oldRules, policy.Options{})})
	require.NoError(t, err)
	require.Equal(t, int64(2), r.Unchanged)
	_, err = replay.Run(t.Context(), bytes.NewReader(whole[:len(whole)-20]), replay.Options{New: side(t, oldRules, policy.Options{})})
	require.Error(t, err, "a log that is cut off is no whole log")
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := replay.Run(ctx, strings.NewReader(written(t, decisionlog.Options{}, someCalls...)), replay.Options{New: side(t, oldRules, policy.Options{})})
	require.ErrorIs(t, err, context.Canceled)
}

// generated is a log of n records, made as it is read.
type generated struct {
	n, at    int
	template string
	rest     []byte
}

func (g *generated) Read(p []byte) (int, error) {
	for len(g.rest) < len(p) && g.at < g.n {
		g.at++
		g.rest = append(g.rest, strings.NewReplacer("@ID@", strconv.Itoa(g.at), "@DIR@", []string{"srv", "etc", "srv/secret", "tmp"}[g.at%4]).Replace(g.template)...)
	}
	if len(g.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// One pass, flat memory. REGOGATE_REPLAY_RECORDS, 1000000 say, makes it long.
func TestManyRecords(t *testing.T) {
	n := 20_000
	if s := os.Getenv("REGOGATE_REPLAY_RECORDS"); s != "" {
		var err error
		n, err = strconv.Atoi(s)
		require.NoError(t, err)
	}
	template := written(t, decisionlog.Options{}, `bob {"path":"/@DIR@/report-@ID@.txt","mode":"read"}`)
	var most uint64
	var last time.Time
	began := time.Now()
	r, err := replay.Run(t.Context(), &generated{n: n, template: template}, replay.Options{New: side(t, newRules, policy.Options{}), Progress: func(int64) {
		if time.Since(last) > time.Second {
			last = time.Now()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, m.HeapInuse)
		}
	}})
	require.NoError(t, err)
	took := time.Since(began)
	t.Logf("%d records in %v: %.0f/s, heap in use at most %d MB", n, took, float64(n)/took.Seconds(), most>>20)
	require.Equal(t, int64(n), r.Records)
	require.Equal(t, int64(n), r.Replayed)
	require.Less(t, most, uint64(256<<20))
	require.LessOrEqual(t, len(r.Transitions), 4)
}

// FuzzParse reads any line: it is a record or broken, and never ends the process.
func FuzzParse(f *testing.F) {
	for _, l := range strings.Split(written(f, decisionlog.Options{}, someCalls...), "\n") {
		f.Add([]byte(l))
	}
	f.Add([]byte(`[{"decision_id":"x","path":"tools/t/deny","result":[],"input":{"arguments":{}},"defaults":["/a/b"]}]`))
	s := side(f, newRules, policy.Options{})
	f.Fuzz(func(t *testing.T, log []byte) {
		r, err := replay.Run(context.Background(), bytes.NewReader(log), replay.Options{New: s})
		if err == nil {
			skipped := int64(0)
			for _, n := range r.NotReplayable {
				skipped += n
			}
			require.Equal(t, r.Records, r.Replayed+skipped)
			require.Equal(t, r.Replayed, r.Unchanged+r.RefuseToAllow+r.AllowToRefuse)
		}
		_, err = json.Marshal(r)
		require.NoError(t, err)
	})
}
