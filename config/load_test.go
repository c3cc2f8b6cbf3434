package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// write puts a configuration into a folder of its own.
func write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestLoadDefaults(t *testing.T) {
	want := Config{
		Mode:   "enforce",
		Engine: "topdown", EngineSample: 1,
		Bundles: BundleSetup{UnsignedSettings: "refuse", Poll: Poll{Interval: time.Second, Backoff: 30 * time.Second, Timeout: 30 * time.Second}},
		Tools:   Tools{Unmapped: "refuse", OwnPackage: "optional", Pins: "enforce"},
		Schema:  Schema{Enforce: On, Formats: "assert", Undeclared: "follow", OptionalNull: "refuse", Defaults: "view", SecondOpinion: "none"},
		Limits: Limits{
			ArgumentBytes: 1 << 20, Depth: 64, NumberLength: 64, SchemaSteps: 50_000, EvaluationSteps: 200_000,
			Timeout: time.Second, Refusals: 50, MessageBytes: 2048, Abandoned: 64, BundleBytes: 64 << 20,
		},
		Hold:        Hold{Calls: 64, Bytes: 16 << 20, Timeout: 10 * time.Second},
		DecisionLog: DecisionLog{Arguments: "masked", MaxBytes: 100 << 20, Keep: 10, QueueBytes: 64 << 20, BufferBytes: 16 << 20},
		Admin:       Admin{Access: "loopback"},
		Telemetry:   Telemetry{OTLP: OTLP{Sample: 1}},
	}
	for name, o := range map[string]Options{
		"no file":       {},
		"empty":         {File: write(t, "c.yaml", "")},
		"comments":      {File: write(t, "c.yaml", "# nothing\n")},
		"null document": {File: write(t, "c.yaml", "---\n")},
		"empty section": {File: write(t, "c.yml", "limits:\n  # depth: 3\nschema: {}\n")},
		"JSON":          {File: write(t, "c.json", "{}")},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Load(o)
			require.NoError(t, err)
			for _, s := range got.Settings() {
				require.Falsef(t, s.Changed(), "%s = %q", s.Name, s.Value)
				require.Empty(t, s.Origin, s.Name)
			}
			got.settings, got.origins = nil, nil
			require.Equal(t, serving(want), got)
		})
	}
}

const full = `
bundle: [policy, /etc/regogate/more.tar.gz, "https://example.com/p.tar.gz", starter]
settings: settings.json
mode: shadow
server:
  name: Files.Main
shadow: {until: "2026-12-01T18:00:00Z"}
bundles:
  keys:
    - {id: k1, file: k1.pem}
    - {id: K.2, env: K2, algorithm: HS256, scope: gates}
  unsigned_settings: allow
  self_test: true
  state: state
  max_age: 1h
  poll: {interval: 5s, backoff: 1m, hold: 20s, timeout: 10s}
  status_url: https://control.test/status
services:
  - {url: "https://a.test/x", token_file: token, ca_file: ca.pem}
  - {url: "https://b.test", oauth2_token_url: "https://t.test", oauth2_client_id: me, oauth2_secret_env: S, oauth2_scopes: a b}
tools:
  file: tools.json
  unmapped: allow
  own_package: require
  pins: warn
rules:
  common: [all.tools]
  map:
    - {tool: "FS.*", package: 'tools["fs"]'}
    - server: Files.Main
      tool: Read
      package: tools.read
schema:
  enforce: false
  formats: annotate
  undeclared: refuse
  optional_null: absent
  defaults: ignore
  second_opinion: qri
limits:
  argument_bytes: 512KiB
  depth: 10
  number_length: 20
  schema_steps: 1000
  evaluation_steps: 0x10
  timeout: 250ms
  refusals: 5
  message_bytes: 100
  abandoned: 3
  bundle_bytes: 1 GiB
caller:
  require: [subject, claims.org]
  subject: Alice
  tenant: T
  scopes: [a.b, C]
  claims_file: claims.json
  env: [{name: USER_ID, as: claims.id}]
methods:
  - {name: resources/read, action: refuse}
  - {name: x/Y.z, action: pass}
hold: {calls: 1, bytes: 2, timeout: 3s}
engine: both
engine_sample: 7
decision_log:
  file: decisions.jsonl
  stderr: true
  url: https://logs.example.com
  token_file: token
  ca_file: ca.pem
  arguments: digest
  key_file: key
  required: true
  labels:
    - {name: Env.X, value: test}
  max_bytes: 1MiB
  keep: 3
  queue_bytes: 2MiB
  buffer_bytes: 3MiB
admin: {listen: "127.0.0.1:9400", access: any}
telemetry: {otlp: {url: "https://spans.test", token_file: token, ca_file: ca.pem, sample: 10}}
` + fullServing

