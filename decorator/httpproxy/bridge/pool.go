package bridge

import (
	"encoding/json"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// A worker is a process that serves requests of any number of stateless clients.
type worker struct {
	b *Bridge
	p *process

	mu        sync.Mutex
	ended     bool
	last      int64 // the id that was given last
	exchanges map[string]*pooled
	used      time.Time
}

// A pooled exchange has, beside the client's names for it, one that no other request
// to the process has.
type pooled struct {
	*exchange
	own json.RawMessage
}

// load is how many requests the worker has.
func (w *worker) load() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.exchanges)
}

func (w *worker) idle(d time.Duration) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.exchanges) == 0 && time.Since(w.used) > d
}

// post handles one request.
func (w *worker) post(r *http.Request, m *mcpwire.Message, body []byte) (*http.Response, error) {
	e, ok := newExchange(m, r, w.b.o.MessageBytes)
	if !ok {
		return notAcceptable(r), nil
	}
	places, err := find(body)
	if err != nil {
		return problem(r, http.StatusBadRequest, nil, mcpwire.CodeInvalidRequest, "the message can't be told apart from others"), nil
	}
	x, ok := w.enter(e)
	if !ok {
		return w.b.gone(r, m.ID), nil
	}
	if err := w.p.write(apply(body, edit{places[atID], x.own}, edit{places[atMetaToken], x.own})); err != nil {
		e.fail(mcpwire.CodeInternal, err.Error())
	}
	return e.await(r)
}

func (w *worker) enter(e *exchange) (*pooled, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return nil, false
	}
	w.last++
	x := &pooled{exchange: e, own: json.RawMessage(strconv.FormatInt(w.last, 10))}
	key := mcpwire.IDKey(x.own)
	w.exchanges[key] = x
	w.used = time.Now()
	var once sync.Once
	e.forgotten = func() { once.Do(func() { w.leave(key, x) }) }
	return x, true
}

// leave forgets an exchange, and tells the server when its answer is still to come: the
// client has closed the stream, which in this era is how it cancels.
func (w *worker) leave(key string, x *pooled) {
	w.mu.Lock()
	_, open := w.exchanges[key]
	delete(w.exchanges, key)
	w.used = time.Now()
	w.mu.Unlock()
	if open {
		_ = w.p.write([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + string(x.own) + `}}`))
	}
}

// heard passes on what the server says to the one client that it is for.
func (w *worker) heard(m mcpwire.ServerMessage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	places, err := find(m.Raw)
	switch {
	case err != nil:
		w.b.o.Logger.Warn("a message of a server process can't be passed on", "error", err)
	case m.IsResponse():
		key := mcpwire.IDKey(places[atID].of(m.Raw))
		x, ok := w.exchanges[key]
		if !ok {
			w.b.o.Logger.Info("an answer comes too late for its request, and is dropped")
			return
		}
		delete(w.exchanges, key)
		x.answer(x.restore(m.Raw, places))
	case m.ID != nil && m.Method != "":
		go func() {
			_ = w.p.write(mcpwire.ErrorResponse(m.ID, mcpwire.CodeMethodNotFound, "a stateless client can't be asked", nil))
		}()
	case m.Method != "":
		if x := w.meant(m.Raw, places); x != nil && x.carries() {
			x.events.put(x.restore(m.Raw, places))
			return
		}
		w.b.o.Logger.Info("a notification of a server process belongs to no request, and is dropped")
	}
}

// meant returns the exchange that a notification belongs to: the one that it names, or
// the only one there is when it names none. The lock is held.
func (w *worker) meant(message []byte, places map[string]span) *pooled {
	named := false
	for _, at := range []string{atToken, atSubscription, atRequest} {
		if place, ok := places[at]; ok {
			named = true
			if x, ok := w.exchanges[mcpwire.IDKey(place.of(message))]; ok {
				return x
			}
		}
	}
	if named || len(w.exchanges) != 1 {
		return nil
	}
	for _, x := range w.exchanges {
		return x
	}
	return nil
}

// restore puts the client's own names into a message, where the bridge's stand.
func (x *pooled) restore(message []byte, places map[string]span) []byte {
	var edits []edit
	put := func(at string, text json.RawMessage) {
		if place, ok := places[at]; ok && text != nil && mcpwire.IDKey(place.of(message)) == mcpwire.IDKey(x.own) {
			edits = append(edits, edit{place, text})
		}
	}
	put(atID, x.message.ID)
	put(atToken, x.message.Meta("progressToken"))
	put(atRequest, x.message.ID)
	put(atSubscription, x.message.ID)
	put(atResultSubscription, x.message.ID)
	return apply(message, edits...)
}

// end ends the process.
func (w *worker) end() {
	w.b.dismiss(w)
	w.p.end()
}

// gone answers for a process that has ended.
func (w *worker) gone(*process) {
	w.b.dismiss(w)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for key, x := range w.exchanges {
		delete(w.exchanges, key)
		x.fail(mcpwire.CodeInternal, errEnded.Error())
	}
}
