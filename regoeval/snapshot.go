package regoeval

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/cache"
	"github.com/open-policy-agent/opa/v1/version"

	"github.com/regogate/regogate/policy"
)

// Options bound an evaluation. The zero value is the default.
type Options struct {
	// Steps is how many expressions one evaluation may run. 0 means 200,000.
	Steps int64
	// CachedPatterns is how many compiled regular expressions and globs are kept. 0
	// means 10,000. Patterns from arguments would otherwise let the cache grow.
	CachedPatterns int
	// Engine evaluates the rules. "" means [Topdown]. A package that the compiled engine
	// doesn't support, or about which the engines differ while loading, is topdown's all
	// the same: its policy.Package says why.
	Engine Engine
	// Sample is of how many calls [Both] asks both engines about one; the compiled one
	// decides the others. 0 means every call.
	Sample int
}

const (
	defaultSteps          = 200_000
	defaultCachedPatterns = 10_000
)

// A Ruleset is one revision of policy and data, immutable and safe for concurrent
// use. It implements policy.Ruleset.
type Ruleset struct {
	revision  string
	revisions map[string]string
	compiler  *ast.Compiler
	store     storage.Store
	txn       storage.Transaction // one read transaction for good: nothing is ever written
	values    cache.InterQueryValueCache
	builtins  map[string]*topdown.Builtin // read only
	// eager says that some rule uses `with`. OPA puts the replacement into a lazily
	// converted input document itself, where every other rule would read it as well.
	eager       bool
	withTargets []ast.Ref
	steps       int64

	engine      Engine
	sample      int
	asked       atomic.Int64 // calls, of which every sample-th is asked about twice
	differences atomic.Int64
	documents   sync.Pool // of *inputDocument

	packages map[string]*entry // by path as text
	common   []*entry
	mappings []mapped
	pins     pins
	covers   covers
	traced   sync.Once
	rules    map[*ast.Rule]Rule // of the compiler, once somebody traces
}

type mapped struct {
	compiledMapping
	entry *entry
}

// New builds the ruleset of s. The error is a *LoadError when the bundles break the
// load-time contract.
func New(ctx context.Context, s Source, o Options) (*Ruleset, error) {
	var fs findings
	b, err := newBuild(ctx, s, o, &fs)
	if err != nil {
		return nil, err
	}
	if err := fs.err(); err != nil {
		return nil, err
	}
	if err := b.compilePrograms(s); err != nil {
		return nil, err
	}
	return b.rules, nil
}

// compilePrograms makes the ruleset's other engine ready, if it is asked for.
func (b *build) compilePrograms(s Source) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &LoadError{[]Finding{{ID: idEngine, Message: fmt.Sprintf("OPA %s panicked while planning: %v", version.Version, p), Fix: "set engine: topdown, and report it with the bundle"}}}
		}
	}()
	return b.loader.compilePrograms(s)
}

// A build is a ruleset in the making, and what was found on the way.
type build struct {
	rules  *Ruleset
	source gathered
	loader loader
	// reached are the rules that have a part in a decision.
	reached map[*ast.Rule]bool
}

// newBuild brings a source together, compiles it and checks the contract. The error says
// what went so wrong that there is nothing to look at; everything else is a finding, and
// a ruleset with findings must not decide anything.
func newBuild(ctx context.Context, s Source, o Options, fs *findings) (b *build, err error) {
	defer func() {
		if p := recover(); p != nil { // OPA's compiler and dependency analysis panic on what they don't expect
			b, err = nil, &LoadError{[]Finding{{ID: idEngine, Message: fmt.Sprintf("OPA %s panicked while loading: %v", version.Version, p), Fix: "report it with the bundle"}}}
		}
	}()
	if o.Steps <= 0 {
		o.Steps = defaultSteps
	}
	if o.CachedPatterns <= 0 {
		o.CachedPatterns = defaultCachedPatterns
	}
	if err := o.checkEngine(); err != nil {
		return nil, err
	}
	g := gather(s, fs)
	if err := fs.err(); err != nil {
		return nil, err
	}
	r := &Ruleset{revision: g.revision, revisions: g.revisions, steps: o.Steps, engine: o.Engine, sample: o.Sample, builtins: boundedBuiltins(), packages: map[string]*entry{}}
	r.values = cache.NewInterQueryValueCache(ctx, &cache.Config{InterQueryBuiltinValueCache: cache.InterQueryBuiltinValueCacheConfig{MaxNumEntries: &o.CachedPatterns}})
	r.store = inmem.NewFromObjectWithOpts(g.data, inmem.OptReturnASTValuesOnRead(true), inmem.OptRoundTripOnWrite(false))
	if r.txn, err = r.store.NewTransaction(ctx); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	negations, err := r.compile(ctx, g, fs)
	if err != nil {
		return nil, err
	}
	r.addPackages(g, s, fs)
	r.pins = readPins(g.data, g.bundleAt, fs)
	l := loader{Ruleset: r, ctx: ctx, negations: negations, withTargets: findWithTargets(r.compiler), required: map[visit][]ast.Ref{}}
	r.eager = len(l.withTargets) > 0
	r.withTargets = l.withTargets
	b = &build{rules: r, source: g, loader: l}
	b.reached = l.checkContract(fs, g)
	if len(*fs) > 0 {
		return b, nil
	}
	l.boundBuiltins()
	for _, c := range g.metadata.SettingsChecks {
		r.checkSettings(ctx, c, g.data, fs)
	}
	return b, nil
}

