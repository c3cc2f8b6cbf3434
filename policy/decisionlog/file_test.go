package decisionlog_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/decisionlog"
)

func write(t *testing.T, f *decisionlog.File, lines ...string) {
	t.Helper()
	for _, l := range lines {
		n, err := f.Write(t.Context(), [][]byte{[]byte(l + "\n")})
		require.NoError(t, err)
		require.Equal(t, 1, n)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.jsonl")
	f, err := decisionlog.NewFile(decisionlog.FileOptions{Path: path, MaxBytes: 10, Keep: 2})
	require.NoError(t, err)
	write(t, f, "aaaa", "bbbb", "cccc", "dddd", "a line that is longer than the file may be", "eeee", "ffff", "gggg")
	require.NoError(t, f.Close())
	require.Equal(t, "gggg\n", content(t, path))
	require.Equal(t, "eeee\nffff\n", content(t, path+".1"))
	require.Equal(t, "a line that is longer than the file may be\n", content(t, path+".2"))
	require.NoFileExists(t, path+".3")
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// A file is appended to, and a line that a crash cut off doesn't spoil the next one.
func TestFileAppends(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("one\ntw"), 0o600))
	f, err := decisionlog.NewFile(decisionlog.FileOptions{Path: path})
	require.NoError(t, err)
	write(t, f, "three", "four")
	require.NoError(t, f.Close())
	require.Equal(t, "one\ntw\nthree\nfour\n", content(t, path))
}

// What can't be rotated goes on in the same file, and is said.
func TestFileThatCannotBeRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "d.jsonl")
	f, err := decisionlog.NewFile(decisionlog.FileOptions{Path: path, MaxBytes: 10, Keep: 1})
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(path+".1", "x"), 0o700))
	write(t, f, "aaaaaaaa")
	n, err := f.Write(t.Context(), [][]byte{[]byte("bbbbbbbb\n")})
	require.Equal(t, 1, n)
	require.ErrorContains(t, err, "can't be rotated")
	write(t, f, "cccccccc")
	require.NoError(t, f.Close())
	require.Equal(t, "aaaaaaaa\nbbbbbbbb\ncccccccc\n", content(t, path))
}

func TestFileThatCannotBeOpened(t *testing.T) {
	for _, path := range []string{"", t.TempDir(), filepath.Join(t.TempDir(), "nowhere", "d.jsonl")} {
		_, err := decisionlog.NewFile(decisionlog.FileOptions{Path: path})
		require.ErrorContains(t, err, "decision_log.file")
	}
}

// A device isn't rotated.
func TestFileThatIsADevice(t *testing.T) {
	f, err := decisionlog.NewFile(decisionlog.FileOptions{Path: os.DevNull, MaxBytes: 4})
	require.NoError(t, err)
	write(t, f, strings.Repeat("x", 10), "y")
	require.NoError(t, f.Close())
}
