package config

import (
	"math"
	"slices"
	"time"
)

// A Type says what the value of a key looks like.
type Type int

const (
	Text     Type = iota // a string
	Choice               // one of Key.Values
	File                 // a path; in a configuration file, relative to that file
	Bundles              // one or more of: path, URL, "starter"
	TextList             // a list of strings
	Objects              // a list of objects with Key.Fields
	Bool                 // true or false; what it switches is on by default
	Flag                 // true or false; what it switches is off by default
	Count                // a positive whole number
	Bytes                // a positive number of bytes, or a string with a unit: B, KiB, MiB, GiB
	Duration             // a string with a unit: 500ms, 1s, 2m
)

var typeNames = [...]string{"string", "choice", "file", "bundles", "list of strings", "list of objects", "true or false", "true or false", "count", "bytes", "duration"}

func (t Type) String() string { return typeNames[t] }

// A Key is one key of the configuration.
type Key struct {
	Name     string
	Type     Type
	Default  any      // string, bool, int64 (Count, Bytes) or time.Duration; nil for none
	Values   []string // of a Choice
	Fields   []Key    // of Objects
	Required bool     // of a field
	Max      int64    // of Count, Bytes and Duration (ns); 0 when only the type bounds it
	Effect   string   // what it does
	Off      string   // what setting it turns off or weakens; "" when nothing
}

// Keys returns the table of all keys.
func Keys() []Key {
	return slices.Concat(
		sourceKeys(), bundleKeys(), toolKeys(), schemaKeys(), limitKeys(), callerKeys(), proxyKeys(), decisionLogKeys(),
		servingKeys(), upstreamKeys(), identityKeys(), adminKeys(), telemetryKeys(),
	)
}

func sourceKeys() []Key {
	return []Key{
		{Name: "bundle", Type: Bundles, Effect: "The policy: a directory, a .tar.gz, an http(s) URL or the word starter; several are merged"},
		{Name: "settings", Type: File, Effect: "A JSON object laid over data.settings; its digest is part of the revision"},
		{Name: "mode", Type: Choice, Values: []string{"enforce", "shadow"}, Default: "enforce",
			Effect: "What happens to a call that the rules refuse",
			Off:    "shadow forwards, and records, what would have been schema_violation, unmapped, denied or undecided"},
		{Name: "engine", Type: Choice, Values: []string{"topdown", "compiled", "both"}, Default: "topdown",
			Effect: "What evaluates the rules: OPA's evaluator; its plan compiled to Go closures, where both say the same while loading; or both, and a call on which they differ is undecided"},
		{Name: "engine_sample", Type: Count, Default: int64(1), Max: 1_000_000,
			Effect: "With both: of how many calls one is evaluated by both; the compiled engine decides the others"},
		{Name: "server.name", Type: Text, Effect: "What the gate calls the server: input.tool.server, and server in rules.map"},
	}
}

func toolKeys() []Key {
	return []Key{
		{Name: "tools.file", Type: File, Effect: "A tools/list result for check; run learns the tools from the server itself"},
		{Name: "tools.unmapped", Type: Choice, Values: []string{"refuse", "allow"}, Default: "refuse",
			Effect: "What happens to a call of a tool that no package and no Go validator covers",
			Off:    "allow: such a tool is checked against its schema only"},
		{Name: "tools.own_package", Type: Choice, Values: []string{"optional", "require"}, Default: "optional",
			Effect: "require also refuses a tool that only common packages cover"},
		{Name: "tools.pins", Type: Choice, Values: []string{"off", "warn", "enforce"}, Default: "enforce",
			Effect: "What happens to a call of a tool that isn't as the bundle pins it; a server of which the bundle pins nothing isn't held to pins",
			Off:    "off and warn let a tool be called that has changed since its rules were written, or appeared since"},
		{Name: "rules.common", Type: TextList, Effect: "Packages that are asked for every tool, beside those that the bundle names"},
		{Name: "rules.map", Type: Objects, Effect: "Packages that are asked for some tools, beside those that the bundle names",
			Fields: []Key{
				{Name: "server", Type: Text, Effect: "The server's name, or a glob; left out: every server"},
				{Name: "tool", Type: Text, Required: true, Effect: "The tool's name, or a glob"},
				{Name: "package", Type: Text, Required: true, Effect: "The package's path"},
			}},
	}
}

