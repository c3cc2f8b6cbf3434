package inputschema

import (
	"fmt"
	"runtime/debug"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaURL is what the engine calls the document. No reference can lead there from
// anywhere else, and nothing is ever loaded from it.
const schemaURL = "tool:///schema"

// An environment is what tests of the official suite need to be different.
type environment struct {
	// load is asked for outside documents; nil refuses them all.
	load func(url string) (any, error)
	// dialect is the one of schemas without $schema; nil means 2020-12.
	dialect *jsonschema.Draft
	// anyRoot allows a schema that is true or false, and metaschemas that load knows.
	anyRoot bool
}

// An engine is one compiled copy of a schema. It counts its steps in itself, so only
// one check at a time can use it.
type engine struct {
	root   *jsonschema.Schema
	budget *budget
	// objects are the subschemas that are JSON objects, in the order of compilation,
	// and sources are these objects.
	objects []*jsonschema.Schema
	sources map[*jsonschema.Schema]map[string]any
	probes  map[*jsonschema.Schema]*probe
	// patterns are shared by all copies: the first one compiles them, the others read.
	patterns map[string]*pattern
}

// newEngine compiles a copy of d. Patterns are those of an earlier copy, nil for the
// first.
func newEngine(d *document, o Options, env environment, patterns map[string]*pattern) (e *engine, err error) {
	defer func() {
		if p := recover(); p != nil {
			e, err = nil, fmt.Errorf("#: panic while compiling the schema: %v\n%s", p, debug.Stack())
		}
	}()
	e = &engine{
		budget:   &budget{steps: o.Steps},
		sources:  map[*jsonschema.Schema]map[string]any{},
		probes:   map[*jsonschema.Schema]*probe{},
		patterns: patterns,
	}
	if patterns == nil {
		e.patterns = map[string]*pattern{}
	}
	e.budget.refill()
	c := jsonschema.NewCompiler()
	c.UseLoader(loader(env))
	c.UseRegexpEngine(e.regexpEngine(patterns == nil))
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: schemaURL + "/observed", Compile: e.observe})
	c.AssertVocabs()
	// Formats are resolved in every dialect alike; whether they count is for probes.
	c.AssertFormat()
	if env.dialect != nil {
		c.DefaultDraft(env.dialect)
	}
	if err := c.AddResource(schemaURL, d.value); err != nil {
		return nil, compileError(err, d)
	}
	if e.root, err = c.Compile(schemaURL); err != nil {
		return nil, compileError(err, d)
	}
	return e, e.attachProbes(o)
}

// attachProbes puts a probe in front of each subschema.
func (e *engine) attachProbes(o Options) error {
	price := unitsPerMember
	for _, s := range e.objects {
		if s.UnevaluatedItems != nil || s.UnevaluatedProperties != nil {
			price = unitsPerTracked
		}
	}
	for _, s := range e.objects {
		p, err := newProbe(s, o, e.budget)
		if err != nil {
			return err
		}
		p.name, p.item = p.name+price, p.item+price
		e.probes[s] = p
		p.attach(s)
	}
	return nil
}

// observe is called by the engine for each subschema that is an object.
func (e *engine) observe(ctx *jsonschema.CompilerContext, object map[string]any) (jsonschema.SchemaExt, error) {
	s := ctx.Enqueue(nil) // which is the subschema being compiled
	if err := checkKeywords(object, s.Location); err != nil {
		return nil, err
	}
	e.objects = append(e.objects, s)
	e.sources[s] = object
	return nil, nil
}

// loader returns what refuses outside documents.
func loader(env environment) jsonschema.URLLoader {
	return loaderFunc(func(url string) (any, error) {
		if env.load != nil {
			return env.load(url)
		}
		return nil, outsideError(url)
	})
}

type loaderFunc func(url string) (any, error)

func (f loaderFunc) Load(url string) (any, error) { return f(url) }

// outsideError refuses to load a URL.
type outsideError string

func (e outsideError) Error() string {
	return fmt.Sprintf("the document %.200q is outside of the schema, and nothing is ever loaded: copy it into $defs and refer to it there", string(e))
}
