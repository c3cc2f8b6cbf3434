// Package skeleton writes a bundle for the tools that a server lists, to begin a policy
// with: a package for each tool, tests that pass, settings, and the tools pinned.
//
// A skeleton refuses every call of its tool until somebody says in data.json that its
// rules have been reviewed: a tool that has a package is no longer unmapped, and must
// not become callable by that alone. Writing into a bundle that is there adds what is
// new and changes nothing of its author's; what has changed at the server is reported.
//
// # Limits
//
// A list of tools is a stranger's text. Names and values of it become string literals
// of Rego and JSON, everything else only comments of one line each, without control
// characters. A tool whose name is longer than 1024 bytes gets no package, and one whose
// declaration has no canonical form no pin. Files are written below the folder only,
// also where there are symbolic links in it.
package skeleton
