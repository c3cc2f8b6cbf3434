// Package decisionlog records what a gate decided, one JSON object per decision, in the
// shape of OPA's decision log.
//
// A [Log] is a policy.Recorder. It hands each decision to a goroutine of its own, which
// leaves out what must not be recorded and passes the rest on to the [Sink]s. Everything
// on the way is bounded, and nothing waits: a sink that is slow or dead never delays or
// changes a decision, and what finds no room is dropped and counted, in [Stats] and in
// the metrics of the next record. With [Options.Required] this is turned round: a
// decision that can't be recorded refuses its call.
//
// Beside OPA's members (decision_id, timestamp, labels, bundles, path, input, result,
// erased, masked, metrics) a record has code, mode, allowed, effective, tool, server and
// tool_digest; arguments says how the arguments were recorded, arguments_digest is a keyed
// digest of them, and defaults lists what the schema's defaults filled in.
//
// By default arguments are masked: what a secret-like name holds, and what looks like a
// secret wherever it stands, in nested JSON and in the middle of texts, is replaced, and
// so is every repetition of it, in other arguments and in the messages of rules. On top
// of that, the bundle's own data.system.log.mask says what else to leave out. A record
// that can't be masked is dropped and counted.
//
// # Limits
//
// Nobody can recognise every secret: one without a telling name or a known shape is
// recorded. Name it in the bundle's mask, or use [Digest] or [None]. A rule's message that
// encodes a value (base64, reversed) escapes the search for repetitions. Nothing of
// arguments that are malformed is recorded but how many bytes they had, except with
// [Full]. Records of one gate come in the order in which they were decided on each
// goroutine; between goroutines there is no order. One file belongs to one process.
package decisionlog
