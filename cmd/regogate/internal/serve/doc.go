// Package serve makes an HTTP server of a configuration: the listener with its limits
// and certificates, who calls, how the server behind the gate is reached, and an end in
// good order.
//
// [Prepare] finds everything that is wrong with the configuration, as errors that name
// the key and where it stands, before anything listens. [Plan.Start] listens, and
// [Server.Run] serves until a signal ends it: what is under way finishes, streams are
// closed in a bounded time, and no process is left.
//
// Nothing listens beyond this machine without TLS, and no token is sent in the clear to
// another one, unless that is allowed by name.
//
// # Limits
//
// While the gate drains it takes no new connection, so a call that waits for its client's
// answer to a question of the server can get it over an open connection only. Requests
// of clients are not logged.
package serve
