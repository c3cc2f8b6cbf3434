// Package toolsource asks an MCP server for its tools: one that is started and talks over
// standard input and output, or one that is reached over Streamable HTTP.
//
// It is for those who write and check policies before a gate stands in front of the
// server: it connects, lists all pages of the tools, and leaves. No tool is called.
//
// Both eras of the protocol are spoken. A server is asked to begin a session first, as
// every server up to 2025-11-25 expects; one that knows no sessions is asked as
// 2026-07-28 has it.
//
// # Limits
//
// A list has at most 100 pages, 10,000 tools and 64 MiB, and everything together has to
// come within a time. Tools that a server adds later, or shows to other clients only, are
// not in the list. Redirections are not followed, since they would be given the headers.
package toolsource
