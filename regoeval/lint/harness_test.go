package lint_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/regoeval/lint"
)

// source makes a bundle of files the way a bundle is read from an archive.
func source(t testing.TB, files map[string]string) (regoeval.Source, error) {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: "/" + name, Mode: 0o600, Size: int64(len(files[name])), Typeflag: tar.TypeReg}))
		_, err := tw.Write([]byte(files[name]))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	b, err := bundle.NewCustomReader(bundle.NewTarballLoaderWithBaseURL(&buf, "")).
		WithProcessAnnotations(true).WithRegoVersion(ast.RegoV1).Read()
	if err != nil {
		return regoeval.Source{}, regoeval.ParseError("b", err)
	}
	return regoeval.Source{Bundles: []regoeval.NamedBundle{{Name: "b", Bundle: b}}}, nil
}

// verify looks at a bundle of files for the tools of one list.
func verify(t testing.TB, files map[string]string, tools ...*policy.Tool) lint.Report {
	t.Helper()
	s, err := source(t, files)
	var broken *regoeval.LoadError
	if errors.As(err, &broken) {
		return lint.Broken(broken.Findings)
	}
	require.NoError(t, err)
	r, err := lint.Verify(context.Background(), s, lint.Options{Tools: tools})
	require.NoError(t, err)
	return r
}

// tools makes the tools of a tools/list result.
func tools(t testing.TB, server, list string) []*policy.Tool {
	t.Helper()
	specs, err := policy.ReadTools(server, []byte(list))
	require.NoError(t, err)
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	var out []*policy.Tool
	for _, s := range specs {
		out = append(out, g.Tool(s))
	}
	return out
}

// written lists findings as a person reads them.
func written(fs []lint.Finding) string {
	var lines []string
	for _, f := range fs {
		lines = append(lines, f.String())
	}
	return strings.Join(lines, "\n")
}
