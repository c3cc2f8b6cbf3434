// Package generate makes arguments for a tool out of its input schema: valid ones,
// those at the edges of what the schema allows, and combinations of both.
//
// It needs no engine: a schema goes in as JSON, arguments come out as JSON. The same
// schema, number, hints and seed give the same arguments in the same order, on every
// machine. Whoever needs to be certain that arguments are valid lets a gate decide
// them: what comes out here is meant to be valid.
//
// # Limits
//
// References are followed inside the schema only. not, if, contains, dependentSchemas
// and unevaluated… are not looked at, and patterns are matched as far as Go's regular
// expressions can read them. Nesting ends at 8 levels, an array has at most 20
// elements and a text at most 4096 characters, so that a schema which asks for more
// gets arguments that don't satisfy it.
package generate
