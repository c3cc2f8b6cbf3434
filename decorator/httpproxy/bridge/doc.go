// Package bridge puts an MCP server that talks over standard input and output behind
// HTTP: on one side Streamable HTTP, on the other processes and lines of JSON-RPC.
//
// A [Bridge] is an [net/http.RoundTripper], so that an HTTP proxy can have it for its
// upstream, and a handler. It decides nothing: what is to be refused must be refused
// before it.
//
// In the session protocol (up to 2025-11-25) each initialize starts a process, which
// belongs to that session until a DELETE, until it has been idle for too long, or until
// it ends; after that the session is 404. What the server says goes on byte for byte: an
// answer to the request that it answers, progress to the request whose progress it is,
// and everything else to the GET stream, or, while there is none, to the youngest request
// that can take it, or it waits for one of the two.
//
// A request of the stateless era (2026-07-28) is handled by one process of a pool. So
// that the clients of one process can't get each other's answers, ids and progress
// tokens are replaced by the bridge's own on the way in and put back on the way out;
// everything else stays as it is. Closing the answer cancels the request.
//
// The number of processes is bounded. A process that ends is answered for, by an error
// for each request that it owed an answer. One that ends without having said anything
// isn't started again at once, but after a pause that doubles with each failure.
//
// # Limits
//
// Streams can't be resumed (Last-Event-ID is ignored), and an answer that comes after
// its request's connection was lost is dropped. In the stateless era, what a pooled
// process says that belongs to no request is passed on only while the process has one
// request and no more, and what it asks is refused. A client's line feeds between JSON
// tokens become spaces, for a message is a line. Batches of a server are taken apart.
package bridge
