// Package stdioproxy gates an MCP server that talks over its standard streams.
//
// [Run] starts the server and stands between it and the client. What passes goes on
// byte for byte, in both directions and line by line; a call that is refused is
// answered in the server's place and never reaches it. Every tools/call is decided
// exactly once, when everything that the client sent before it is on its way.
//
// The gate asks the server for its tools with a tools/list of its own, after the
// handshake (or, where there is none, after the first request that says which
// version it speaks), whenever the server says that they changed, and when a call
// names one that it doesn't know. Calls wait for that, and what the client sends after
// a waiting call waits with it, so that the order stays. Answers to the server's own
// requests never wait: a server may need one before it lists its tools. Neither do
// cancellations: one that names a request which is still waiting takes that request
// out, and neither of the two reaches the server. A call that has waited too long, or
// is one too many, is refused as not_ready.
//
// Who calls comes with the context given to Run, see [policy.WithCaller].
//
// # Limits
//
// A server that changes its tools without saying so is decided on by the old list
// until a call names a tool that is not in it; in the stateless era (2026-07-28) the
// list is asked for again when it is older than the server allows, but at most every
// ten seconds. Lines of the server beyond 16 MiB pass unread: a list of tools in one
// can't be learned, and the answer to the gate's question then goes to the client,
// which knows nothing of it.
//
// Signals that are passed on reach the server a second time where a terminal already
// sent them to the whole foreground process group. When the server ends while the
// client's input is still open, one goroutine stays behind in a Read of it, and does
// nothing more when that returns. Where a system has no SIGTERM, the server is killed.
package stdioproxy
