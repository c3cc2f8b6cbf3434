package inputschema

import (
	"errors"
)

// A Schema is a tool's input schema, ready to check arguments. It is immutable and
// safe for concurrent use. Nil and the zero Schema refuse everything.
type Schema struct {
	options Options
	graph   *graph
	names   nameIndex
	pool    *pool
	second  *secondOpinion // nil if it isn't asked
	// closed are the names declared for the top level, if Options close it.
	closed  *topLevel
	extreme bool
}

const unusableText = "the tool has no input schema that could be checked"

var errUnusable = errors.New("the schema is nil or zero: use one that Compile returned")

func (s *Schema) usable() bool { return s != nil && s.pool != nil }

// Extreme reports whether a number anywhere in the schema is extreme, in a default for one
// (see [strictjson.IsExtreme]): a view may then hold it though the arguments don't.
func (s *Schema) Extreme() bool { return s == nil || s.extreme }

// Compile reads a schema and makes it ready. Its dialect is the one that $schema
// names, 2020-12 if there is none.
//
// The error, if any, is for operators: it says what is wrong, where, as a JSON Pointer
// into the schema behind a #, and what to do.
func Compile(raw []byte, o Options) (*Schema, error) {
	return compile(raw, o, environment{})
}

func compile(raw []byte, o Options, env environment) (*Schema, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	d, err := readDocument(raw, o, env)
	if err != nil {
		return nil, err
	}
	first, err := newEngine(d, o, env, nil)
	if err != nil {
		return nil, err
	}
	g, compiled := newGraph(first)
	if err := g.audit(); err != nil {
		return nil, err
	}
	g.settle()
	s := &Schema{options: o, graph: g, names: newNameIndex(g.declared), extreme: d.extreme}
	if o.OptionalNull == OptionalNullAbsent {
		if err := s.findNulls(first, compiled); err != nil {
			return nil, err
		}
	}
	if o.Undeclared == UndeclaredRefuse {
		s.closed = newTopLevel(s)
	}
	if o.SecondOpinion == SecondOpinionQri {
		if s.second, err = newSecondOpinion(s, d); err != nil {
			return nil, err
		}
	}
	s.pool = newPool(first, func() (*engine, error) { return newEngine(d, o, env, first.patterns) })
	return s, nil
}