// compile compiles the modules. Every `not` is returned as the author wrote it.
func (r *Ruleset) compile(ctx context.Context, g gathered, fs *findings) (*negations, error) {
	caps, err := capabilities(g.metadata.Builtins)
	if err != nil {
		fs.add(idManifest, g.builtinsAt, "correct metadata.regogate.builtins in .manifest", "builtins: %s", err)
		return nil, fs.err()
	}
	found := &negations{}
	const errorLimit = 100
	r.compiler = ast.NewCompiler().
		WithCapabilities(caps).
		WithDefaultRegoVersion(ast.RegoV1).
		WithPathConflictsCheck(storage.NonEmpty(ctx, r.store, r.txn)).
		WithStageAfterID(ast.StageResolveRefs, ast.CompilerStageDefinition{Name: "CollectNegations", MetricName: "collect_negations", Stage: found.collect}).
		SetErrorLimit(errorLimit)
	if r.compiler.Compile(g.modules); r.compiler.Failed() {
		fs.addOPA(idCompile, "correct the rule; opa check shows the same", r.compiler.Errors)
	}
	return found, fs.err()
}

// Revision names policy and data: the manifests' revisions, or a digest of the
// content where they have none, and the digest of the settings laid over it.
func (r *Ruleset) Revision() string { return r.revision }

func (r *Ruleset) cover(key coverKey, t *policy.Tool) policy.Coverage {
	c := policy.Coverage{Pin: r.pins.of(key)}
	entries, common := r.entriesFor(key.server, key.tool)
	c.Own = len(entries) > common
	compiled, why := r.compiledFor(t, entries)
	for _, e := range entries {
		info := e.info
		if why != "" {
			info.Engine, info.Note = string(Topdown), why
		}
		c.Packages = append(c.Packages, info)
	}
	if len(entries) > 0 {
		c.Deny = r.query("deny", entries, compiled, func(e *entry) *ast.Expr { return e.deny })
		if slices.ContainsFunc(entries, func(e *entry) bool { return e.warn != nil }) {
			c.Warn = r.query("warn", entries, compiled, func(e *entry) *ast.Expr { return e.warn })
		}
	}
	return c
}

// compiledFor reports whether compiled programs decide about a tool, for those packages
// that have them. why is the reason where the tool is one against it.
func (r *Ruleset) compiledFor(t *policy.Tool, entries []*entry) (compiled bool, why string) {
	if !slices.ContainsFunc(entries, func(e *entry) bool { return e.programs != nil }) {
		return false, ""
	}
	why = r.checkCalls(t, entries)
	return why == "", why
}

// entriesFor lists the packages that are asked about a tool: first the common ones.
func (r *Ruleset) entriesFor(server, tool string) (entries []*entry, common int) {
	add := func(e *entry) {
		if e != nil && !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	for _, e := range r.common {
		add(e)
	}
	common = len(entries)
	add(r.packages[toolPackage(tool).String()])
	for _, m := range r.mappings {
		if m.matches(server, tool) {
			add(m.entry)
		}
	}
	return entries, common
}

// Packages lists the packages that decide something, common ones first.
func (r *Ruleset) Packages() []policy.Package {
	var out []policy.Package
	for _, e := range r.common {
		out = append(out, e.info)
	}
	keys := make([]string, 0, len(r.packages))
	for k := range r.packages {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if e := r.packages[k]; !slices.Contains(r.common, e) {
			out = append(out, e.info)
		}
	}
	return out
}
