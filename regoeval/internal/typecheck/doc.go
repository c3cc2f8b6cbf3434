// Package typecheck evaluates the rules for one tool without a call: over the shape of
// its arguments instead of values.
//
// What comes out is which expressions can't hold whatever the call: they read an
// argument that the tool doesn't declare, compare a number with a text, look for a
// constant that an enumeration doesn't have, or hand a built-in an operand that is an
// error. It follows values through names, imports, helper rules and functions, each as
// it is called, and conditions such as is_string as far as they go.
//
// [Check] asks this of all calls that the schema accepts. [Silent] asks what each rule
// does with the calls in which one value is absent, null or of another kind.
//
// # Limits
//
// The answer is certain where something is reported; that nothing is reported proves
// nothing. Values of data, of decoders and of built-ins count as unknown, and a rule
// that uses `with` on the input document isn't followed below it. An evaluation has a
// budget; what is beyond it isn't looked at.
package typecheck
