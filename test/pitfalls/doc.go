// Package pitfalls holds public bug reports on checking arguments as test cases.
//
// # Limits
//
// It has tests only. README.md names the reports that an argument gate can't decide.
package pitfalls
