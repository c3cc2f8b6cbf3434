package config

import (
	"maps"
	"slices"
	"time"
)

// Config is the whole configuration. A zero field means that key's default.
type Config struct {
	Bundle       []string    `mapstructure:"bundle"`   // directories, .tar.gz files or "starter"
	SettingsFile string      `mapstructure:"settings"` // "" for none
	Mode         string      `mapstructure:"mode"`     // enforce, shadow
	Engine       string      `mapstructure:"engine"`   // topdown, compiled, both
	EngineSample int         `mapstructure:"engine_sample"`
	Bundles      BundleSetup `mapstructure:"bundles"`
	Services     []Service   `mapstructure:"services"`
	Shadow       Shadow      `mapstructure:"shadow"`
	Server       Server      `mapstructure:"server"`
	Tools        Tools       `mapstructure:"tools"`
	Rules        Rules       `mapstructure:"rules"`
	Schema       Schema      `mapstructure:"schema"`
	Limits       Limits      `mapstructure:"limits"`
	Caller       Caller      `mapstructure:"caller"`
	Methods      []Method    `mapstructure:"methods"`
	Hold         Hold        `mapstructure:"hold"`

	DecisionLog DecisionLog `mapstructure:"decision_log"`

	Listen   Listen   `mapstructure:"listen"`
	TLS      TLS      `mapstructure:"tls"`
	HTTP     HTTP     `mapstructure:"http"`
	Upstream Upstream `mapstructure:"upstream"`
	Identity Identity `mapstructure:"identity"`
	Bridge   Bridge   `mapstructure:"bridge"`

	Admin     Admin     `mapstructure:"admin"`
	Telemetry Telemetry `mapstructure:"telemetry"`

	settings []Setting
	origins  map[string]string
}

// Server says what the gate calls the server behind it.
type Server struct {
	Name string `mapstructure:"name"`
}

// Tools say where tools come from and what happens to those that no rule covers.
type Tools struct {
	File       string `mapstructure:"file"`
	Unmapped   string `mapstructure:"unmapped"`    // refuse, allow
	OwnPackage string `mapstructure:"own_package"` // optional, require
	Pins       string `mapstructure:"pins"`        // off, warn, enforce
}

// Rules add to what the bundle says of which packages are asked for which tools.
type Rules struct {
	Common []string  `mapstructure:"common"` // package paths
	Map    []Mapping `mapstructure:"map"`
}

// A Mapping gives tools a package.
type Mapping struct {
	Server  string `mapstructure:"server"`  // exact name or glob; "" for every server
	Tool    string `mapstructure:"tool"`    // exact name or glob
	Package string `mapstructure:"package"` // path
}

// Schema says how arguments are checked against input schemas.
type Schema struct {
	Enforce       Switch `mapstructure:"enforce"`
	Formats       string `mapstructure:"formats"`        // assert, annotate
	Undeclared    string `mapstructure:"undeclared"`     // follow, refuse
	OptionalNull  string `mapstructure:"optional_null"`  // refuse, absent
	Defaults      string `mapstructure:"defaults"`       // view, ignore
	SecondOpinion string `mapstructure:"second_opinion"` // none, qri
}

// Limits bound what is read, evaluated and answered.
type Limits struct {
	ArgumentBytes   int           `mapstructure:"argument_bytes"`
	Depth           int           `mapstructure:"depth"`
	NumberLength    int           `mapstructure:"number_length"`
	SchemaSteps     int           `mapstructure:"schema_steps"`
	EvaluationSteps int           `mapstructure:"evaluation_steps"`
	Timeout         time.Duration `mapstructure:"timeout"`
	Refusals        int           `mapstructure:"refusals"`
	MessageBytes    int           `mapstructure:"message_bytes"`
	Abandoned       int           `mapstructure:"abandoned"`
	BundleBytes     int64         `mapstructure:"bundle_bytes"`
}

// Caller says who calls where no adapter can know it, and what must be known.
type Caller struct {
	Require    []string `mapstructure:"require"` // subject, tenant, scopes, claims.NAME
	Subject    string   `mapstructure:"subject"`
	Tenant     string   `mapstructure:"tenant"`
	Scopes     []string `mapstructure:"scopes"`
	ClaimsFile string   `mapstructure:"claims_file"`

	Env []CallerVariable `mapstructure:"env"`
}

// A Method says what happens to one MCP method that is not a tool call.
type Method struct {
	Name   string `mapstructure:"name"`
	Action string `mapstructure:"action"` // pass, refuse
}

// Hold bounds the calls that wait while a proxy learns its server's tools.
type Hold struct {
	Calls   int           `mapstructure:"calls"`
	Bytes   int           `mapstructure:"bytes"`
	Timeout time.Duration `mapstructure:"timeout"`
}

// A Switch is something that is on unless it is turned off.
type Switch int

const (
	On  Switch = iota // the zero value
	Off               // only a configuration that says false
)

// A Setting is one key with the value in force, for reports.
type Setting struct {
	Key
	Value        string // as it would be written in the file; "" when there is none
	DefaultValue string // what Value is when nobody says otherwise
	Origin       string // file:line, or the flag; "" for a default
}

// Changed reports whether the value in force is not the default.
func (s Setting) Changed() bool {
	return s.Value != s.DefaultValue
}

// Settings returns every key with its value in force, in the order of [Keys]. It is
// empty for a Config that [Load] didn't make.
func (c Config) Settings() []Setting { return slices.Clone(c.settings) }

// Where says where the value of a key came from, as file:line or as the name of a
// flag. An element of a list is named like rules.map[2]. It is "" for a default.
func (c Config) Where(key string) string { return c.origins[key] }

// Origins returns what [Config.Where] knows, by key.
func (c Config) Origins() map[string]string { return maps.Clone(c.origins) }
