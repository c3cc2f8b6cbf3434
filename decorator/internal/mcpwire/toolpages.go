package mcpwire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/regogate/regogate/policy"
)

// Defaults of [PageLimits].
const (
	DefaultPages     = 100
	DefaultTools     = 10_000
	DefaultListBytes = 64 << 20
)

// PageLimits bound how much of a server's tools/list is read. Zeros mean defaults.
type PageLimits struct {
	Pages, Tools, Bytes int
}

func (l PageLimits) filled() PageLimits {
	if l.Pages <= 0 {
		l.Pages = DefaultPages
	}
	if l.Tools <= 0 {
		l.Tools = DefaultTools
	}
	if l.Bytes <= 0 {
		l.Bytes = DefaultListBytes
	}
	return l
}

// A ToolPages puts the pages of one tools/list together. Ask with [ToolPages.Request],
// add what comes back, until there is no more.
type ToolPages struct {
	limits PageLimits
	meta   json.RawMessage
	cursor string
	pages  int
	tools  []byte // the elements read so far, with commas between them
	fresh  time.Duration
	dated  bool
	closed bool // a page is not for everybody
}

// NewToolPages begins a list. meta is the _meta of every request, nil in the era of
// sessions; see [StatelessMeta].
func NewToolPages(meta json.RawMessage, l PageLimits) *ToolPages {
	return &ToolPages{limits: l.filled(), meta: meta}
}

// Request returns the request for the next page, without a line feed.
func (p *ToolPages) Request(id json.RawMessage) []byte {
	var b bytes.Buffer
	b.WriteString(`{"jsonrpc":"2.0","id":`)
	b.Write(id)
	b.WriteString(`,"method":"` + ListTools + `","params":{`)
	if p.meta != nil {
		b.WriteString(`"_meta":`)
		b.Write(p.meta)
	}
	if p.cursor != "" {
		if p.meta != nil {
			b.WriteByte(',')
		}
		b.WriteString(`"cursor":`)
		b.Write(quote(p.cursor))
	}
	b.WriteString(`}}`)
	return b.Bytes()
}

// Add reads a page: the result of a response. More says that there is another.
func (p *ToolPages) Add(result json.RawMessage) (more bool, err error) {
	page, err := readPage(result)
	if err != nil {
		return false, fmt.Errorf("page %d: %w", p.pages+1, err)
	}
	p.pages++
	if elements := bytes.TrimSpace(page.tools[1 : len(page.tools)-1]); len(elements) > 0 {
		if len(p.tools) > 0 {
			p.tools = append(p.tools, ',')
		}
		p.tools = append(p.tools, elements...)
	}
	if len(p.tools) > p.limits.Bytes {
		return false, fmt.Errorf("page %d: the list has more than %d bytes", p.pages, p.limits.Bytes)
	}
	if page.dated && (!p.dated || page.fresh < p.fresh) {
		p.fresh, p.dated = page.fresh, true
	}
	p.closed = p.closed || !page.public
	if page.next == "" {
		return false, nil
	}
	if page.next == p.cursor {
		return false, fmt.Errorf("page %d: its nextCursor is the cursor that it was asked for with", p.pages)
	}
	if p.pages >= p.limits.Pages {
		return false, fmt.Errorf("page %d: the list has more than %d pages", p.pages, p.limits.Pages)
	}
	p.cursor = page.next
	return true, nil
}

// Specs returns the tools of all pages, in order. The error names elements that could
// not be read; unless the specs are nil they are the other tools.
func (p *ToolPages) Specs(server string) ([]policy.ToolSpec, error) {
	list := make([]byte, 0, len(p.tools)+2)
	list = append(append(append(list, '['), p.tools...), ']')
	specs, err := policy.ReadTools(server, list)
	if len(specs) > p.limits.Tools {
		return nil, fmt.Errorf("the list has %d tools, more than %d", len(specs), p.limits.Tools)
	}
	return specs, err
}

// Fresh returns for how long the server says that the list may be relied on, and
// whether it says so (2026-07-28: ttlMs).
func (p *ToolPages) Fresh() (time.Duration, bool) { return p.fresh, p.dated }

// Public reports whether the server says, on every page, that the list is the same for
// everybody (2026-07-28: cacheScope).
func (p *ToolPages) Public() bool { return p.pages > 0 && !p.closed }

// A toolPage is one page's members that matter here.
type toolPage struct {
	tools  jsontext.Value
	next   string
	fresh  time.Duration
	dated  bool
	public bool
}

// maxFresh keeps a number of milliseconds from overflowing a Duration.
const maxFresh = 365 * 24 * time.Hour

func readPage(result json.RawMessage) (toolPage, error) {
	var page toolPage
	dec := jsontext.NewDecoder(bytes.NewBuffer(result), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if tok, err := dec.ReadToken(); err != nil || tok.Kind() != '{' {
		return page, errors.New("the result is not an object")
	}
	seen := map[string]bool{}
	for dec.PeekKind() == '"' {
		tok, err := dec.ReadToken()
		if err != nil {
			return page, fmt.Errorf("the result is not JSON: %w", err)
		}
		name := tok.String()
		raw, err := dec.ReadValue()
		if err != nil {
			return page, fmt.Errorf("the result is not JSON: %w", err)
		}
		if seen[name] {
			return page, fmt.Errorf("the result has %q twice", name)
		}
		seen[name] = true
		if err := page.take(name, raw); err != nil {
			return page, err
		}
	}
	if page.tools == nil {
		return page, errors.New(`the result has no "tools"`)
	}
	return page, nil
}

func (page *toolPage) take(name string, raw jsontext.Value) error {
	switch name {
	case "tools":
		if raw.Kind() != '[' {
			return errors.New(`"tools" is not an array`)
		}
		page.tools = raw.Clone()
	case "nextCursor":
		if err := json.Unmarshal(raw, &page.next); err != nil {
			return errors.New(`"nextCursor" is not a string`)
		}
	case "ttlMs":
		var ms float64
		if err := json.Unmarshal(raw, &ms); err == nil {
			page.dated = true
			page.fresh = time.Duration(min(max(ms, 0), maxFresh.Seconds()*1000)) * time.Millisecond
		}
	case "cacheScope":
		page.public = string(raw) == `"public"`
	case "resultType":
		var kind string
		if err := json.Unmarshal(raw, &kind); err != nil || kind != "complete" {
			return errors.New("the result is not complete: the server wants something first")
		}
	}
	return nil
}

// StatelessMeta returns what a request by the gate has to say for itself in the
// stateless era, taken from a client's request: the version and who the client is
// and what it can do, and nothing that belongs to that request alone. It is nil when
// m is a message of the era of sessions.
func StatelessMeta(m *Message) json.RawMessage {
	if m.Kind != Request || m.Meta(MetaProtocolVersion) == nil {
		return nil
	}
	b := []byte{'{'}
	for _, name := range []string{MetaProtocolVersion, MetaClientInfo, MetaClientCapabilities} {
		raw := m.Meta(name)
		if raw == nil {
			continue
		}
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(append(b, quote(name)...), ':'), raw...)
	}
	return append(b, '}')
}
