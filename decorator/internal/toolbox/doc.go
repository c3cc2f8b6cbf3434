// Package toolbox knows which tools a server has: it has the server asked when that is
// needed, and says whether what is known can be relied on. Both proxies share it.
//
// A [Box] is what is known of one server, or of one session with it, and who needs to
// know more. A [Learner] asks on its behalf, with a tools/list of the gate's own and
// all of its pages; how a message reaches the server is the proxy's affair.
//
// # Limits
//
// One question is under way at a time. A list counts as the server's until the server
// says that it changed, until it is older than its lifetime, or until a call names a
// tool that is not in it; a server that changes its tools without saying so is decided
// on by the old list until then.
package toolbox
