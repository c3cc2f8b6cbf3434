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

// onRequest are built-ins of which an operand of 1 MB takes more than a second or more
// than 256 MB, inside of one step, where no deadline stops it. A bundle has to ask for
// each by name in metadata.regogate.builtins. The figures were measured on two cores;
// TestHostileOperands measures the built-ins that are left.
var onRequest = []string{
	"json.unmarshal", "json.is_valid", "yaml.unmarshal", "yaml.is_valid", // 1 MB of nested text: 3.7 s, 4.2 GB
	"io.jwt.decode", "io.jwt.verify_*", // decoders as well
	"crypto.x509.parse_*", "crypto.parse_private_keys", // decoders as well
	"graphql.*",                 // graphql.parse_query of 1 MB: 6.7 s, 2.1 GB; graphql.parse: minutes
	"rego.parse_module",         // a parser as well
	"regex.globs_match",         // of two texts: more than 4 s
	"strings.render_template",   // of 1 MB: minutes
	"json.patch",                // 20,000 additions to a list of 330,000: 78 s
	"net.cidr_contains_matches", // 50,000 networks with 50,000: minutes
	"yaml.marshal",              // an object with 90,000 members: 59 s, 1 GB
	"graph.reachable_paths",     // 60 vertices with two edges each: more paths than can be counted
	"product",                   // 47,000 numbers of 20 digits: 8 s, 8.8 GB
}

// capabilities returns what bundles may use: OPA's own capabilities less what is
// never available, and of those on request only the requested.
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
