// Package mcpwire reads and writes MCP messages as bytes: what both proxies share.
//
// A proxy must decide about the very message that the server will act on, and
// servers read leniently in ways that differ: one takes "Method" for "method", one
// the last of two equal names, one goes on after the end of the value. So [Read]
// accepts only messages about which readers can't disagree, and keeps what it
// accepted as slices of the original bytes: nothing here encodes a message again
// that somebody else wrote.
//
// The arguments of a tools/call are the exception. Read finds where they begin and
// end, and leaves it to the gate to say whether they are one unambiguous value, so
// that a call with bad arguments is refused as a call, with its id. The same holds
// for a call's inputResponses. Everything else in the message, at every level, has
// to be valid UTF-8 without half surrogates and without a name given twice.
//
// The server's messages are read by [ReadServer], which is lenient: what a server
// says goes to the client as it is, and the gate only listens.
//
// # Limits
//
// The names that a variant spelling is refused for are those of the specification,
// at the top level, in params and in _meta. Deeper down, two names that differ by
// letter case only are left alone, except in the arguments, which the gate reads.
// Both eras of the protocol are known: sessions up to 2025-11-25 and the stateless
// 2026-07-28. JSON-RPC batches are refused in every version, also in 2025-03-26,
// which had them. Ids are at most 1 KiB long, and numbers among them are finite.
package mcpwire
