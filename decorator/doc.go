// Package decorator puts a gate in front of tool handlers: a handler that is
// wrapped runs only for the calls that the gate lets through, and gets exactly the
// bytes that were decided.
//
// This package is for plain Go handlers. Its subpackages do the same where a
// handler belongs to somebody else: stdioproxy stands in front of an MCP server
// that talks over standard input and output.
//
// # Limits
//
// A wrapped handler is only as closed as its surroundings: whoever can reach the
// handler itself goes around the gate. The arguments must not be modified by the
// caller while a call is being decided.
package decorator
