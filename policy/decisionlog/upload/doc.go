// Package upload sends decision records to a server that speaks OPA's decision log API:
// gzipped JSON arrays, posted to a path that ends in /logs.
//
// A [Sink] collects records for a moment, sends what has come together, and tries again
// for as long as the server doesn't take it, with growing, jittered pauses. Meanwhile
// records wait in the bounded buffer of the decisionlog.Log in front of it, which drops
// and counts what finds no room. A part that the server refuses as too large or as
// malformed is halved until the record that is to blame is alone; that one is lost, and
// counted.
//
// # Limits
//
// Redirects are not followed: records go where they were meant to go, or nowhere. A
// record may arrive twice when an answer is lost on the way; its decision_id tells.
// Nothing is kept on disk.
package upload
