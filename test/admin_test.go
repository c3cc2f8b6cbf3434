package test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const planted = "hunter2-PLANTED-s3cr3t"

// mailPolicy has a rule whose message repeats an argument.
func mailPolicy(t *testing.T) string {
	t.Helper()
	return writeBundle(t, map[string]string{
		".manifest": `{"revision":"mail-7","roots":["tools"],"rego_version":1}`,
		"mail.rego": "package tools.send_mail\n\nimport rego.v2\n\ndeny contains $\"{input.arguments.subject} is no subject\" if contains(input.arguments.subject, \"hunter2\")\n",
	})
}

func call(id, tool, arguments string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + arguments + `}}`
}

// planting are calls with the secret as a value, as a name and as a tool; one is allowed,
// one denied, one malformed, and one of a tool that there isn't.
var planting = map[string]string{
	"11": call("11", "send_mail", `{"to":["a@corp.example"],"subject":"fine"}`),
	"12": call("12", "send_mail", `{"to":["a@corp.example"],"subject":"`+planted+`"}`),
	"13": call("13", "send_mail", `{"to":["a@corp.example"],"`+planted+`":1,"`+planted+`":2}`),
	"14": call("14", planted, `{"x":"`+planted+`"}`),
}

// fetch reads a path of an admin listener; status 0 when it can't be reached.
func fetch(address, path string) (status int, body string) {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	b, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(b)
}

// eventually waits for a path to answer with a status.
func eventually(t *testing.T, address, path string, want int) string {
	t.Helper()
	var status int
	var body string
	require.Eventually(t, func() bool {
		status, body = fetch(address, path)
		return status == want
	}, time.Minute, 20*time.Millisecond, "GET %s", path)
	return body
}

// observed checks what an operator sees after the calls of planting.
func observed(t *testing.T, admin string) {
	t.Helper()
	require.Equal(t, "ready\n", eventually(t, admin, "/readyz", http.StatusOK))
	require.Equal(t, "ok\n", eventually(t, admin, "/healthz", http.StatusOK))
	metrics := eventually(t, admin, "/metrics", http.StatusOK)
	require.Regexp(t, `regogate_decisions_total\{code="allowed",effective="forwarded",[^}]*tool="send_mail"\} 1\n`, metrics)
	require.Regexp(t, `regogate_decisions_total\{code="denied",effective="refused",[^}]*tool="send_mail"\} 1\n`, metrics)
	require.Regexp(t, `regogate_policy_ready 1\n`, metrics)
	require.Regexp(t, `regogate_bundle_info\{revision="mail-7"\} 1\n`, metrics)
	require.Regexp(t, `regogate_bundle_activations_total 1\n`, metrics)
	require.Regexp(t, `regogate_bundle_age_seconds `, metrics)
	status := eventually(t, admin, "/status", http.StatusOK)
	for _, all := range []string{metrics, status} {
		require.NotContains(t, all, "hunter2")
		require.NotContains(t, all, "PLANTED")
	}
	text, err := exec.Command(program(t), "status", "--admin", "http://"+admin).CombinedOutput()
	require.NoError(t, err, "%s", text)
	require.Regexp(t, `(?m)^ready +yes$`, string(text))
	require.Regexp(t, `(?m)^policy +revision mail-7: 1 packages, 1 deny rules`, string(text))
	require.Regexp(t, `(?m)^decisions +1 allowed, [23] refused, 0 forwarded`, string(text))
	require.Regexp(t, `(?m)^tool +send_mail: 1 deny rules`, string(text))
	require.NotContains(t, string(text), "hunter2")
	asJSON, err := exec.Command(program(t), "status", "--format", "json", "--admin", admin).Output()
	require.NoError(t, err)
	var got struct {
		Ready     bool
		Problems  []string
		Policy    struct{ Revision string }
		Decisions struct{ Allowed, Refused int }
		Sources   struct{ Activations int }
	}
	require.NoError(t, json.Unmarshal(asJSON, &got))
	require.True(t, got.Ready)
	require.Empty(t, got.Problems)
	require.Equal(t, "mail-7", got.Policy.Revision)
	require.Equal(t, 1, got.Decisions.Allowed)
	require.Equal(t, 1, got.Sources.Activations)
}

func TestAdminOfRun(t *testing.T) {
	admin := freeAddress(t)
	c := startWire(t, gated(t, []string{"--bundle", mailPolicy(t), "--admin", admin}, []string{program(t), "try", "example-server"}), nil)
	c.handshake(`{}`)
	for id, line := range planting {
		require.NotEmpty(t, c.request(id, line))
	}
	observed(t, admin)
	_, status := c.close()
	require.Zero(t, status)
	out, err := exec.Command(program(t), "status", "--admin", admin).CombinedOutput()
	var exit *exec.ExitError
	require.True(t, errors.As(err, &exit), "the listener ends with the gate")
	require.Equal(t, 2, exit.ExitCode(), "%s", out)
}

// post sends one message to an endpoint.
func post(endpoint, session, body string) (*http.Response, error) {
	r, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set("Mcp-Session-Id", session)
		r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	}
	response, err := (&http.Client{Timeout: time.Minute, Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		return nil, err
	}
	all, err := io.ReadAll(response.Body)
	response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(all))
	return response, err
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`

func TestAdminOfServe(t *testing.T) {
	admin := freeAddress(t)
	endpoint, stop := serving(t, "--bundle", mailPolicy(t), "--admin", admin, "--", program(t), "try", "example-server")
	response, err := post(endpoint, "", initialize)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode)
	session := response.Header.Get("Mcp-Session-Id")
	require.NotEmpty(t, session)
	_, err = post(endpoint, session, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	require.NoError(t, err)
	for _, line := range planting {
		_, err = post(endpoint, session, line)
		require.NoError(t, err)
	}
	observed(t, admin)
	status := eventually(t, admin, "/status", http.StatusOK)
	require.Contains(t, status, `"url": "`+endpoint+`"`)
	stop()
}

// While requests are let finish, no new ones should be sent: the gate isn't ready.
func TestDrainingIsNotReady(t *testing.T) {
	reached, release := make(chan struct{}), make(chan struct{})
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(reached)
		<-release
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`)
	}))
	defer upstream.Close()
	admin := freeAddress(t)
	endpoint, stop := serving(t, "--bundle", mailPolicy(t), "--admin", admin, "--upstream", upstream.URL)
	eventually(t, admin, "/readyz", http.StatusOK)
	answered := make(chan error, 1)
	go func() {
		_, err := post(endpoint, "", initialize)
		answered <- err
	}()
	<-reached
	seen := make(chan string, 1)
	go func() {
		defer close(release)
		for end := time.Now().Add(15 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			if status, body := fetch(admin, "/readyz"); status == http.StatusServiceUnavailable {
				seen <- body
				return
			}
		}
		seen <- "never 503"
	}()
	stop()
	require.Contains(t, <-seen, "shutting down")
	require.NoError(t, <-answered)
}
