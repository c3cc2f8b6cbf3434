package bundles_test

import (
	"bufio"
	"context"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// childEnv tells the test binary that it is the one that is to be killed, and what to
// follow: the URL and the state, with a space between.
const childEnv = "REGOGATE_TEST_CHILD"

// generation is a bundle whose rules know which data belongs to them.
func generation(n int) map[string]string {
	padding := make([]byte, 30_000)
	for i := range padding {
		padding[i] = byte(rand.Uint32())
	}
	return map[string]string{
		".manifest": fmt.Sprintf(`{"revision": "g%d", "roots": ["tools", "settings"], "metadata": {"regogate": {"sequence": %d}}}`, n, n),
		"x.rego": fmt.Sprintf("package tools.x\n\nimport rego.v2\n\ndeny contains \"whole %d\" if data.settings.generation == %d\n\n"+
			"deny contains \"mixed\" if data.settings.generation != %d\n", n, n, n),
		"data.json":   fmt.Sprintf(`{"settings": {"generation": %d}}`, n),
		"padding.txt": base64.StdEncoding.EncodeToString(padding),
	}
}

// whole says which generation decided, and an error when it was not one alone.
func whole(d policy.Decision) (int, error) {
	if len(d.Refusals) != 1 {
		return 0, fmt.Errorf("%d refusals", len(d.Refusals))
	}
	n, ok := strings.CutPrefix(d.Refusals[0].Message, "whole ")
	if !ok || "g"+n != d.Revision {
		return 0, fmt.Errorf("revision %s says %q", d.Revision, d.Refusals[0].Message)
	}
	return strconv.Atoi(n)
}

func childOptions(url, state string) bundles.WatchOptions {
	return bundles.WatchOptions{State: state, Options: bundles.Options{Bundles: []string{url},
		Poll: bundles.Poll{Interval: time.Millisecond, Backoff: time.Millisecond}}}
}

// runChild follows bundles and says which generation is in force, until it is killed.
func runChild(arguments string) {
	url, state, _ := strings.Cut(arguments, " ")
	o := childOptions(url, state)
	o.Use = func(rs *regoeval.Ruleset) {
		if rs != nil {
			fmt.Println(rs.Revision())
		}
	}
	w, err := bundles.NewWatcher(o)
	if err == nil {
		err = w.Start(context.Background())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	w.Run(context.Background())
}

// Whenever a process is killed, the next one begins with one whole revision, and never
// with an older one than was in force.
func TestKilledAtAnyMoment(t *testing.T) {
	kills := 200
	if raceDetector || testing.Short() {
		kills = 20
	}
	server := serveBundles(t)
	var next atomic.Int64
	up := func(w http.ResponseWriter, r *http.Request) {
		n := next.Add(1)
		w.Header().Set("ETag", fmt.Sprintf(`"%d"`, n))
		_, _ = w.Write(pack(t, generation(int(n))))
	}
	down := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	state, known, activations := stateDir(t), 0, 0
	for range kills {
		server.with(up)
		last, seen := killed(t, server.bundle()+" "+state, time.Duration(rand.Int64N(int64(120*time.Millisecond))))
		activations += seen
		known = max(known, last)
		server.with(down)
		w := prepare(t, childOptions(server.bundle(), state))
		require.NoError(t, w.Start(t.Context()))
		d := w.decide(t, 1)
		if known == 0 && d.Code() == policy.NotReady {
			continue // killed before anything was kept
		}
		n, err := whole(d)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, known, "older than what was in force")
		require.Empty(t, w.Status().StateError)
		known = n
	}
	t.Logf("%d kills, %d activations in between, generation %d at the end", kills, activations, known)
	require.Greater(t, activations, kills/2)
}

// killed starts a child and kills it some time after it had its first ruleset. It
// returns the last generation that was in force, and how many were.
func killed(t *testing.T, arguments string, after time.Duration) (last, seen int) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self)
	child.Env = append(os.Environ(), childEnv+"="+arguments)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	var timer *time.Timer
	give := time.AfterFunc(20*time.Second, func() { _ = child.Process.Kill() })
	defer give.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if timer == nil {
			timer = time.AfterFunc(after, func() { _ = child.Process.Kill() })
			defer timer.Stop()
		}
		n, err := strconv.Atoi(strings.TrimPrefix(lines.Text(), "g"))
		require.NoError(t, err, lines.Text())
		last, seen = n, seen+1
	}
	_ = child.Wait()
	require.NotNil(t, timer, "the child had no ruleset")
	return last, seen
}
