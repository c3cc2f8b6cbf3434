package mcpgo

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

const (
	maxTickets     = 4096
	ticketLifetime = time.Minute
)

// Tickets say that the hook let a task call through, to the middleware that mcp-go
// runs it with later. A ticket is for what was decided (the session, the tool, the
// bytes), so that a call changed in between doesn't pass with it. Each is for one call: a second
// call like it comes through the hook, too, and has its own. The zero value is ready.
type tickets struct {
	mu   sync.Mutex
	sold map[[sha256.Size]byte]*ticket
}

type ticket struct {
	left   int
	issued time.Time // the latest of them
}

func ticketFor(session string, p *mcp.CallToolParams) [sha256.Size]byte {
	answers, err := json.Marshal(p.InputResponses)
	if err != nil {
		answers = nil // such a call is refused
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(session), []byte(p.Name), p.RawArguments, answers} {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

func (t *tickets) issue(session string, p *mcp.CallToolParams) {
	key, now := ticketFor(session, p), time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sold == nil {
		t.sold = map[[sha256.Size]byte]*ticket{}
	}
	if len(t.sold) >= maxTickets { // of calls that mcp-go refused after the hook
		for k, old := range t.sold {
			if now.Sub(old.issued) > ticketLifetime {
				delete(t.sold, k)
			}
		}
		if len(t.sold) >= maxTickets {
			return // the middleware will decide the call itself
		}
	}
	if t.sold[key] == nil {
		t.sold[key] = &ticket{}
	}
	t.sold[key].left++
	t.sold[key].issued = now
}

func (t *tickets) redeem(session string, p *mcp.CallToolParams) bool {
	key := ticketFor(session, p)
	t.mu.Lock()
	defer t.mu.Unlock()
	sold := t.sold[key]
	if sold == nil || time.Since(sold.issued) > ticketLifetime {
		return false
	}
	if sold.left--; sold.left == 0 {
		delete(t.sold, key)
	}
	return true
}
