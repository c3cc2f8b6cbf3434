// Package regoeval evaluates deny sets written in Rego, with OPA as a library.
//
// [New] turns bundles into a [Ruleset]: an immutable snapshot of one compiler, one
// store and one prepared query per package, which a policy.Gate puts in force with
// one pointer swap. Policy and data of two revisions never mix, because nothing of
// a snapshot is ever replaced.
//
// Two contracts make sure that a rule which can't be evaluated refuses instead of
// staying silent. The load-time contract is checked by New: every deny set is a
// partial set that exists, of elements that can be messages, over data that exists,
// without built-ins that could answer differently tomorrow; each breach is a
// [Finding] with file, line and remedy, and a bundle with one is not a bundle. The
// run-time contract is kept on every evaluation: rule indexing and early exit are
// off, because both hide errors; any built-in error, exhausted budget, panic or odd
// result is an error, which the gate answers as undecided.
//
// # Limits
//
// The step budget counts expressions, not what a built-in does inside: built-ins
// whose cost an argument could blow up are not available, or only when the bundle
// asks for them. Memory is bounded only through the sizes of arguments and data. A
// rule on an argument that is absent is simply undefined, as everywhere in Rego:
// what the tool's schema requires is checked before, what it leaves optional is the
// author's to handle.
package regoeval
