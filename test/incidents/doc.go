// Package incidents holds public incidents as calls, and measures the starter bundle
// on them.
//
// incidents.jsonl has one case a line: where it comes from, its kind (the file of the
// starter bundle that is about it), the call, what is expected and why. A case with
// "needs" can't be refused from the arguments alone: it would take a resolver of
// links and names, the state of the session, or the server's own knowledge. settings.json
// are the settings under which the expectations hold. further.jsonl is a second set in
// the same form, of calls that were thought of without a look at the rules. benign.jsonl are ordinary calls
// of popular tools, measured with the settings as they come.
//
// The tests print a report by kind: refused, missed, benign refused.
//
// # Limits
//
// The calls are ours, written after public reports; they are not recordings. What is
// measured is the bundle's rules without a tool's schema, which would refuse more.
package incidents
