package mcpwire

import (
	"strings"

	"github.com/regogate/regogate/policy/strictjson"
)

// Names of members of _meta in requests of the stateless era.
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaSubscription       = "io.modelcontextprotocol/subscriptionId"
)

// A level is a place in a message where the specification gives names a meaning.
type level int

const (
	topLevel level = iota
	paramsLevel
	metaLevel
)

func (l level) String() string {
	switch l {
	case topLevel:
		return "the message"
	case paramsLevel:
		return "params"
	case metaLevel:
		return "params._meta"
	default:
		return "an object"
	}
}

// known returns the exact name of level l that a lenient reader could take name for,
// and whether there is one.
func known(l level, name string) (exact string, ok bool) {
	// A reader that keeps strings as C does stops at the first NUL.
	if i := strings.IndexByte(name, 0); i >= 0 {
		name = name[:i]
	}
	exact, ok = knownNames[l][strictjson.FoldName(name)]
	return exact, ok
}

// knownNames has, for each level, the specification's names by their folded form.
// The names of params are those of all methods together: a reader may look for any
// of them before it knows the method.
var knownNames = [...]map[string]string{
	topLevel: folded("jsonrpc", "id", "method", "params", "result", "error"),
	paramsLevel: folded("_meta", "name", "arguments", "task", "inputResponses", "requestState",
		"cursor", "uri", "ref", "argument", "context", "level", "notifications",
		"protocolVersion", "capabilities", "clientInfo",
		"requestId", "reason", "progressToken", "progress", "total", "message",
		"taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt", "ttl", "pollInterval"),
	metaLevel: folded("progressToken", MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities, metaSubscription,
		"io.modelcontextprotocol/logLevel", "io.modelcontextprotocol/related-task",
		"traceparent", "tracestate", "baggage"),
}

func folded(names ...string) map[string]string {
	m := make(map[string]string, len(names))
	for _, n := range names {
		m[strictjson.FoldName(n)] = n
	}
	return m
}
