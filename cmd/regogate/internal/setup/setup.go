// Package setup makes a gate of a configuration: options, bundles, caller and tools.
//
// It is the only place where a key of the configuration becomes a field of another
// package's options, so that check, run and the commands to come agree about it.
//
// # Limits
//
// What Load makes belongs to one revision of the bundles; only Watch follows them. A
// changed configuration is read again for its mode alone.
package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
	"github.com/regogate/regogate/policy/strictjson"
	"github.com/regogate/regogate/regoeval"
)

// A Setup is everything that a command needs to decide calls.
type Setup struct {
	Config config.Config
	Rules  *regoeval.Ruleset // the first in force, for reports
	Gate   *policy.Gate      // with Rules in force
	Caller policy.Caller     // who calls, as far as the configuration says
	// Bundles keeps Rules up to date after Watch; nil after Load.
	Bundles *bundles.Watcher
	// Decisions is the decision log, nil when there is none; see Close.
	Decisions *decisionlog.Log

	inForce atomic.Pointer[regoeval.Ruleset]
}

// InForce returns the ruleset that decides now, nil when none does. It may be asked at
// any time, unlike Rules.
func (s *Setup) InForce() *regoeval.Ruleset { return s.inForce.Load() }

// ErrNoBundle says that no policy was named.
var ErrNoBundle = errors.New("no bundle: nothing says what to refuse: name one with --bundle, or with bundle in the file that --config names")

