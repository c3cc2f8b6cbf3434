// Command regogate refuses bad tool calls of AI agents before they run.
//
// It stands in front of an MCP server and decides each call by the tool's own input
// schema and by a policy written in Rego. See regogate --help for its commands, and
// regogate try for a demonstration that needs nothing.
//
// # Limits
//
// Only what passes through it is decided: an agent that can reach the server by
// another way is not gated.
package main

import "github.com/regogate/regogate/cmd/regogate/command"

func main() { command.Main() }
