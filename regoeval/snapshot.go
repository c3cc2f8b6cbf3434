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
	eager bool
	steps int64

	engine      Engine
	sample      int
	asked       atomic.Int64 // calls, of which every sample-th is asked about twice
	differences atomic.Int64
	documents   sync.Pool // of *inputDocument

	packages map[string]*entry // by path as text
	common   []*entry
	mappings []mapped
	pins     pins
	traced   sync.Once
	rules    map[*ast.Rule]Rule // of the compiler, once somebody traces
	covers   sync.Map           // coverKey → policy.Coverage: derived from the above, so it can only ever hold one value
}

type coverKey struct{ server, tool string }

type mapped struct {
	compiledMapping
	entry *entry
}

// New builds the ruleset of s. The error is a *LoadError when the bundles break the
// load-time contract.
func New(ctx context.Context, s Source, o Options) (_ *Ruleset, err error) {
	defer func() {
		if p := recover(); p != nil { // OPA's compiler and dependency analysis panic on what they don't expect
			err = &LoadError{[]Finding{{ID: idEngine, Message: fmt.Sprintf("OPA %s panicked while loading: %v", version.Version, p), Fix: "report it with the bundle"}}}
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
	var fs findings
	g := gather(s, &fs)
	if err := fs.err(); err != nil {
		return nil, err
	}
	r := &Ruleset{revision: g.revision, revisions: g.revisions, steps: o.Steps, engine: o.Engine, sample: o.Sample, builtins: boundedBuiltins(), packages: map[string]*entry{}}
	r.values = cache.NewInterQueryValueCache(ctx, &cache.Config{InterQueryBuiltinValueCache: cache.InterQueryBuiltinValueCacheConfig{MaxNumEntries: &o.CachedPatterns}})
	r.store = inmem.NewFromObjectWithOpts(g.data, inmem.OptReturnASTValuesOnRead(true), inmem.OptRoundTripOnWrite(false))
	if r.txn, err = r.store.NewTransaction(ctx); err != nil {
		return nil, fmt.Errorf("store: %w", err)
	}
	negations, err := r.compile(ctx, g, &fs)
	if err != nil {
		return nil, err
	}
	r.addPackages(g, s, &fs)
	r.pins = readPins(g.data, g.bundleAt, &fs)
	l := loader{Ruleset: r, ctx: ctx, negations: negations, withTargets: findWithTargets(r.compiler), required: map[visit][]ast.Ref{}}
	r.eager = len(l.withTargets) > 0
	l.checkContract(&fs, g)
	if err := fs.err(); err != nil {
		return nil, err
	}
	l.boundBuiltins()
	for _, c := range g.metadata.SettingsChecks {
		r.checkSettings(ctx, c, g.data, &fs)
	}
	if err := fs.err(); err != nil {
		return nil, err
	}
	if err := l.compilePrograms(s); err != nil {
		return nil, err
	}
	return r, nil
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

// Cover returns the rules for one tool: of its own package, of every mapping that
// matches, and the common ones, in one validator.
func (r *Ruleset) Cover(t *policy.Tool) policy.Coverage {
	key := coverKey{t.Server(), t.Name()}
	if c, ok := r.covers.Load(key); ok {
		return c.(policy.Coverage)
	}
	c := r.cover(key, t)
	r.covers.Store(key, c)
	return c
}

func (r *Ruleset) cover(key coverKey, t *policy.Tool) policy.Coverage {
	c := policy.Coverage{Pin: r.pins.of(key)}
	entries := r.entriesOf(key)
	c.Own = slices.ContainsFunc(entries, func(e *entry) bool { return !slices.Contains(r.common, e) })
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

// entriesOf returns the packages that are asked for one tool, common ones first.
func (r *Ruleset) entriesOf(key coverKey) []*entry {
	var entries []*entry
	add := func(e *entry) {
		if e != nil && !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	for _, e := range r.common {
		add(e)
	}
	add(r.packages[toolPackage(key.tool).String()])
	for _, m := range r.mappings {
		if m.matches(key.server, key.tool) {
			add(m.entry)
		}
	}
	return entries
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
