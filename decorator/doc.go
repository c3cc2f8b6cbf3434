// Package decorator puts a gate in front of tool handlers: a handler that is
// wrapped runs only for the calls that the gate lets through, and gets exactly the
// bytes that were decided.
//
// This package is for handlers of one's own: [Wrap] for those that take the bytes,
// [WrapTyped] for those that take a Go type, [WrapHTTP] for tools that are exposed as
// JSON over POST. Its subpackages do the same where a handler belongs to somebody
// else: gosdk and mcpgo for servers and clients made with an MCP SDK, stdioproxy in
// front of an MCP server that talks over standard input and output.
//
// # Limits
//
// A wrapped handler is only as closed as its surroundings: whoever can reach the
// handler itself goes around the gate. The arguments must not be modified by the
// caller while a call is being decided.
//
// [WrapTyped] finds a number that would be rounded in fields of the types float64 and
// float32, not in those of types named by the application, nor in types that unmarshal
// themselves.
//
// [WrapHTTP] decides the body. What a handler reads in the headers or in the path of
// a request was not decided.
package decorator
