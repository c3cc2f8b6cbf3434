package incidents

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"os"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

func BenchmarkScratch(b *testing.B) {
	src, _ := os.ReadFile("/tmp/starter/c.rego")
	for _, body := range []string{"true", "m[input.arguments.k]", "input.arguments.k in s", "count({input.arguments.k} & s) > 0", "ms := m; ms[input.arguments.k]", "regex.match(`^a`, input.arguments.k)",
	"contains(input.arguments.k, `zz`)", "some x in [1,2,3,4,5,6,7,8,9,10]; x > 20", "f(input.arguments.k)","count({x | some x in [1,2,3,4,5,6,7,8,9,10]; x > 20})==3",
	"count({x | some x in [1,2,3,4,5,6,7,8,9,10]; f(x)})==3"} {
		b.Run(body, func(b *testing.B) {
			mod := string(src) + "\nf(x) := 1 if { x == 3 }\ndeny contains \"x\" if { " + body + " }\n"
			var buf bytes.Buffer
			zw := gzip.NewWriter(&buf)
			tw := tar.NewWriter(zw)
			for n, c := range map[string]string{"/c.rego": mod, "/.manifest": `{"roots":["c"],"metadata":{"regogate":{"common":[{"package":"c"}]}}}`} {
				tw.WriteHeader(&tar.Header{Name: n, Mode: 0o600, Size: int64(len(c)), Typeflag: tar.TypeReg})
				tw.Write([]byte(c))
			}
			tw.Close()
			zw.Close()
			bu, err := bundle.NewCustomReader(bundle.NewTarballLoaderWithBaseURL(&buf, "")).WithBaseDir("b").WithRegoVersion(ast.RegoV1).Read()
			if err != nil {
				b.Fatal(err)
			}
			rs, err := regoeval.New(context.Background(), regoeval.Source{Bundles: []regoeval.NamedBundle{{Name: "b", Bundle: bu}}}, regoeval.Options{})
			if err != nil {
				b.Fatal(err)
			}
			g, _ := policy.NewGate(policy.Options{})
			g.Use(rs)
			tool := g.Tool(policy.ToolSpec{Name: "x", NoSchema: true})
			for b.Loop() {
				g.Decide(context.Background(), policy.Call{Tool: tool, Arguments: []byte(`{"k":"k7"}`)})
			}
		})
	}
}