// New makes a gate as c says, loads the bundles that c names and puts them in force.
// recorder may be nil.
func New(ctx context.Context, c config.Config, recorder policy.Recorder) (*Setup, error) {
	s, err := Prepare(c, recorder)
	if err != nil {
		return nil, err
	}
	if err := s.Load(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Prepare does all of New but for the bundles: until Load the gate refuses every call.
func Prepare(c config.Config, recorder policy.Recorder) (*Setup, error) {
	if len(c.Bundle) == 0 {
		return nil, ErrNoBundle
	}
	caller, err := readCaller(c)
	if err != nil {
		return nil, err
	}
	mode, until, err := Mode(c)
	if err != nil {
		return nil, err
	}
	s := &Setup{Config: c, Caller: caller}
	if s.Decisions, err = newDecisionLog(c, recorder); err != nil {
		return nil, err
	}
	o := Options(c)
	o.Recorder = recorder
	if s.Decisions != nil { // a nil *Log is no nil Recorder
		o.Recorder = policy.Recorders(recorder, s.Decisions)
	}
	if s.Gate, err = policy.NewGate(o); err != nil {
		return nil, errors.Join(Attribute(c, err), s.Close())
	}
	if err := s.Gate.SetMode(mode, until); err != nil {
		return nil, errors.Join(Attribute(c, err), s.Close())
	}
	return s, nil
}

// Load loads the bundles and puts them in force.
func (s *Setup) Load(ctx context.Context) error {
	var rules *regoeval.Ruleset
	err := quickly(func() (err error) {
		rules, err = bundles.Load(ctx, BundleOptions(s.Config))
		return err
	})
	if err != nil {
		return locate(s.Config, attributeBundles(s.Config, err))
	}
	s.Rules = rules
	s.inForce.Store(rules)
	s.Gate.Use(rules)
	return nil
}

// Certain reports that Load can't find anything wrong: the built-in bundle is all that
// there is, and it was tested with the program.
func (s *Setup) Certain() bool {
	c := s.Config
	b := c.Bundles
	configured := len(b.Keys)+len(c.Services) > 0 || b.State+b.StatusURL != "" || b.SelfTest
	return slices.Equal(c.Bundle, []string{bundles.Starter}) && c.SettingsFile == "" && len(c.Rules.Common) == 0 && len(c.Rules.Map) == 0 && !configured
}

// quickly runs what loads bundles. Compiling Rego makes much garbage in a short time
// while a client waits, so nothing is collected meanwhile unless it becomes very much.
func quickly(load func() error) error {
	const veryMuch = 512 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if limit := debug.SetMemoryLimit(-1); limit > veryMuch {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(veryMuch))
	}
	return load()
}

// Options returns the gate's options that c asks for.
func Options(c config.Config) policy.Options {
	return policy.Options{
		Mode: policy.Mode(c.Mode),
		Schema: policy.SchemaOptions{
			SkipEnforce:   c.Schema.Enforce == config.Off,
			Formats:       c.Schema.Formats,
			Undeclared:    c.Schema.Undeclared,
			OptionalNull:  c.Schema.OptionalNull,
			Defaults:      c.Schema.Defaults,
			SecondOpinion: c.Schema.SecondOpinion,
			Steps:         c.Limits.SchemaSteps,
		},
		Arguments: strictjson.Limits{
			Bytes:        c.Limits.ArgumentBytes,
			Depth:        c.Limits.Depth,
			NumberLength: c.Limits.NumberLength,
		},
		Unmapped:      c.Tools.Unmapped,
		OwnPackage:    c.Tools.OwnPackage,
		Pins:          c.Tools.Pins,
		CallerRequire: c.Caller.Require,
		Timeout:       c.Limits.Timeout,
		MaxRefusals:   c.Limits.Refusals,
		MaxMessage:    c.Limits.MessageBytes,
		MaxAbandoned:  c.Limits.Abandoned,
	}
}

// BundleOptions returns what to load that c asks for.
func BundleOptions(c config.Config) bundles.Options {
	o := bundles.Options{
		Bundles:      c.Bundle,
		SettingsFile: c.SettingsFile,
		Common:       c.Rules.Common,
		MaxBytes:     c.Limits.BundleBytes,
		Steps:        int64(c.Limits.EvaluationSteps),
		Engine:       regoeval.Engine(c.Engine),
		Sample:       c.EngineSample,
	}
	trust(c, &o)
	for _, m := range c.Rules.Map {
		o.Map = append(o.Map, regoeval.Mapping{Server: m.Server, Tool: m.Tool, Package: m.Package})
	}
	return o
}

// Attribute says where the value came from that each error, which begins with a key, is about.
func Attribute(c config.Config, err error) error {
	var problems []config.Problem
	for line := range strings.SplitSeq(err.Error(), "\n") {
		key, what, found := strings.Cut(line, ": ")
		if !found {
			key, what = "", line
		}
		problems = append(problems, config.Problem{File: whereOf(c, key), Key: key, What: what, Fix: "see docs/configuration.md"})
	}
	return &config.Error{Problems: problems}
}

// whereOf is where a key, or what it is a part of, was given a value.
func whereOf(c config.Config, key string) string {
	for key != "" {
		if where := c.Where(key); where != "" {
			return where
		}
		key = key[:max(strings.LastIndexAny(key, ".["), 0)]
	}
	return "default"
}

// locate says where in the configuration a package is named that a finding without a
// place is about.
func locate(c config.Config, err error) error {
	var load *regoeval.LoadError
	if !errors.As(err, &load) {
		return err
	}
	type named struct{ name, key string }
	var names []named
	for i, m := range c.Rules.Map {
		names = append(names, named{m.Package, fmt.Sprintf("rules.map[%d]", i)})
	}
	for i, p := range c.Rules.Common {
		names = append(names, named{p, fmt.Sprintf("rules.common[%d]", i)})
	}
	// The longest first, for one name can be part of another.
	slices.SortStableFunc(names, func(a, b named) int { return len(b.name) - len(a.name) })
	located := slices.Clone(load.Findings)
	for i := range located {
		about := slices.IndexFunc(names, func(n named) bool { return strings.Contains(located[i].Message, n.name) })
		if located[i].File == "" && about >= 0 {
			located[i].File = c.Where(names[about].key)
		}
	}
	return &regoeval.LoadError{Findings: located}
}

// claimLimits are those of policy.WithCaller.
var claimLimits = strictjson.Limits{Bytes: 256 << 10}

func readCaller(c config.Config) (policy.Caller, error) {
	caller := policy.Caller{Subject: c.Caller.Subject, Tenant: c.Caller.Tenant, Scopes: c.Caller.Scopes}
	if c.Caller.ClaimsFile == "" {
		return callerFromEnvironment(c, caller)
	}
	problem := config.Problem{File: c.Where("caller.claims_file"), Key: "caller.claims_file", Fix: "name a file with one JSON object"}
	data, err := os.ReadFile(c.Caller.ClaimsFile)
	if err == nil {
		caller.Claims, err = strictjson.ParseObject(data, claimLimits)
	}
	if err != nil {
		problem.What = fmt.Sprintf("%s: %v", c.Caller.ClaimsFile, pathless(err))
		return caller, &config.Error{Problems: []config.Problem{problem}}
	}
	return callerFromEnvironment(c, caller)
}

// pathless drops the path that the message has already.
func pathless(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
