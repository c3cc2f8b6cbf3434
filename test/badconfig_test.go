package test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/config"
)

// wrongSettings are configurations in which one thing is wrong that can be known before
// the first call; each with the key that has to be named. DIR has the files of
// wrongFiles.
var wrongSettings = []struct{ key, yaml string }{
	{"bundle", `bundle: "https://me:hunter2@a.invalid/b"`},
	{"bundle", `bundle: "ftp://a.invalid/b"`},
	{"bundles.keys[0].file", `bundles: {keys: [{id: a, file: DIR/nowhere}]}`},
	{"bundles.keys[0].file", `bundles: {keys: [{id: a, file: DIR/text}]}`},
	{"bundles.keys[0].file", `bundles: {keys: [{id: a, file: DIR/empty}]}`},
	{"bundles.keys[0].file", `bundles: {keys: [{id: a, file: DIR}]}`},
	{"bundles.keys[0].env", `bundles: {keys: [{id: a, env: REGOGATE_NO_SUCH_VARIABLE}]}`},
	{"bundles.keys[0].algorithm", `bundles: {keys: [{id: a, file: DIR/text, algorithm: none}]}`},
	{"bundles.keys[0]", `bundles: {keys: [{file: DIR/text}]}`},
	{"bundles.unsigned_settings", `bundles: {unsigned_settings: yes please}`},
	{"bundles.self_test", `bundles: {self_test: "on"}`},
	{"bundles.state", `bundles: {state: DIR/text}`},
	{"bundles.state", `bundles: {state: DIR/open}`},
	{"bundles.state", `bundles: {state: /proc/nowhere}`},
	{"bundles.max_age", `bundles: {max_age: 5}`},
	{"bundles.max_age", `bundles: {max_age: -1h}`},
	{"bundles.poll.interval", `bundles: {poll: {interval: 0s}}`},
	{"bundles.poll.backoff", `bundles: {poll: {backoff: soon}}`},
	{"bundles.poll.hold", `bundles: {poll: {hold: 2h}}`},
	{"bundles.poll.timeout", `bundles: {poll: {timeout: true}}`},
	{"bundles.status_url", `bundles: {status_url: nowhere}`},
	{"bundles.status_url", `bundles: {status_url: "https://me:hunter2@a.invalid"}`},
	{"services[0].url", `services: [{url: "http://a.invalid", token_file: DIR/text}]`},
	{"services[0].token_file", `services: [{url: "https://a.invalid", token_file: DIR/nowhere}]`},
	{"services[0].token_env", `services: [{url: "https://a.invalid", token_env: REGOGATE_NO_SUCH_VARIABLE}]`},
	{"services[0].ca_file", `services: [{url: "https://a.invalid", ca_file: DIR/text}]`},
	{"services[0].cert_file", `services: [{url: "https://a.invalid", cert_file: DIR/text, key_file: DIR/text}]`},
	{"services[0].key_file", `services: [{url: "https://a.invalid", cert_file: DIR/text, key_file: DIR/nowhere}]`},
	{"services[0].oauth2_token_url", `services: [{url: "https://a.invalid", oauth2_token_url: "http://t.invalid", oauth2_client_id: a, oauth2_secret_file: DIR/text}]`},
	{"services[0].oauth2_secret_file", `services: [{url: "https://a.invalid", oauth2_token_url: "https://t.invalid", oauth2_client_id: a}]`},
	{"services[0].oauth2_secret_env", `services: [{url: "https://a.invalid", oauth2_token_url: "https://t.invalid", oauth2_client_id: a, oauth2_secret_env: REGOGATE_NO_SUCH_VARIABLE}]`},
	{"services[0].opa_file", `services: [{url: "https://a.invalid", opa_file: DIR/text}]`},
	{"shadow.until", `shadow: {until: tomorrow}`},
	{"decision_log.file", `decision_log: {file: DIR/nowhere/decisions}`},
	{"decision_log.file", `decision_log: {file: DIR}`},
	{"decision_log.stderr", `decision_log: {stderr: 1}`},
	{"decision_log.url", `decision_log: {url: "collector:8080"}`},
	{"decision_log.url", `decision_log: {url: "https://me:hunter2@a.invalid"}`},
	{"decision_log.url", `decision_log: {url: "http://a.invalid", token_file: DIR/text}`},
	{"decision_log.token_file", `decision_log: {url: "https://a.invalid", token_file: DIR/nowhere}`},
	{"decision_log.token_file", `decision_log: {url: "https://a.invalid", token_file: DIR/empty}`},
	{"decision_log.token_file", `decision_log: {file: DIR/d, token_file: DIR/text}`},
	{"decision_log.ca_file", `decision_log: {url: "https://a.invalid", ca_file: DIR/text}`},
	{"decision_log.ca_file", `decision_log: {url: "https://a.invalid", ca_file: DIR/nowhere}`},
	{"decision_log.arguments", `decision_log: {file: DIR/d, arguments: everything}`},
	{"decision_log.key_file", `decision_log: {file: DIR/d, key_file: DIR/nowhere}`},
	{"decision_log.key_file", `decision_log: {file: DIR/d, key_file: DIR/empty}`},
	{"decision_log.key_file", `decision_log: {file: DIR/d, key_file: DIR/text}`},
	{"decision_log.required", `decision_log: {required: true}`},
	{"decision_log.labels[0]", `decision_log: {file: DIR/d, labels: [{name: a}]}`},
	{"decision_log.max_bytes", `decision_log: {file: DIR/d, max_bytes: -1}`},
	{"decision_log.keep", `decision_log: {file: DIR/d, keep: 0}`},
	{"decision_log.queue_bytes", `decision_log: {file: DIR/d, queue_bytes: much}`},
	{"decision_log.buffer_bytes", `decision_log: {file: DIR/d, buffer_bytes: 0}`},
	{"telemetry.otlp.url", `telemetry: {otlp: {url: "grpc://a.invalid:4317"}}`},
	{"telemetry.otlp.url", `telemetry: {otlp: {url: "https://me:hunter2@a.invalid"}}`},
	{"telemetry.otlp.token_file", `telemetry: {otlp: {url: "https://a.invalid", token_file: DIR/nowhere}}`},
	{"telemetry.otlp.token_file", `telemetry: {otlp: {token_file: DIR/text}}`},
	{"telemetry.otlp.ca_file", `telemetry: {otlp: {url: "https://a.invalid", ca_file: DIR/text}}`},
	{"telemetry.otlp.ca_file", `telemetry: {otlp: {ca_file: DIR/text}}`},
	{"telemetry.otlp.sample", `telemetry: {otlp: {url: "https://a.invalid", sample: 0}}`},
	{"admin.listen", `admin: {listen: nowhere}`},
	{"admin.listen", `admin: {listen: "192.0.2.1:0"}`},
	{"admin.listen", `admin: {listen: "0.0.0.0:0"}`},
	{"admin.listen", `admin: {listen: "127.0.0.1:99999"}`},
	{"admin.access", `admin: {access: all}`},
	{"tls.cert_file", `tls: {cert_file: DIR/nowhere, key_file: DIR/text}`},
	{"tls.cert_file", `tls: {cert_file: DIR/text, key_file: DIR/text}`},
	{"tls.cert_file", `tls: {cert_file: DIR/text}`},
	{"tls.key_file", `tls: {key_file: DIR/text}`},
	{"tls.client_ca_file", `tls: {client_ca_file: DIR/text}`},
}

