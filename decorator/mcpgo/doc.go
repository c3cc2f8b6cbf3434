// Package mcpgo puts a gate in front of tools that are served with
// github.com/mark3labs/mcp-go. A server takes one option, for all of its tools, now
// and later:
//
//	s := server.NewMCPServer("files", "1.0.0", mcpgo.WithGate(gate, mcpgo.Options{}))
//
// or [Install], which does the same to a server that exists and returns an error.
//
// It is made of three parts, because mcp-go runs its tools in three ways. Tool
// middleware decides the calls that are run at once, and answers a refused one with a
// tool result. A hook that sees the raw message of each request decides the calls that
// ask to be run as a task: mcp-go runs the tools of AddTaskTool without middleware
// and without validation, and answers before the others are decided; a refused one is
// answered with a JSON-RPC error. A tool filter sees to it that no task runs when the
// hook was lost.
//
// What is decided are the bytes that mcp-go keeps in RawArguments, exactly as they
// came. It hands out the arguments a second time, decoded into float64, which is what
// GetInt, GetFloat and GetArguments read: there, 9007199254740993 is 9007199254740992.
// A call with a number that float64 doesn't hold is therefore undecided, unless
// Options.Exact says that the tool's handler reads the bytes, as BindArguments does.
//
// The schemas are the server's own, looked up for each call, session tools first, so
// a tool that was added or replaced since is seen as that. Only declarations that
// were not seen before are compiled.
//
// Who calls comes from the context, which mcp-go makes anew for each HTTP request:
// see [HTTPCaller].
//
// # Limits
//
// mcp-go leaves an adapter no choice of error code. A refused task call has -32600
// with the decision's text, and no data; a call to an unknown tool has mcp-go's own
// -32602 and text (the gate decides and records it all the same). Middleware isn't
// shown the id of the message, so input.call.id is null but for tasks and unknown
// tools.
//
// Add the gate after other middleware, so that it runs inside of it: what is changed
// after the decision was not decided. mcp-go runs a task in a context that has ended,
// so a task call that other middleware changed is decided again in one, and refused.
// Put hooks in with WithHooks before WithGate: a
// later WithHooks throws the gate's hook away, and every tool that can run as a task
// is then hidden from lists and calls, until that is mended.
//
// To find a tool that can only run as a task, to be sure that a tool is unknown, and,
// once, to tell which validators will never run, the gate sends the server a tools/list
// of its own, which other hooks see.
//
// A tool filter that shows a caller another schema than the tool was added with
// doesn't change which schema calls are checked against.
//
// [Adapter.Middleware] alone is enough for a server without tasks only.
package mcpgo
