package bundles

import (
	"bytes"
	"testing"
)

// Whatever an archive holds, reading it ends with a bundle of plain paths within the
// limit, or with an error.
func FuzzArchive(f *testing.F) {
	whole := &payload{files: []file{
		{"/.manifest", []byte(`{"revision": "r", "roots": ["tools"], "metadata": {"regogate": {"sequence": 1}}}`)},
		{"/x.rego", []byte("package tools.x\n\nimport rego.v2\n\ndeny contains \"a\" if input.arguments.n > 3\n")},
		{"/data.json", []byte(`{}`)},
	}}
	raw, err := whole.archive()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw, false)
	f.Add(raw, true)
	f.Add(raw[:len(raw)/2], false)
	f.Fuzz(func(t *testing.T, raw []byte, signed bool) {
		const most = 1 << 16
		c := newCollector("fuzz", most)
		if c.fromArchive(bytes.NewReader(raw)) != nil {
			return
		}
		total := 0
		for _, f := range c.files {
			total += len(f.content)
			if f.path[0] != '/' || f.path == "/" {
				t.Fatalf("path %q", f.path)
			}
		}
		if total > most {
			t.Fatalf("%d bytes", total)
		}
		keys := keyring{}
		if signed {
			keys["k"] = signingKey{algorithm: hs256, texts: []string{"secret"}}
		}
		if err := c.payload(raw).judge(keys); err == nil && signed {
			t.Fatal("not signed, and accepted")
		}
	})
}

// Nothing that a file with signatures holds is a signature by a key that didn't make it.
func FuzzSignatures(f *testing.F) {
	f.Add([]byte(`{"signatures": ["e30.e30.e30"]}`))
	f.Add([]byte(`{"signatures": ["eyJhbGciOiJIUzI1NiIsImtpZCI6ImsifQ.eyJmaWxlcyI6W119.AAAA"], "plugin": "_default"}`))
	keys := keyring{"k": {algorithm: hs256, texts: []string{"a secret that the fuzzer doesn't know"}}}
	f.Fuzz(func(t *testing.T, signatures []byte) {
		p := &payload{label: "fuzz", files: []file{{signaturesFile, signatures}, {"/x.rego", []byte("package tools.x\n")}}}
		if id, err := keys.verify(p); err == nil {
			t.Fatalf("accepted as signed by %q", id)
		}
	})
}

// Every URL is told without what may be a secret in it.
func FuzzDisplay(f *testing.F) {
	f.Add("https://", "a.test/x", "s3cretword")
	f.Fuzz(func(t *testing.T, scheme, rest, secret string) {
		if len(secret) < 8 || bytes.ContainsAny([]byte(secret), ":/?#@") || bytes.Contains([]byte(scheme+rest), []byte(secret)) || bytes.ContainsAny([]byte(rest), "?#@") {
			return
		}
		for _, name := range []string{"https://" + rest + "?" + secret, "https://" + rest + "#" + secret, "https://me:" + secret + "@" + rest} {
			if got := display(name); bytes.Contains([]byte(got), []byte(secret)) {
				t.Fatalf("%q", got)
			}
		}
	})
}