func wrongFiles(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "text"), []byte("hunter2\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "open"), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(dir, "open"), 0o777))
	return dir
}

// A key file, a URL, a certificate or a sink that is wrong is refused at the start, with
// the line and the key, and nothing is served.
func TestWhatIsWrongIsToldAtTheStart(t *testing.T) {
	dir := wrongFiles(t)
	named := map[string]bool{}
	for _, tt := range wrongSettings {
		key := strings.NewReplacer("[0]", "[]").Replace(tt.key)
		named[key] = true
		t.Run(tt.key, func(t *testing.T) {
			t.Parallel()
			text := strings.ReplaceAll(tt.yaml, "DIR", dir) + "\n"
			if !strings.HasPrefix(text, "bundle:") {
				text += "bundle: starter\n"
			}
			file := filepath.Join(t.TempDir(), "gate.yaml")
			require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
			marker := filepath.Join(t.TempDir(), "started")
			for _, command := range []string{"run", "serve"} {
				if command == "run" && strings.HasPrefix(tt.key, "tls.") {
					continue // which run doesn't speak
				}
				arguments := []string{command, "--config", file, "--", "touch", marker}
				if command == "serve" {
					arguments = []string{command, "--listen", "127.0.0.1:0", "--config", file, "--", "touch", marker}
				}
				cmd := exec.Command(program(t), arguments...)
				var out bytes.Buffer
				cmd.Stdout, cmd.Stderr = &out, &out
				require.NoError(t, cmd.Start())
				late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
				err := cmd.Wait()
				require.True(t, late.Stop(), "%s: it goes on", command)
				var exit *exec.ExitError
				require.True(t, errors.As(err, &exit), "%s: %s", command, out.String())
				require.Equal(t, 2, exit.ExitCode(), "%s: %s", command, out.String())
				require.Contains(t, out.String(), file+":1: "+tt.key, command)
				require.NotContains(t, out.String(), "hunter2")
				require.NoFileExists(t, marker)
			}
		})
	}
	for _, k := range config.Keys() {
		section, _, _ := strings.Cut(k.Name, ".")
		switch section {
		case "bundles", "decision_log", "telemetry", "admin", "tls":
			found := named[k.Name]
			for name := range named {
				found = found || strings.HasPrefix(name, k.Name+"[]")
			}
			require.True(t, found, "%s can be wrong, and is in no row", k.Name)
		}
	}
}
