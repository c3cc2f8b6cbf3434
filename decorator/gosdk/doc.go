// Package gosdk puts a gate in front of tools that are served, or called, with the
// official SDK, github.com/modelcontextprotocol/go-sdk.
//
// A server takes one line, for all of its tools, now and later:
//
//	server.AddReceivingMiddleware(gosdk.Middleware(gate, gosdk.Options{}))
//
// or [GateServer], which is the same with an error. [Handler] gates one low-level
// tool instead. An agent gates what it calls itself, whatever server it goes to, with
// [GateClient].
//
// What is decided are the bytes of the arguments as they came over the wire, which
// are also what a low-level handler gets; absent arguments are decided as {}, and null
// is passed on as the {} that it was decided as. mcp.AddTool is different: it decodes them
// into float64, so that 9007199254740993 reaches the handler as 9007199254740992.
// A call to a tool that may be such a one, with a number that float64 doesn't hold,
// is therefore undecided. Tools whose numbers arrive as they were sent are those added
// with our [AddTool], those marked by [Exact], and those named by Options.Exact.
//
// The schemas are the server's own: the middleware lists its tools for each call, in
// the call's session and with the call's authorization, and a tool that was added,
// replaced or hidden since is seen as that. Only declarations that were not seen
// before are compiled.
//
// A refusal is a tool result with isError, or JSON-RPC error -32602 for an unknown
// tool. The handler doesn't run.
//
// # Limits
//
// Middleware sees what the SDK has decoded. Which of two equal names the SDK takes
// in the message around the arguments, it takes for the handler as well; the
// message's id is not shown to middleware, so input.call.id is null; answers of a
// multi-round-trip retry are decoded, and decided as the handler gets them.
//
// Install the gate before other receiving middleware, which then runs outside of it.
// Middleware that is installed earlier runs inside: it must not change a call, and it
// sees the gate's tools/list requests. A tool that is replaced while a call to it is
// being decided runs that one call on the earlier declaration's decision.
//
// When a client is too old for multi-round-trip requests, the SDK asks it for input
// itself and runs the handler again within the same tools/call: to the middleware
// that is one call, decided once, and the answers are not seen. [Handler] decides
// before each run of the handler, answers included.
//
// In a stateful HTTP server, all calls of a session get the context of the request
// that opened it. Take the caller from [Options].Caller or from receiving middleware,
// not from HTTP middleware.
//
// The SDK's client decodes the schemas that it gets. [GateClient] can't know a number
// of 2^53 or more in one exactly, so it refuses the calls to such a tool, and a
// fraction of more than 17 digits is taken as it was rounded. The arguments are
// encoded once, by the gate, and sent as they were decided.
package gosdk
