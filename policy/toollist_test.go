package policy_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
)

func TestReadTools(t *testing.T) {
	tests := []struct {
		name, in string
		names    []string
		broken   []bool
		err      string
	}{
		{"result", `{"tools":[{"name":"a","inputSchema":{}},{"name":"b"}],"nextCursor":"x","_meta":{}}`, []string{"a", "b"}, []bool{false, false}, ""},
		{"bare array", ` [{"name":"a"}] `, []string{"a"}, []bool{false}, ""},
		{"empty", `{"tools":[]}`, nil, nil, ""},
		{"declared twice", `[{"name":"a","inputSchema":{}},{"name":"a"},{"name":"b"}]`, []string{"a", "b"}, []bool{true, false}, ""},
		{"member twice", `[{"name":"a","inputSchema":{},"inputSchema":{"type":"object"}},{"name":"b"}]`, []string{"a", "b"}, []bool{true, false}, ""},
		{"member twice deep inside is that tool's own matter", `[{"name":"a","inputSchema":{"type":"object","type":"array"}}]`, []string{"a"}, []bool{false}, ""},
		{"exact names only", `[{"Name":"a"},{"name":"b","InputSchema":{}}]`, []string{"b"}, []bool{false}, "/tools/0: name"},
		{"no name", `[{"inputSchema":{}},{"name":"b"}]`, []string{"b"}, []bool{false}, "/tools/0: name"},
		{"empty name", `[{"name":""}]`, nil, nil, "/tools/0: name"},
		{"name of another type", `[{"name":7}]`, nil, nil, "/tools/0: name"},
		{"not an object", `[7]`, nil, nil, "/tools/0"},
		{"title of another type", `[{"name":"a","title":7}]`, []string{"a"}, []bool{true}, ""},
		{"tools is an object", `{"tools":{}}`, nil, nil, "not an array"},
		{"no tools", `{"result":{}}`, nil, nil, `no member "tools"`},
		{"tools twice", `{"tools":[],"tools":[{"name":"a"}]}`, nil, nil, "given twice"},
		{"nothing", ``, nil, nil, "neither"},
		{"a string", `"tools"`, nil, nil, "neither"},
		{"cut short", `{"tools":[{"name":"a"}`, nil, nil, "tools"},
		{"something after it", `{"tools":[]} {}`, nil, nil, "after"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			specs, err := policy.ReadTools("srv", []byte(tt.in))
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.err)
			}
			require.Len(t, specs, len(tt.names))
			for i, s := range specs {
				require.Equal(t, tt.names[i], s.Name)
				require.Equal(t, "srv", s.Server)
				require.Equal(t, tt.broken[i], s.Broken != nil, "%v", s.Broken)
			}
		})
	}
}

func TestBrokenToolRefusesOnlyItsOwnCalls(t *testing.T) {
	g := newGate(t, policy.Options{}, covered(&counting{}))
	specs, err := policy.ReadTools("", []byte(`[{"name":"a","inputSchema":{}},{"name":"a","inputSchema":{}},{"name":"b","inputSchema":{}},{"name":"c","inputSchema":{"$ref":"http://x.test/s"}}]`))
	require.NoError(t, err)
	require.Len(t, specs, 3)
	codes := map[string]policy.Code{"a": policy.SchemaUnusable, "b": "", "c": policy.SchemaUnusable}
	for _, s := range specs {
		require.Equal(t, codes[s.Name], g.Decide(t.Context(), call(g.Tool(s), `{}`)).Code(), s.Name)
	}
}

func TestDigestIsOfTheCanonicalForm(t *testing.T) {
	var g policy.Gate
	a := g.Tool(policy.ToolSpec{Name: "t", InputSchema: []byte(`{"type":"object","properties":{"a":{"maximum":1.0}}}`)})
	b := g.Tool(policy.ToolSpec{Name: "t", Title: "other", InputSchema: []byte(` {"properties":{"a":{"maximum":1}}, "type":"object"}`)})
	c := g.Tool(policy.ToolSpec{Name: "t", InputSchema: []byte(`{"type":"object","properties":{"a":{"maximum":2}}}`)})
	d := g.Tool(policy.ToolSpec{Name: "u", InputSchema: []byte(`{"type":"object","properties":{"a":{"maximum":1}}}`)})
	require.Regexp(t, `^sha256:[0-9a-f]{64}$`, a.Digest())
	require.Equal(t, a.Digest(), b.Digest())
	require.NotEqual(t, a.Digest(), c.Digest())
	require.NotEqual(t, a.Digest(), d.Digest())
}
