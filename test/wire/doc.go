// Package wire has one set of tricks that are played on the wire to have a server run a
// call that its gate refuses, and plays them on the HTTP proxy in both eras.
//
// The tricks are data, in cases.jsonl: a message (or what looks like one to some
// readers), what is around it, and what the client has to be answered. They are played
// in front of a server that reads as leniently as any known server does, in every way at
// once ([Readings]). The hidden call must never run, and a call that is allowed must
// still run afterwards.
//
// The other servers can be played on too: [Play] wants a gate's address only, and how to
// tell that the hidden call ran.
//
// # Limits
//
// The cases say which of them make sense over standard streams, but nothing plays those
// here, nor over HTTP/2: the tests in test/e2e_smuggle_test.go do the former, and play on
// real servers.
//
// What the lenient server makes of a message is a list of the leniencies that were found
// in servers, not of all that there could be.
package wire
