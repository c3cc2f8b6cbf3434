// Package httpproxy gates an MCP server that speaks Streamable HTTP.
//
// A [Proxy] is an http.Handler that stands between any number of clients and one
// server. What passes goes on byte for byte, in both directions, and streams stay
// streams; a call that is refused is answered in the server's place and never reaches
// it. Every tools/call is decided exactly once, on the very bytes that are sent on.
//
// Both eras of the protocol are served at the same time: sessions up to 2025-11-25,
// told apart by their Mcp-Session-Id, and the stateless 2026-07-28, whose requests say
// their version in _meta. What headers say beside the body (Mcp-Method, Mcp-Name,
// Mcp-Param-*, MCP-Protocol-Version) has to be what the body says. Decisions are made
// on the body alone.
//
// The gate asks the server for its tools with a tools/list of its own, within the
// session or with the request's own _meta, and with the headers that tell the server
// who asks. What it learns is kept for that session, or in the stateless era for that
// Authorization, and shared with others only when the server says that its list is
// public. It asks again when the server says that the tools changed, when a call names
// one that it doesn't know, and when the list has expired; calls wait for that, in
// bounded number and for a bounded time. An open Mcp-Session-Id is nothing that the
// gate makes or keeps: a gate that was restarted goes on with the server's sessions.
//
// A message that readers could understand in two ways is answered with a JSON-RPC error
// on an HTTP 4xx; a call that the policy refuses with a tool result on HTTP 200; and a
// server that is down, slow, cut off in the middle or talking nonsense with a JSON-RPC
// error that names the request.
//
// # Limits
//
// A list_changed of one session is not taken as news about another. Where there is
// neither a session nor a version in _meta (a stateless server of the older era), a list
// counts for a minute. What a server sends on the stream of the gate's own tools/list,
// beside the list, reaches nobody.
//
// Request bodies are read whole before anything is decided, and JSON answers before
// they are passed on, up to 16 MiB each; a longer JSON answer is passed on unread, and cut
// off when it doesn't end in time. Event streams are passed on event by event, for as long
// as the client listens. An answer with an HTTP status that is about the request rather
// than the message (4xx) is passed on whatever it says.
//
// HTTP compression, redirects of the server and protocol upgrades don't pass. JSON-RPC
// batches (2025-03-26) and the older HTTP+SSE transport are not supported.
package httpproxy
