// Package bundles loads policy bundles: it reads them from where they are, makes
// sure that what it read is whole and within its limits, and turns them into one
// immutable ruleset.
//
// A source is a directory, a .tar.gz as opa build writes it, or the word "starter"
// for the bundle that is built into the program. Several sources are merged when
// each has its own part of data. Whatever can't be read, compiled or trusted to
// refuse is an error that says where and what to do: a bundle is loaded completely
// or not at all.
//
// # Limits
//
// The size limit counts all files of a source together, unpacked. Symbolic links in
// a directory are not followed out of it. Data files are JSON or YAML; in JSON a
// name that is given twice is an error, since readers disagree on which one counts.
package bundles
