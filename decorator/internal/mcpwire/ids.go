package mcpwire

import (
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"
	"sync/atomic"
)

// OwnIDs makes the ids of a gate's own requests to a server. They begin with a random
// prefix, so that no client can know one and have the answer to the gate's question
// taken for its own, or the other way round. Safe for concurrent use.
type OwnIDs struct {
	prefix string
	count  atomic.Int64
}

// NewOwnIDs returns ids with a prefix of their own, of 128 random bits.
func NewOwnIDs() *OwnIDs { return &OwnIDs{prefix: "regogate-" + rand.Text() + "-"} }

// Next returns an id that was not returned before.
func (o *OwnIDs) Next() json.RawMessage {
	return json.RawMessage(`"` + o.prefix + strconv.FormatInt(o.count.Add(1), 10) + `"`)
}

// Prefix is what every own id begins with, as it stands in a message: letters, digits
// and hyphens, which no JSON encoder escapes.
func (o *OwnIDs) Prefix() string { return o.prefix }

// Owns reports whether an id is an own one, however it is written.
func (o *OwnIDs) Owns(id json.RawMessage) bool { return strings.HasPrefix(unquote(id), o.prefix) }

// UsedBy reports whether a client's message uses an own id, in any of the places that
// name a request or what belongs to one.
func (o *OwnIDs) UsedBy(m *Message) bool {
	return o.Owns(m.ID) || o.Owns(m.Param("requestId")) || o.Owns(m.Param("progressToken")) ||
		o.Owns(m.Meta("progressToken")) || o.Owns(m.Meta(metaSubscription))
}

// OwnIDFault is the fault of a message that uses one of the gate's own ids.
func OwnIDFault(m *Message) *Fault {
	f := invalid("the message uses an id that is reserved for the gate")
	if m.Kind == Request {
		f.ID = m.ID
	}
	return f
}
