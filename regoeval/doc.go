// Package regoeval evaluates deny sets written in Rego, with OPA as a library.
//
// [New] turns bundles into a [Ruleset]: an immutable snapshot of one compiler, one
// store and one prepared query per package, which a policy.Gate puts in force with
// one pointer swap. Policy and data of two revisions never mix, because nothing of
// a snapshot is ever replaced.
//
// Two contracts make sure that a rule which can't be evaluated refuses instead of
// staying silent. The load-time contract is checked by New: every deny set is a
// partial set that exists, of elements that can be messages, over data and members
// of the input that exist; no negation and no message falls silent because something
// in it is undefined; no built-in answers differently tomorrow, or lets the call
// decide what it costs. Each breach is a [Finding] with file, line and remedy, and a
// bundle with one is not a bundle. The run-time contract is kept on every evaluation:
// rule indexing and early exit are off, because both hide errors; any built-in error,
// exhausted budget, panic or odd result is an error, which the gate answers as
// undecided, and which quotes no argument. docs/contract.md tells both, with every
// trap of plain Rego and what becomes of it.
//
// # Limits
//
// The step budget counts expressions, not what a built-in does inside: its cost is
// bounded by the sizes of arguments and data, and those built-ins for which that isn't
// enough are not available, only when the bundle asks for them, or only with operands
// of the policy's own. Memory is bounded in the same way, and by the deadline. A rule
// on an argument that is absent is simply undefined, as everywhere in Rego: what the
// tool's schema requires is checked before, what it leaves optional is the author's to
// handle. What is known of data is known of the document as it was loaded: a key that
// the call chooses may not be there. A bundle in which a rule uses `with` pays for the
// conversion of all arguments, read or not.
package regoeval
