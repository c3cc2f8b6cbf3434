package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A new revision that leaves a tool without rules, or gives it others, says so: the
// start-up report as it is then.
func TestToolsAreReportedAgainAfterASwap(t *testing.T) {
	const revision = `{"revision":"%","roots":["tools"]}`
	mail := "package tools.send_mail\n\nimport rego.v2\n\ndeny contains \"no\" if input.arguments.subject == \"no\"\n"
	dir := writeBundle(t, map[string]string{".manifest": strings.ReplaceAll(revision, "%", "r1"), "mail.rego": mail})
	log := filepath.Join(t.TempDir(), "log")
	command := gated(t, []string{"--bundle", dir}, []string{program(t), "try", "example-server"})
	c := startWire(t, append([]string{"sh", "-c", `exec "$@" 2>"$0"`, log}, command...), nil)
	c.handshake(`{}`)
	logged := func(texts ...string) {
		t.Helper()
		var all string
		require.Eventually(t, func() bool {
			raw, _ := os.ReadFile(log)
			all = string(raw)
			for line := range strings.Lines(all) {
				found := true
				for _, text := range texts {
					found = found && strings.Contains(line, text)
				}
				if found {
					return true
				}
			}
			return false
		}, time.Minute, 20*time.Millisecond, "%q is in no line", texts)
	}
	logged("msg=tool ", "tool=send_mail", "deny_rules=1")
	put := func(name, content string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name+".new"), []byte(content), 0o600))
		require.NoError(t, os.Rename(filepath.Join(dir, name+".new"), filepath.Join(dir, name)))
	}
	put("mail.rego", mail+"\ndeny contains \"longer\" if count(input.arguments.subject) > 100\n")
	logged("msg=tool ", "tool=send_mail", "deny_rules=2")
	put("mail.rego", strings.ReplaceAll(mail, "send_mail", "send_male"))
	logged("every call is refused", "tool=send_mail", "code=unmapped")
	raw, err := os.ReadFile(log)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(raw), "tool=read_file"), "of a tool for which nothing has changed nothing is said again")
	_, status := c.close()
	require.Zero(t, status)
}
