package test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/test/wire"
)

// smuggleFlags are those of a gate that lets the allowed tool run, but not with
// "/secret", and nothing else.
func smuggleFlags(t *testing.T, n wire.Names) []string {
	t.Helper()
	dir := writeBundle(t, map[string]string{
		".manifest": `{"revision":"smuggle","roots":["shared"],"metadata":{"regogate":{"common":[{"package":"shared.smuggle"}]}}}`,
		"smuggle.rego": `package shared.smuggle

deny contains "not that tool" if input.tool.name == "` + n.Secret + `"

deny contains "not that value" if {
	some value in input.arguments
	value == "/secret"
}
`,
		"../regogate.yaml": "http:\n  body_timeout: 500ms\n",
	})
	return []string{"--config", filepath.Join(filepath.Dir(dir), "regogate.yaml"), "--bundle", dir}
}

// openSession begins a session through a gate and returns its id.
func openSession(t *testing.T, endpoint string) string {
	t.Helper()
	post := func(session, message string) *http.Response {
		r, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(message))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
			r.Header.Set("Mcp-Protocol-Version", wire.Sessions.Version())
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		require.Equal(t, 2, res.StatusCode/100, "%s", body)
		return res
	}
	res := post("", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"wire","version":"1"}}}`)
	session := res.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	post(session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return session
}

// inexact is a case that no stdio server answers: they say another id, a rounded one.
const inexact = "id beyond 2^53"

// Every trick, over HTTP through regogate serve, in front of real servers: what is hidden
// never runs, and what is allowed still does.
func TestNothingIsSmuggledOverHTTP(t *testing.T) {
	e2eFolder(t)
	play := func(t *testing.T, upstream []string, e wire.Era, n wire.Names, saw func([][]byte) []wire.Run, skip ...string) {
		endpoint, err := url.Parse(served(t, smuggleFlags(t, n), upstream...))
		require.NoError(t, err)
		x := wire.Target{
			Addr: endpoint.Host, Path: endpoint.Path, Era: e, Names: n, Saw: saw, Skip: skip,
			GateID: func() string { return "" },
		}
		if e == wire.Sessions {
			x.Session = openSession(t, endpoint.String())
		}
		wire.Play(t, x)
	}
	for _, kind := range []string{goSDK, mcpGo} {
		for _, e := range []wire.Era{wire.Sessions, wire.Stateless} {
			t.Run(kind+", "+string(e), func(t *testing.T) {
				var log runLog
				play(t, []string{"--upstream", goServerHTTP(t, kind, e, log.add)}, e, wire.DefaultNames(), log.take)
			})
		}
		t.Run(kind+" on stdio, bridged", func(t *testing.T) {
			runs := filepath.Join(t.TempDir(), "runs")
			play(t, append([]string{"--"}, goServerStdio(t, kind, runs)...), wire.Sessions, wire.DefaultNames(), fileRuns(t, runs), inexact)
		})
	}
	t.Run("TypeScript", func(t *testing.T) {
		play(t, []string{"--upstream", everythingHTTP(t)}, wire.Sessions, everythingNames(), answered)
	})
	t.Run("TypeScript on stdio, bridged", func(t *testing.T) {
		// This SDK's line reader takes 10 MiB.
		play(t, append([]string{"--"}, npmServer(t, "mcp-server-everything", "stdio")...), wire.Sessions, everythingNames(), answered, inexact, "16 MiB less a little")
	})
}

// Every trick that makes sense on standard streams, through regogate run.
func TestNothingIsSmuggledOnStdio(t *testing.T) {
	e2eFolder(t)
	for _, kind := range []string{goSDK, mcpGo} {
		for _, e := range []wire.Era{wire.Sessions, wire.Stateless} {
			t.Run(kind+", "+string(e), func(t *testing.T) {
				runs := filepath.Join(t.TempDir(), "runs")
				playLines(t, goServerStdio(t, kind, runs), e, !testing.Short(), wire.DefaultNames(), fileRuns(t, runs))
			})
		}
	}
	t.Run("TypeScript", func(t *testing.T) {
		// This SDK's line reader takes 10 MiB.
		playLines(t, npmServer(t, "mcp-server-everything", "stdio"), wire.Sessions, false, everythingNames(), answered)
	})
}

// playLines plays the cases on one process, each followed by a call that has to run.
func playLines(t *testing.T, server []string, e wire.Era, large bool, n wire.Names, saw func([][]byte) []wire.Run) {
	cases, err := wire.Cases()
	require.NoError(t, err)
	client := startWire(t, gated(t, smuggleFlags(t, n), server), nil)
	if e == wire.Sessions {
		client.handshake(`{}`)
	}
	read := 0
	fresh := func() (lines [][]byte) {
		client.mu.Lock()
		defer client.mu.Unlock()
		for ; read < len(client.lines); read++ {
			lines = append(lines, []byte(client.lines[read]))
		}
		return lines
	}
	played := 0
	for _, c := range cases {
		if !c.On(false) || c.Era != "" && c.Era != e || c.Fake || strings.Contains(c.Body, "{{gate_id") || c.Large && !large {
			continue
		}
		played++
		_, body, err := c.Sent(n, e)
		require.NoError(t, err, c.Name)
		_, err = client.in.Write(append(body, '\n'))
		require.NoError(t, err, c.Name)
		control, err := json.Marshal("after " + c.Name)
		require.NoError(t, err)
		answer := client.request(string(control), `{"jsonrpc":"2.0","id":`+string(control)+`,"method":"tools/call","params":{"name":"`+n.Safe+`","arguments":`+n.SafeArguments+e.Meta()+`}}`)
		require.NotContains(t, answer, "isError\":true", "an ordinary call doesn't run after %s", c.Name)
		lines := fresh()
		ran := saw(lines)
		require.True(t, slices.ContainsFunc(ran, func(r wire.Run) bool { return r.Tool == n.Safe }), "%s: %s", c.Name, answer)
		for _, r := range ran {
			require.False(t, r.Hidden() || r.Tool == n.Secret, "%s: the hidden call ran: %v", c.Name, r)
		}
		for _, line := range lines {
			require.True(t, json.Valid(bytes.TrimSpace(line)), "%s: no JSON: %.300q", c.Name, line)
		}
	}
	t.Logf("%d of %d cases", played, len(cases))
	// A call may run after the answer to a later one.
	_, status := client.close()
	require.Zero(t, status)
	require.Empty(t, slices.DeleteFunc(saw(fresh()), func(r wire.Run) bool { return !r.Hidden() && r.Tool != n.Secret }))
	require.Greater(t, played, 100)
}
