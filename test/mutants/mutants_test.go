package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	runEnv  = "REGOGATE_MUTANTS"
	onlyEnv = "REGOGATE_MUTANTS_ONLY"
	top     = "../.."
)

// mutated returns the mutant's file with the mistake in it.
func (m mutant) mutated(t *testing.T) []byte {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(top, m.file))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), m.find), "%s: the text to be replaced must be there exactly once:\n%s", m.file, m.find)
	require.NotEqual(t, m.find, m.replace)
	text := strings.Replace(string(source), m.find, m.replace, 1)
	_, err = parser.ParseFile(token.NewFileSet(), m.file, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	return []byte(text)
}

// Every mutant still applies, and names a test that there is.
func TestTheTableFitsTheCode(t *testing.T) {
	require.GreaterOrEqual(t, len(table), 30)
	seen := map[string]bool{}
	for _, m := range table {
		t.Run(m.name, func(t *testing.T) {
			require.False(t, seen[m.name], "two mutants have this name")
			seen[m.name] = true
			m.mutated(t)
			files, err := filepath.Glob(filepath.Join(top, m.pkg, "*_test.go"))
			require.NoError(t, err)
			found := false
			for _, file := range files {
				text, err := os.ReadFile(file)
				require.NoError(t, err)
				found = found || strings.Contains(string(text), "func "+m.test+"(t *testing.T)")
			}
			require.True(t, found, "%s has no test %s", m.pkg, m.test)
		})
	}
}

func TestEveryMutantIsKilled(t *testing.T) {
	if os.Getenv(runEnv) == "" {
		t.Skip(runEnv + " is not set: skipping the mutants")
	}
	only, err := regexp.Compile(os.Getenv(onlyEnv))
	require.NoError(t, err)
	sound := map[string]bool{}
	killed := 0
	for _, m := range table {
		if !only.MatchString(m.name) {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			if what := m.pkg + " " + m.test; !sound[what] { // a test that fails by itself kills nothing
				outcome, out := run(t, m)
				require.Equal(t, passed, outcome, "without a mutant: %s", out)
				sound[what] = true
			}
			overlay := m.overlay(t)
			outcome, out := run(t, m, "-overlay", overlay)
			require.NotEqual(t, unusable, outcome, "the mutant doesn't compile, or its test didn't run:\n%s", out)
			require.Equal(t, failed, outcome, "SURVIVED: %s of %s does not notice", m.test, m.pkg)
			killed++
		})
	}
	t.Logf("%d mutants killed", killed)
}

// overlay writes the mutant and what tells the compiler of it.
func (m mutant) overlay(t *testing.T) string {
	t.Helper()
	original, err := filepath.Abs(filepath.Join(top, m.file))
	require.NoError(t, err)
	dir := t.TempDir()
	mutated := filepath.Join(dir, "mutant.go")
	require.NoError(t, os.WriteFile(mutated, m.mutated(t), 0o600))
	text, err := json.Marshal(map[string]map[string]string{"Replace": {original: mutated}})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return path
}

type outcome string

const (
	passed   outcome = "passed"
	failed   outcome = "failed"
	unusable outcome = "unusable"
)

// run runs the mutant's test.
func run(t *testing.T, m mutant, flags ...string) (outcome, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	args := append([]string{"test", "-vet=off", "-count=1", "-v", "-timeout", "2m", "-run", "^" + m.test + "$"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, m.pkg)...)
	cmd.Dir = top
	cmd.Env = append(os.Environ(), runEnv+"=")
	raw, err := cmd.CombinedOutput()
	out := string(raw)
	var exit *exec.ExitError
	switch {
	case !strings.Contains(out, "=== RUN   "+m.test+"\n"):
		return unusable, out
	case err == nil:
		return passed, out
	case errors.As(err, &exit) && ctx.Err() == nil:
		return failed, out // by itself, by a panic or by its own timeout
	default:
		return unusable, out
	}
}
