// Package bundles loads policy bundles and keeps them up to date: it reads them from
// where they are, makes sure that what it read is whole, within its limits and signed by
// whom it should be, and turns them into one immutable ruleset.
//
// A source is a directory, a .tar.gz as opa build writes it, an http(s) URL, or the word
// "starter" for the bundle that is built into the program. Several sources are merged
// when each has its own part of data. [Load] reads them once; a [Watcher] follows them.
//
// Whatever can't be read, verified, compiled or trusted to refuse is an error that says
// where and what to do, and changes nothing: what was in force stays in force. A new
// ruleset is put in force with one call, after everything about it was checked. The
// bundles that are in force can be kept on disk, for a start while their source is down.
//
// # Limits
//
// The size limit counts all files of a source together, unpacked, with their names.
// Symbolic links in a directory are not followed out of it. Data files are JSON or YAML;
// in JSON a name that is given twice is an error, since readers disagree on which one
// counts.
//
// A directory that is changed file by file can be seen between two of the changes: publish
// a new one and swap a link, or an archive. A server that answers 304 is believed: one
// that gives two contents the same ETag is found out with the next change only, except
// within the second in which it says that the first was made. Credentials
// for a token endpoint go where OPA's own client follows the endpoint's redirects.
package bundles