func TestLoadEveryKey(t *testing.T) {
	path := write(t, "c.yaml", full)
	dir := filepath.Dir(path)
	got, err := Load(Options{File: path})
	require.NoError(t, err)

	for _, s := range got.Settings() {
		require.Truef(t, s.Changed(), "%s is not in the test's configuration, or was not read", s.Name)
		require.Contains(t, s.Origin, path+":", s.Name)
	}
	require.Equal(t, path+":3", got.Where("settings"))
	require.Equal(t, path+":30", got.Where("rules.map[1]"))
	got.settings, got.origins = nil, nil
	require.Equal(t, servingInFull(Config{
		Bundle:       []string{filepath.Join(dir, "policy"), "/etc/regogate/more.tar.gz", "https://example.com/p.tar.gz", "starter"},
		SettingsFile: filepath.Join(dir, "settings.json"),
		Mode:         "shadow",
		Engine:       "both", EngineSample: 7,
		Server: Server{Name: "Files.Main"},
		Shadow: Shadow{Until: "2026-12-01T18:00:00Z"},
		Bundles: BundleSetup{
			Keys:             []SigningKey{{ID: "k1", File: filepath.Join(dir, "k1.pem")}, {ID: "K.2", Env: "K2", Algorithm: "HS256", Scope: "gates"}},
			UnsignedSettings: "allow", SelfTest: true, State: filepath.Join(dir, "state"), MaxAge: time.Hour,
			Poll:      Poll{Interval: 5 * time.Second, Backoff: time.Minute, Hold: 20 * time.Second, Timeout: 10 * time.Second},
			StatusURL: "https://control.test/status",
		},
		Services: []Service{
			{URL: "https://a.test/x", TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.pem")},
			{URL: "https://b.test", OAuth2TokenURL: "https://t.test", OAuth2ClientID: "me", OAuth2SecretEnv: "S", OAuth2Scopes: "a b"},
		},
		Tools: Tools{File: filepath.Join(dir, "tools.json"), Unmapped: "allow", OwnPackage: "require", Pins: "warn"},
		Rules: Rules{Common: []string{"all.tools"}, Map: []Mapping{
			{Tool: "FS.*", Package: `tools["fs"]`}, {Server: "Files.Main", Tool: "Read", Package: "tools.read"},
		}},
		Schema: Schema{Enforce: Off, Formats: "annotate", Undeclared: "refuse", OptionalNull: "absent", Defaults: "ignore", SecondOpinion: "qri"},
		Limits: Limits{
			ArgumentBytes: 512 << 10, Depth: 10, NumberLength: 20, SchemaSteps: 1000, EvaluationSteps: 16, Timeout: 250 * time.Millisecond,
			Refusals: 5, MessageBytes: 100, Abandoned: 3, BundleBytes: 1 << 30,
		},
		DecisionLog: DecisionLog{
			File: filepath.Join(dir, "decisions.jsonl"), Stderr: true, URL: "https://logs.example.com", TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.pem"),
			Arguments: "digest", KeyFile: filepath.Join(dir, "key"), Required: true, Labels: []Label{{Name: "Env.X", Value: "test"}},
			MaxBytes: 1 << 20, Keep: 3, QueueBytes: 2 << 20, BufferBytes: 3 << 20,
		},
		Caller: Caller{Require: []string{"subject", "claims.org"}, Subject: "Alice", Tenant: "T", Scopes: []string{"a.b", "C"}, ClaimsFile: filepath.Join(dir, "claims.json")},
		Methods: []Method{
			{Name: "resources/read", Action: "refuse"}, {Name: "x/Y.z", Action: "pass"},
		},
		Hold:      Hold{Calls: 1, Bytes: 2, Timeout: 3 * time.Second},
		Admin:     Admin{Listen: "127.0.0.1:9400", Access: "any"},
		Telemetry: Telemetry{OTLP: OTLP{URL: "https://spans.test", TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.pem"), Sample: 10}},
	}, dir), got)
}

// A folder that is called like the word isn't mistaken for it.
func TestFolderCalledStarter(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	require.NoError(t, os.WriteFile("c.yaml", []byte("bundle: [./starter, starter]"), 0o600))
	got, err := Load(Options{File: "c.yaml"})
	require.NoError(t, err)
	require.Equal(t, []string{"./starter", "starter"}, got.Bundle)
}

func TestLoadJSON(t *testing.T) {
	path := write(t, "c.json", "{\n\t\"bundle\": \"p\",\n\t\"limits\": {\"timeout\": \"2s\"},\r\n\t\"rules\": {\"map\": [{\"tool\": \"A\", \"package\": \"b\"}]}\n}\n")
	got, err := Load(Options{File: path})
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(filepath.Dir(path), "p")}, got.Bundle)
	require.Equal(t, 2*time.Second, got.Limits.Timeout)
	require.Equal(t, []Mapping{{Tool: "A", Package: "b"}}, got.Rules.Map)
	require.Equal(t, path+":4", got.Where("rules.map"))
}

// Every mistake is told with its line, its key and what to do.
func TestLoadMistakes(t *testing.T) {
	for _, c := range []struct{ name, yaml, want string }{
		{"unknown key", "bundel: x", `1: bundel: unknown key; did you mean bundle?`},
		{"unknown key in a section", "limits:\n  dept: 3", `2: limits.dept: unknown key; did you mean limits.depth?`},
		{"upper case", "Mode: enforce", `1: Mode: unknown key; did you mean mode?`},
		{"wrong section", "unmapped: refuse", `1: unmapped: unknown key; did you mean tools.unmapped?`},
		{"unknown section", "shcema:\n  enforce: true", `1: shcema: unknown key; did you mean schema?`},
		{"nothing near", "zzzzzzzz: 1", `1: zzzzzzzz: unknown key; remove it, or see docs/configuration.md for the keys`},
		{"dotted key", "limits.depth: 3", `1: limits.depth: unknown key; write its parts below each other, indented`},
		{"dotted key in a section", "limits:\n  x.depth: 3", `2: limits.x.depth: unknown key; did you mean limits.depth?`},
		{"given twice", "mode: enforce\n\nmode: shadow", `3: mode: given twice, first in line 1; keep one of the two`},
		{"section given twice", "limits: {depth: 1}\nlimits: {refusals: 1}", `2: limits: given twice, first in line 1; keep one of the two`},
		{"field given twice", "methods:\n  - name: a\n    action: pass\n    action: refuse", `4: methods[0].action: given twice, first in line 3; keep one of the two`},
		{"a number as key", "7: x", `1: the number 7 is no key of the configuration; remove it`},
		{"not a mapping", "- a\n- b", `1: want keys with values, not a list; write its keys below it, indented`},
		{"section is a string", "limits: low", `1: limits: want keys with values, not the string "low"; write its keys below it, indented`},
		{"no value", "mode:", `1: mode: has no value; give it one, or remove the key`},
		{"empty string", `settings: ""`, `1: settings: is an empty string; give it a value, or remove the key`},
		{"choice", "mode: shaddow", `1: mode: "shaddow" is not one of enforce, shadow; did you mean shadow?`},
		{"choice, other case", "mode: Enforce", `1: mode: "Enforce" is not one of enforce, shadow; did you mean enforce?`},
		{"choice, far", "mode: monitor", `1: mode: "monitor" is not one of enforce, shadow; choose one of them`},
		{"choice of another type", "mode: false", `1: mode: want a string, not false; put it in quotes`},
		{"number for a string", "server:\n  name: 12", `2: server.name: want a string, not the number 12; put it in quotes`},
		{"date for a string", "server: {name: 2026-01-01}", `1: server.name: want a string, not a value tagged "!!timestamp"; put it in quotes`},
		{"list for a string", "settings: [a]", `1: settings: want a string, not a list`},
		{"quoted switch", `schema: {enforce: "false"}`, `1: schema.enforce: want true or false, not the string "false"; write true or false, without quotes`},
		{"old YAML's switch", `schema: {enforce: off}`, `1: schema.enforce: want true or false, not the string "off"; write true or false, without quotes`},
		{"zero for a switch", `schema: {enforce: 0}`, `1: schema.enforce: want true or false, not the number 0; write true or false, without quotes`},
		{"limit turned off", "limits: {depth: 0}", `1: limits.depth: must be more than 0; a limit can't be turned off: raise it, or remove the key for the default`},
		{"negative limit", "limits: {refusals: -1}", `1: limits.refusals: must be more than 0; a limit can't be turned off: raise it, or remove the key for the default`},
		{"boundless depth", "limits: {depth: 1001}", `1: limits.depth: must be at most 1000; lower it`},
		{"boundless count", "limits: {schema_steps: 9223372036854775807}", `1: limits.schema_steps: must be at most 2147483647; lower it`},
		{"huge count", "limits: {schema_steps: 99999999999999999999}", `1: limits.schema_steps: want a whole number, not the number 99999999999999999999; write digits only`},
		{"fraction", "limits: {depth: 1.5}", `1: limits.depth: want a whole number, not the number 1.5; write digits only`},
		{"quoted count", "limits: {depth: '5'}", `1: limits.depth: want a whole number, not the string "5"; write digits only`},
		{"bytes, unit of ten", "limits: {bundle_bytes: 5MB}", `1: limits.bundle_bytes: want a number of bytes, not the string "5MB"; write a number of bytes, or a whole number with a unit: 512KiB, 64MiB, 1GiB`},
		{"bytes, zero", "limits: {bundle_bytes: 0MiB}", `1: limits.bundle_bytes: must be more than 0; a limit can't be turned off: raise it, or remove the key for the default`},
		{"bytes, too many", "limits: {bundle_bytes: 9999999999GiB}", `1: limits.bundle_bytes: must be at most 4GiB; lower it`},
		{"duration without unit", "limits: {timeout: 5}", `1: limits.timeout: want a duration, not the number 5; write a number with a unit: 500ms, 1s, 2m`},
		{"quoted duration without unit", "limits: {timeout: '5'}", `1: limits.timeout: want a duration, not the string "5"; write a number with a unit: 500ms, 1s, 2m`},
		{"duration, zero", "limits: {timeout: 0s}", `1: limits.timeout: must be more than 0; a limit can't be turned off: raise it, or remove the key for the default`},
		{"duration, too long", "limits: {timeout: 1h}", `1: limits.timeout: must be at most 10m; lower it`},
		{"string for a list", "caller:\n  require: subject", `2: caller.require: want a list of strings, not the string "subject"; write - and a string for each, or [a, b]`},
		{"number in a list", "caller:\n  scopes:\n  - a\n  - 5", `4: caller.scopes[1]: want a string, not the number 5; put it in quotes`},
		{"null in a list", "bundle: [null]", `1: bundle[0]: has no value; give it one, or remove the key`},
		{"object for a bundle", "bundle: {a: b}", `1: bundle: want a string, not an object`},
		{"objects as keys", "rules: {map: {read: tools.read}}", `1: rules.map: want a list of objects, not an object; write - before each, with server, tool, package`},
		{"string for an object", "methods: [resources/read]", `1: methods[0]: want an object, not the string "resources/read"; give it name, action`},
		{"unknown field", "rules:\n  map:\n  - {tol: a, package: b}", `3: rules.map[0]: unknown key "tol"; did you mean tool?`},
		{"missing field", "rules:\n  map:\n  - {tool: a}", `3: rules.map[0]: package is missing; add it`},
		{"choice in a field", "methods: [{name: a, action: allow}]", `1: methods[0].action: "allow" is not one of pass, refuse; choose one of them`},
		{"anchor", "server: &a {name: x}", `1: server: anchors, aliases and merge keys are not supported; write the value out`},
		{"alias in a list", "caller: {scopes: [&a x, *a]}", `1: caller.scopes[0]: anchors and aliases are not supported; write the value out`},
		{"two documents", "mode: enforce\n---\nmode: shadow", `a second document begins here; keep one document in a file`},
		{"line break in a key", "\"a\\nb\": 1", `1: "a\nb": unknown key; remove it, or see docs/configuration.md for the keys`},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := write(t, "c.yaml", c.yaml)
			_, err := Load(Options{File: path})
			var e *Error
			require.ErrorAs(t, err, &e)
			got := strings.TrimPrefix(e.Problems[0].String(), path+":")
			require.Contains(t, got, c.want)
			require.NotContains(t, err.Error(), "\n\n")
		})
	}
}

