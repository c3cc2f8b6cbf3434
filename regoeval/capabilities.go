package regoeval

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/version"
)

// neverAvailable are built-ins that no bundle gets beside the non-deterministic
// ones: schema matching fetches references and dies on recursive ones, and a shift
// by 2,000,000,000 ran for longer than 20 s under a deadline of 100 ms.
var neverAvailable = []string{"json.match_schema", "json.verify_schema", "bits.lsh", "http.send", "opa.runtime"}

// onRequest are the decoders: what they cost depends on the argument that they are
// given (a string of 1 MB: 3.7 s and 4.2 GB), so a bundle has to ask for each by
// name in metadata.regogate.builtins.
var onRequest = []string{
	"json.unmarshal", "json.is_valid", "yaml.unmarshal", "yaml.is_valid",
	"io.jwt.decode", "io.jwt.verify_*",
	"crypto.x509.parse_*", "crypto.parse_private_keys",
	"yaml.marshal",          // of an object with 90,000 members: 59 s, 1 GB
	"graph.reachable_paths", // of 60 vertices with two edges each: more paths than can be counted
	"product",               // of 47,000 numbers of 20 digits: more than 8 s, 8.8 GB
	"graphql.*", "rego.parse_module", "regex.globs_match", "strings.render_template",
}

// capabilities returns what bundles may use: OPA's own capabilities less what is
// never available, and of the decoders only those requested.
func capabilities(requested []string) (*ast.Capabilities, error) {
	c := ast.CapabilitiesForThisVersion()
	c.AllowNet = []string{} // nil would allow every host
	for _, name := range requested {
		b, ok := ast.BuiltinMap[name]
		switch {
		case !ok:
			return nil, fmt.Errorf("%q is not a built-in of OPA %s", name, version.Version)
		case unavailable(b):
			return nil, fmt.Errorf("%q is not available to bundles: its answer depends on more than its arguments, or its cost has no bound", name)
		}
	}
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool {
		return unavailable(b) || matchesAny(b.Name, onRequest) && !slices.Contains(requested, b.Name)
	})
	return c, nil
}

func unavailable(b *ast.Builtin) bool {
	return b.IsNondeterministic() || slices.Contains(neverAvailable, b.Name)
}

func matchesAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		prefix, wild := strings.CutSuffix(p, "*")
		return name == p || wild && strings.HasPrefix(name, prefix)
	})
}

func builtinRequest(name string) string {
	return fmt.Sprintf("if its cost on large arguments is acceptable, ask for it: \"metadata\": {\"regogate\": {\"builtins\": [%q]}} in .manifest", name)
}

// builtinFix says what to do about a built-in that is not there.
func builtinFix(name string) string {
	switch {
	case name == "time.now_ns":
		return "use time.parse_rfc3339_ns(input.call.time)"
	case matchesAny(name, onRequest):
		return builtinRequest(name)
	default:
		return "it is not available to bundles; decide on the arguments, data and input.caller alone"
	}
}
