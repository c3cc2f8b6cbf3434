package regoeval_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// load builds a ruleset of files, by path below the bundle's root.
func load(t testing.TB, files map[string]string) (*regoeval.Ruleset, error) {
	t.Helper()
	return loadWith(t, files, regoeval.Source{}, regoeval.Options{})
}

func loadWith(t testing.TB, files map[string]string, s regoeval.Source, o regoeval.Options) (*regoeval.Ruleset, error) {
	t.Helper()
	b, err := read(t, files)
	if err != nil {
		return nil, err
	}
	s.Bundles = append(s.Bundles, regoeval.NamedBundle{Name: "b", Bundle: b})
	return regoeval.New(context.Background(), s, o)
}

// read makes a bundle of files the way a bundle is read from an archive.
func read(t testing.TB, files map[string]string) (bundle.Bundle, error) {
	t.Helper()
	var buf bytes.Buffer
	zw := gzip.NewWriter(&buf)
	tw := tar.NewWriter(zw)
	for name, content := range files {
		require.NoError(t, tw.WriteHeader(&tar.Header{Name: "/" + name, Mode: 0o600, Size: int64(len(content)), Typeflag: tar.TypeReg}))
		_, err := tw.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, tw.Close())
	require.NoError(t, zw.Close())
	b, err := bundle.NewCustomReader(bundle.NewTarballLoaderWithBaseURL(&buf, "")).
		WithBaseDir("b").WithProcessAnnotations(true).WithRegoVersion(ast.RegoV1).Read()
	if err != nil {
		return b, regoeval.ParseError("b", err)
	}
	return b, nil
}

// mustLoad is load for bundles that keep the contract.
func mustLoad(t testing.TB, files map[string]string) *regoeval.Ruleset {
	t.Helper()
	rs, err := load(t, files)
	require.NoError(t, err)
	return rs
}

// decide asks a gate with rs in force about one call to a tool without a schema.
func decide(t testing.TB, rs policy.Ruleset, tool, arguments string) policy.Decision {
	t.Helper()
	return decideSchema(t, rs, tool, "", arguments)
}

func decideSchema(t testing.TB, rs policy.Ruleset, tool, schema, arguments string) policy.Decision {
	t.Helper()
	g, err := policy.NewGate(policy.Options{})
	require.NoError(t, err)
	g.Use(rs)
	spec := policy.ToolSpec{Name: tool, InputSchema: []byte(schema), NoSchema: schema == ""}
	return g.Decide(context.Background(), policy.Call{Tool: g.Tool(spec), Arguments: []byte(arguments)})
}

// has reports whether one of the findings in err has an id.
func has(err error, id string) bool {
	var e *regoeval.LoadError
	return errors.As(err, &e) && slices.ContainsFunc(e.Findings, func(f regoeval.Finding) bool { return f.ID == id })
}
