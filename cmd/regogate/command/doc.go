// Package command is regogate's command line: one file per command, and no logic of
// its own. A command turns flags and the configuration into calls of the packages
// that do the work, and their answers into output and an exit status:
//
//	0  allowed, all is well
//	1  refused, something falls short
//	2  the command could not do its work
//
// Decisions go to standard output and everything else to standard error. An error is
// one line that says what, where and what to do.
//
// # Limits
//
// Nothing is read from environment variables, and there is no default configuration
// file: what isn't named on the command line is not looked for.
package command
