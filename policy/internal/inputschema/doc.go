// Package inputschema compiles a tool's input schema and checks the arguments of
// calls against it.
//
// [Compile] reads the schema strictly, compiles it with an engine that passes all
// required tests of the official suite, and audits the result. [Schema.Check] says
// whether arguments satisfy it: a violation can be shown to the agent, so that it
// can correct the call, and an error is for the operator. What can't be decided is
// an error, and an error refuses; so does the zero value of every type here.
//
// The engine is github.com/santhosh-tekuri/jsonschema/v6. Its types never leave the
// package. It is run with these precautions, each for a reason that was measured:
//
//   - It loads nothing. References lead to places in the same document or to the
//     well-known metaschemas; everything else is an error of [Compile].
//   - Every evaluation of a subschema is counted before it is done, and other work
//     (long lists, long strings, large patterns) in proportion. When the steps are
//     used up, the check ends. The count depends on schema and arguments only.
//   - Types, constants, enumerations, formats, property names and uniqueness are
//     checked by this package, since the engine leaves early without being counted,
//     or takes quadratic time, over some of these.
//   - The keywords are compared exactly; one that differs from a keyword by letter
//     case only is an error, for other engines would take it for that keyword.
//   - A schema that refers to itself without consuming input is an error, also below
//     not and if, where the engine would take the cycle for a failure.
//
// # Limits
//
// A schema may have 512 KiB, 64 levels, 5,000 objects and booleans, 200 identifiers and
// anchors, and 200 subschemas that lead to one another for the same value; its patterns
// may have 100,000 instructions in all. $dynamicRef and $recursiveRef aren't accepted
// for the names of properties.
//
// A large pattern makes long strings expensive: a match is charged as if it had to try
// all of the pattern at each byte.
//
// Patterns are RE2: a schema with a lookahead or a backreference doesn't compile.
// \d, \w, \s and \b mean ASCII, and \s lacks some spaces that ECMA-262 has.
//
// Formats that the engine doesn't know (idn-hostname, int32, …) are not asserted.
// Where one is known, it is the format's syntax that is checked: whether a host
// exists is nobody's concern here.
//
// contentEncoding, contentMediaType and contentSchema are annotations. The
// vocabularies of custom metaschemas are not supported, as these would have to be
// loaded.
//
// Defaults are filled in where the schema declares properties unconditionally: by
// properties, also through $ref and allOf, and through anyOf or oneOf if only one
// branch is for that kind of value. Below if, then, else, dependentSchemas and among
// several branches they are not.
//
// A schema keeps up to 16 compiled copies of itself, one for each check that runs at
// the same time; they are made when they are first needed.
//
// The second engine, qri, isn't asked about schemas that have reference keywords or
// identifiers, nor about arguments above 64 KiB. It is asked by one call at a time in
// the whole process. A call that it takes too long over is refused, and so is every
// further one until it is done with it.
package inputschema