func TestLoadTellsEveryMistake(t *testing.T) {
	path := write(t, "c.yaml", "mode: x\nlimits:\n  depth: 0\n  foo: 1\n")
	_, err := Load(Options{File: path})
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Len(t, e.Problems, 3)
	require.Len(t, strings.Split(err.Error(), "\n"), 3)
}

func TestLoadUnreadableFile(t *testing.T) {
	for name, c := range map[string]struct{ file, want string }{
		"missing":    {filepath.Join(t.TempDir(), "no.yaml"), "can't be read: no such file or directory; check the path that --config gives"},
		"a folder":   {func() string { d := filepath.Join(t.TempDir(), "d.yaml"); _ = os.Mkdir(d, 0o700); return d }(), "is a directory"},
		"other kind": {write(t, "c.toml", "mode = 1"), `configuration files of the kind ".toml" can't be read; give a .yaml, .yml or .json file`},
		"too large":  {write(t, "c.yaml", "#"+strings.Repeat("x", maxFile)), "larger than 1048576 bytes"},
		"syntax":     {write(t, "c.yaml", "mode: enforce\nlimits: {depth: 5\n"), "c.yaml:"},
		"tab":        {write(t, "c.yaml", "limits:\n\tdepth: 5\n"), "c.yaml:2: not YAML: "},
		"no UTF-8":   {write(t, "c.yaml", "mode: \xff\n"), "not YAML: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(Options{File: c.file})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, c.file)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestOverridesWin(t *testing.T) {
	path := write(t, "c.yaml", "mode: shadow\nbundle: a\n")
	got, err := Load(Options{File: path, Overrides: []Override{
		{"mode", "enforce", "--mode"},
		{"bundle", []string{"B,C", "d"}, "--bundle"},
		{"settings", "s.json", "--settings"},
	}})
	require.NoError(t, err)
	require.Equal(t, "enforce", got.Mode)
	require.Equal(t, []string{"B,C", "d"}, got.Bundle)
	require.Equal(t, "s.json", got.SettingsFile, "a flag's path is relative to where the command runs")
	require.Equal(t, "--mode", got.Where("mode"))

	_, err = Load(Options{Overrides: []Override{{"mode", "off", "--mode"}, {"nope", "x", "--nope"}}})
	require.EqualError(t, err, "--mode: \"off\" is not one of enforce, shadow; choose one of them\n--nope: is no key of the configuration")
}

// No environment variable reaches the configuration.
func TestEnvironmentIsNotRead(t *testing.T) {
	for _, k := range Keys() {
		name := strings.NewReplacer(".", "_").Replace(strings.ToUpper(k.Name))
		for _, prefix := range []string{"", "REGOGATE_", "CONFIG_"} {
			t.Setenv(prefix+name, "shadow")
		}
	}
	got, err := Load(Options{})
	require.NoError(t, err)
	for _, s := range got.Settings() {
		require.False(t, s.Changed(), s.Name)
	}
	require.Equal(t, On, got.Schema.Enforce)
}

func TestZeroConfigIsSafe(t *testing.T) {
	require.Equal(t, On, Config{}.Schema.Enforce)
	require.Empty(t, Config{}.Mode)
	require.Empty(t, Config{}.Tools.Unmapped)
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? [x]\n: y"))
	f.Add([]byte("<<: {mode: shadow}"))
	f.Add([]byte("{}\n...\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l := loader{file: "c.yaml", keys: Keys(), origins: map[string]string{}}
		values := map[string]any{}
		if root := l.parse(data); root != nil {
			l.section(root, "", values)
		}
		if len(l.problems) > 0 {
			for _, p := range l.problems {
				require.NotContains(t, p.String(), "\n")
			}
			return
		}
		c, err := l.decode(values)
		require.NoError(t, err)
		require.Contains(t, []string{"enforce", "shadow"}, c.Mode)
		require.Positive(t, c.Limits.Depth)
		require.Positive(t, c.Limits.Timeout)
	})
}
