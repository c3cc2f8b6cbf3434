// Package adapter has what the adapters of the MCP SDKs share: asking a decider
// without trusting it to come back whole, keeping declared tools compiled and telling
// the decider which there are, finding
// numbers that a handler would not get as they were decided, and turning a decision
// into the parts of an answer.
//
// It knows no SDK. Refusals are written by mcpwire, so that a client can't tell by
// its answer whether a proxy or an adapter refused it.
//
// # Limits
//
// [Inexact] looks at the literals of numbers. It doesn't know whether a handler reads
// a number at all, so it may find one that nobody would have rounded.
package adapter
