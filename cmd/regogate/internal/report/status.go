package report

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

// A Status is the start-up report as it is at one moment.
type Status struct {
	Version string    `json:"version"`
	Started time.Time `json:"started"`
	Ready   bool      `json:"ready"`
	// Problems say what falls short now, one line each; empty when nothing does.
	Problems []string   `json:"problems"`
	Mode     string     `json:"mode"`
	Until    *time.Time `json:"mode_until,omitempty"`
	// Policy is what is in force, nil when nothing is.
	Policy  *PolicyStatus `json:"policy"`
	Bundles []string      `json:"bundles"`
	// Sources say how things stand with the bundles; nil before they were first read.
	Sources   *bundles.Status `json:"sources,omitempty"`
	Decisions Counts          `json:"decisions"`
	// Log is nil without a decision log.
	Log *LogStatus `json:"decision_log,omitempty"`
	// On are the checks that are as the configuration's defaults have them or stricter,
	// Off the settings that turn off or weaken a check, Limits those that differ from
	// their defaults.
	On     []Difference `json:"on"`
	Off    []Difference `json:"off"`
	Limits []Difference `json:"limits"`
	// Require is what has to be known of every caller, Undecided the methods that reach
	// the server without a decision.
	Require   []string `json:"required_of_callers"`
	Undecided []string `json:"undecided_methods"`
	Server    string   `json:"server,omitempty"` // what the policy knows it as
	Serving   *Serving `json:"serving,omitempty"`
	// Tools are those that the server declared last; null until it did.
	Tools []ToolStatus `json:"tools"`
}

// A PolicyStatus says what a ruleset has.
type PolicyStatus struct {
	Revision    string `json:"revision"`
	Packages    int    `json:"packages"`
	DenyRules   int    `json:"deny_rules"`
	WarnRules   int    `json:"warn_rules"`
	PinnedTools int    `json:"pinned_tools"`
	// Engines are the packages that another engine evaluates than the one asked for.
	Engines []OtherEngine `json:"other_engines,omitempty"`
}

// An OtherEngine says what evaluates a package, and why.
type OtherEngine struct {
	Package string `json:"package"`
	Engine  string `json:"engine"`
	Why     string `json:"why"`
}

// Counts are decisions since the start.
type Counts struct {
	Allowed   int64 `json:"allowed"`
	Refused   int64 `json:"refused"`
	Forwarded int64 `json:"forwarded_in_shadow_mode"` // that would have been refused
}

// A LogStatus counts the records of the decision log.
type LogStatus struct {
	File      string `json:"file,omitempty"`
	Stderr    bool   `json:"stderr,omitempty"`
	URL       string `json:"url,omitempty"`
	Arguments string `json:"arguments"`
	Required  bool   `json:"required"`
	Recorded  int64  `json:"recorded"`
	Dropped   int64  `json:"dropped"`
	Unmasked  int64  `json:"unmasked"`
	Discarded int64  `json:"discarded"`
}

// A Difference is a setting and what it would be if nobody had set it.
type Difference struct {
	Key     string `json:"key"`
	Value   string `json:"value,omitempty"` // "" also where it may be a secret
	Default string `json:"default"`
	SetBy   string `json:"set_by,omitempty"`
	Effect  string `json:"effect,omitempty"` // what is turned off
}

// A ToolStatus says what decides the calls of one tool.
type ToolStatus struct {
	Name      string   `json:"name"`
	Packages  []string `json:"packages"`
	DenyRules int      `json:"deny_rules"`
	WarnRules int      `json:"warn_rules"`
	Schema    string   `json:"schema"` // its digest
	// RefusedAs is the code with which every call is refused, and Why the reason; "" when
	// none is known to be.
	RefusedAs policy.Code `json:"refused_as,omitempty"`
	Why       string      `json:"why,omitempty"`
}

func policyStatus(rules *regoeval.Ruleset) PolicyStatus {
	packages := rules.Packages()
	s := PolicyStatus{Revision: rules.Revision(), Packages: len(packages), PinnedTools: rules.Pins()}
	for _, p := range packages {
		s.DenyRules += p.Deny
		s.WarnRules += p.Warn
	}
	s.Engines = otherEngines(packages)
	return s
}

func toolStatus(gate *policy.Gate, t *policy.Tool) ToolStatus {
	cover := gate.Cover(t)
	s := ToolStatus{Name: short(t.Name()), Packages: []string{}, Schema: t.Digest()}
	for _, p := range cover.Packages {
		s.Packages = append(s.Packages, p.Path)
		s.DenyRules += p.Deny
		s.WarnRules += p.Warn
	}
	s.RefusedAs, s.Why = refusesAll(gate.Options(), t, cover)
	return s
}

// faulty reports whether a tool's calls are refused for a reason that nobody chose.
func (t ToolStatus) faulty() bool {
	return t.RefusedAs != "" && t.RefusedAs != policy.Unmapped
}

// sections sorts the settings into what is on, what is off, and the limits that are
// others.
func sections(settings []config.Setting) (on, off, limits []Difference) {
	on, off, limits = []Difference{}, []Difference{}, []Difference{}
	for _, s := range settings {
		d := Difference{Key: s.Name, Default: s.DefaultValue, SetBy: s.Origin}
		if tellable(s) {
			d.Value = s.Value
		}
		section, _, _ := strings.Cut(s.Name, ".")
		switch {
		case s.Name == "mode":
		case section == "limits" || section == "hold":
			if s.Changed() {
				limits = append(limits, d)
			}
		case s.Changed() && weakens(s):
			d.Effect = s.Off
			off = append(off, d)
		case section == "schema" || section == "tools" && s.Type == config.Choice:
			on = append(on, d)
		}
	}
	return on, off, limits
}

// tellable reports whether a value can't be a secret: whoever reaches the admin listener
// reads it.
func tellable(s config.Setting) bool {
	harmless := []config.Type{config.Choice, config.Bool, config.Flag, config.Count, config.Bytes, config.Duration}
	return slices.Contains(harmless, s.Type) || s.Name == "methods"
}

// bundleNames are the bundles without what may be a signature or a credential.
func bundleNames(c config.Config) []string {
	names := make([]string, len(c.Bundle))
	for i, name := range c.Bundle {
		names[i] = withoutSecrets(name)
	}
	return names
}

// withoutSecrets returns a URL without what may be a credential in it; anything else
// stays as it is.
func withoutSecrets(name string) string {
	scheme, _, isURL := strings.Cut(name, "://")
	if !isURL {
		return name
	}
	u, err := url.Parse(name)
	if err != nil {
		return scheme + "://…"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

var urls = regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s"]+`)

// scrub returns a message in which no URL has what may be a credential.
func scrub(message string) string {
	return urls.ReplaceAllStringFunc(message, func(found string) string {
		name := strings.TrimRight(found, ":,;.)")
		return withoutSecrets(name) + found[len(name):]
	})
}
