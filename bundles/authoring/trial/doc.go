// Package trial runs a bundle's tests as the gate would decide, and makes up calls that
// nobody has written a test for.
//
// OPA's own tester runs first, with the errors of built-ins raised. Each test is then
// evaluated once more as the gate evaluates rules, with rule indexing and early exit
// off: a test that passes in OPA and not so is a failure, and says that it is one. The
// second run is what coverage is counted in, rule by rule.
//
// Generated calls go through a real gate, with the tool's own schema. For every rule
// they show a call that it refuses, and the nearest one that it doesn't.
//
// # Limits
//
// A test is stopped by the clock only: the step budget of a decision isn't applied to
// it, since one test may make many calls. Tests may use every built-in of OPA but the
// network; rules keep to the capabilities of bundles. Generated calls don't reach what
// is known of callers but the empty caller.
package trial
