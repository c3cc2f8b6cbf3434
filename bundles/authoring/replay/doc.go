// Package replay decides the calls of a decision log again, without running any tool, and
// says which decisions would change.
//
// [Run] reads a log once, as a stream: regogate's own records or those of OPA, as JSON
// lines or as the arrays that OPA uploads, gzipped or not. Each record whose call is known
// in full is decided by the new rules, at the time at which it was made and for the caller
// who made it. What it is compared with is the decision in the record or, when [Options.Old]
// is given, that of other rules. Memory doesn't grow with the log: differences are counted
// by tool and rule, with one example each.
//
// # Limits
//
// A call of which something was masked, left out or never recorded can't be decided again;
// such records are counted by the reason. That two revisions differ on calls which the log
// doesn't have is for their tests to find. Messages of rules without an id that hold values
// are told apart only up to a number of them; the others are counted as one.
package replay
