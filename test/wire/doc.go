// Package wire has one set of tricks that are played on the wire to have a server run a
// call that its gate refuses, and plays them on both proxies, in both eras of the protocol,
// and over HTTP/1.1 and HTTP/2.
//
// The tricks are data, in cases.jsonl: a message (or what looks like one to some
// readers), what is around it, and what the client has to be answered. They are played
// in front of a server that reads as leniently as any known server does, in every way at
// once ([Readings]). The hidden call must never run, and a call that is allowed must
// still run afterwards.
//
// Every case is played on both, unless it says why it can't be: that it is about headers,
// say. Other servers can be played on too: [Play] wants a gate's address only, [PlayLines]
// its standard streams, and both how to tell that the hidden call ran. The tests in
// test/e2e_smuggle_test.go do so with real servers.
//
// # Limits
//
// Over HTTP/2 nothing is compared with what a case says of an answer where the case is about
// something that only HTTP/1.1 has. Bodies of more than 64 KiB are sent by an ordinary client
// there.
//
// What the lenient server makes of a message is a list of the leniencies that were found
// in servers, not of all that there could be.
package wire
