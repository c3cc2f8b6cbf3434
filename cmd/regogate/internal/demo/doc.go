// Package demo is what regogate try shows: an example MCP server, a small policy for
// its tools, and calls of which it is known what must become of them.
//
// Nothing is pretended: the server is a process of its own, the gate stands between
// two real pipes, the policy is loaded as any other, and the client is that of the
// official SDK. The demonstration fails when one call comes out otherwise than it
// should, or reaches the server when it should not.
//
// # Limits
//
// The server's tools do nothing but count their calls.
package demo