func schemaKeys() []Key {
	return []Key{
		{Name: "schema.enforce", Type: Bool, Default: true,
			Effect: "Check arguments against the tool's input schema",
			Off:    "false turns off schema_violation and schema_unusable; the rules still run"},
		{Name: "schema.formats", Type: Choice, Values: []string{"assert", "annotate"}, Default: "assert",
			Effect: "What format says: a constraint, or a hint",
			Off:    "annotate: a value that is not of the schema's format passes"},
		{Name: "schema.undeclared", Type: Choice, Values: []string{"follow", "refuse"}, Default: "follow",
			Effect: "Arguments that the schema doesn't declare: what the schema says, or refused also where its top level is open"},
		{Name: "schema.optional_null", Type: Choice, Values: []string{"refuse", "absent"}, Default: "refuse",
			Effect: "null for an optional argument whose schema has no null",
			Off:    "absent: such a null is taken as if the argument were not there"},
		{Name: "schema.defaults", Type: Choice, Values: []string{"view", "ignore"}, Default: "view",
			Effect: "Whether the rules see the schema's defaults for arguments that are not given; the bytes stay as they came",
			Off:    "ignore: the rules don't see what a server fills in after the gate"},
		{Name: "schema.second_opinion", Type: Choice, Values: []string{"none", "qri"}, Default: "none",
			Effect: "qri asks a second schema engine, which can only refuse more"},
	}
}

func limitKeys() []Key {
	const weaker = "higher lets more through before refusing"
	return []Key{
		{Name: "limits.argument_bytes", Type: Bytes, Default: int64(1 << 20), Max: 1 << 30, Effect: "Size of a call's arguments", Off: weaker},
		{Name: "limits.depth", Type: Count, Default: int64(64), Max: 1000, Effect: "Nesting of arguments and of schemas", Off: weaker},
		{Name: "limits.number_length", Type: Count, Default: int64(64), Max: 4096, Effect: "Characters of a number literal", Off: weaker},
		{Name: "limits.schema_steps", Type: Count, Default: int64(50_000), Effect: "Steps of one check against a schema", Off: weaker},
		{Name: "limits.evaluation_steps", Type: Count, Default: int64(200_000), Effect: "Steps of one evaluation of the rules", Off: weaker},
		{Name: "limits.timeout", Type: Duration, Default: time.Second, Max: int64(10 * time.Minute), Effect: "Wall time of the rules of one decision, a backstop behind the steps", Off: weaker},
		{Name: "limits.refusals", Type: Count, Default: int64(50), Max: 10_000, Effect: "Refusals in one answer"},
		{Name: "limits.message_bytes", Type: Bytes, Default: int64(2048), Max: 1 << 20, Effect: "Length of one refusal's message"},
		{Name: "limits.abandoned", Type: Count, Default: int64(64), Max: 100_000, Effect: "Go validators that outlived their deadline and still run, before calls that need one are undecided", Off: weaker},
		{Name: "limits.bundle_bytes", Type: Bytes, Default: int64(64 << 20), Max: 4 << 30, Effect: "Size of a bundle, unpacked, all its files together", Off: "higher lets a bundle use more memory"},
	}
}

func callerKeys() []Key {
	return []Key{
		{Name: "caller.require", Type: TextList, Effect: "What must be known of every caller: subject, tenant, scopes, claims.NAME; a call without it is undecided"},
		{Name: "caller.subject", Type: Text, Effect: "Who calls, for check and run, where nothing else can say it"},
		{Name: "caller.tenant", Type: Text, Effect: "The caller's tenant"},
		{Name: "caller.scopes", Type: TextList, Effect: "The caller's scopes"},
		{Name: "caller.claims_file", Type: File, Effect: "A JSON object with the caller's claims"},
	}
}

func proxyKeys() []Key {
	return []Key{
		{Name: "methods", Type: Objects, Effect: "MCP methods other than tools/call, beside the defaults",
			Off: "pass: that method reaches the server undecided",
			Fields: []Key{
				{Name: "name", Type: Text, Required: true, Effect: "The method's name"},
				{Name: "action", Type: Choice, Required: true, Values: []string{"pass", "refuse"}, Effect: "What happens to it"},
			}},
		{Name: "hold.calls", Type: Count, Default: int64(64), Max: 100_000, Effect: "Calls that wait while the tools are learned; more are not_ready"},
		{Name: "hold.bytes", Type: Bytes, Default: int64(16 << 20), Max: 1 << 30, Effect: "Bytes of waiting calls; more are not_ready"},
		{Name: "hold.timeout", Type: Duration, Default: 10 * time.Second, Max: int64(10 * time.Minute), Effect: "How long a call waits before it is not_ready"},
	}
}

// max returns the largest value that k may have.
func (k Key) max() int64 {
	if k.Max > 0 {
		return k.Max
	}
	return math.MaxInt32
}
