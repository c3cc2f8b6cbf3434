// Package starter embeds the starter bundle: Rego that refuses the kinds of tool
// call that have hurt people, for users who have no policy of their own yet.
//
// The files are an ordinary OPA bundle. Each kind of check is one file with a header
// that says what it stops, what it doesn't, and the public incidents behind it;
// data.json holds the settings. docs/guides/starter.md describes them.
//
// # Limits
//
// The rules see one call at a time and no more than its arguments: they can't follow
// a symbolic link, resolve a host name, remember an earlier call or know what a
// server does with what it is given.
package starter

import (
	"embed"
	"io/fs"
)

//go:embed .manifest data.json *.rego lib starter tests
var files embed.FS

// FS returns the bundle's files, .manifest at the root.
func FS() fs.FS { return files }
