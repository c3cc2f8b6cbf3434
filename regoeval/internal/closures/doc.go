// Package closures evaluates rules by calling Go closures that were made of OPA's own
// plan of them.
//
// OPA's compiler and planner turn rules into statements of its intermediate
// representation (v1/ir); [Compile] turns these, once, into closures over constants,
// the members of the input that the rules read, and the locals of each function. Input
// stays the decoded JSON tree that it is: a value becomes one of OPA's own only where a
// built-in needs it. A built-in's fast path either answers or says that it doesn't
// cover the operands; OPA's own implementation then gives the value or the error, so
// that no built-in is written twice.
//
// The meaning is that of topdown with rule indexing and early exit off: the same
// values, and no error where topdown has none that this package doesn't report.
// It may report more: topdown looks up one key of a partial rule without evaluating
// the others, a plan makes the whole. Who uses a [Program] to decide therefore asks
// topdown wherever [Result] isn't clean.
//
// # Limits
//
// What can't be planned or compiled is an [UnsupportedError]. Steps are calls and
// iterations: another count than topdown's. There is no tracing, and no cover. The data
// document is part of a program, which holds for one revision only.
package closures
