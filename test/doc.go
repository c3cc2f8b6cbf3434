// Package test holds what is checked from outside: the house's own rules, the
// command line, and the gate in front of real MCP servers.
//
// # Limits
//
// The suites of shared data run only where REGOGATE_SHARED names their folder, and
// the end-to-end tests only where REGOGATE_E2E names a folder with the servers
// installed; both say what they skip. .ci/run sets the two.
package test
