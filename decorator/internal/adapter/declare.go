package adapter

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/regogate/regogate/policy"
)

// A declarer wants to know which tools a server declares, and finds fault with
// validators that none of them has. *policy.Gate is one.
type declarer interface {
	Declare(server string, tools []*policy.Tool) (notes []string)
}

// Declarations tell a decider which tools a server declares, whenever that changed, and
// report what it has to say about it. Make it with [NewDeclarations]; it is safe for
// concurrent use.
type Declarations struct {
	decider declarer // nil when nobody wants to know
	server  string
	report  func(note string)

	mu    sync.RWMutex
	begun bool
	tools map[string]*policy.Tool
	said  []string // the notes of the last time
}

// NewDeclarations returns the declarations of the server with that name, of which
// nothing is known yet. A decider without a Declare method isn't told anything.
func NewDeclarations(decider any, server string, report func(note string)) *Declarations {
	d := &Declarations{server: server, report: report}
	d.decider, _ = decider.(declarer)
	return d
}

// Wanted reports whether anybody wants to know.
func (d *Declarations) Wanted() bool { return d.decider != nil }

// Has reports whether a tool of that name was declared already, or nobody wants to know.
func (d *Declarations) Has(name string) bool {
	if d.decider == nil {
		return true
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.tools[name] != nil
}

// Only says that these are all tools that the server declares.
func (d *Declarations) Only(tools []*policy.Tool) {
	byName := make(map[string]*policy.Tool, len(tools))
	for _, t := range tools {
		byName[t.Name()] = t
	}
	d.tell(func(known map[string]*policy.Tool) map[string]*policy.Tool { return byName })
}

// Also says that the server declares these tools, beside those that it was said of
// before: of a server whose list differs from caller to caller nobody knows all.
func (d *Declarations) Also(tools []*policy.Tool) {
	if len(tools) == 0 && d.hasBegun() {
		return
	}
	d.tell(func(known map[string]*policy.Tool) map[string]*policy.Tool {
		all := make(map[string]*policy.Tool, len(known)+len(tools))
		maps.Copy(all, known)
		for _, t := range tools {
			if len(all) < maxTools {
				all[t.Name()] = t
			}
		}
		return all
	})
}

func (d *Declarations) hasBegun() bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.begun
}

// tell tells the decider, if that makes a difference, and reports the notes that are new.
func (d *Declarations) tell(change func(known map[string]*policy.Tool) map[string]*policy.Tool) {
	if d.decider == nil {
		return
	}
	for _, note := range d.declare(change) {
		d.report(note)
	}
}

func (d *Declarations) declare(change func(map[string]*policy.Tool) map[string]*policy.Tool) (news []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.tools
	d.tools = change(before)
	if d.begun && maps.EqualFunc(before, d.tools, func(*policy.Tool, *policy.Tool) bool { return true }) {
		return nil
	}
	d.begun = true
	notes := d.ask()
	for _, note := range notes {
		if !slices.Contains(d.said, note) {
			news = append(news, note)
		}
	}
	d.said = notes
	return news
}

// ask hands the tools to the decider, which isn't trusted to come back whole. The lock
// is held, so that a later list is not overtaken by an earlier one.
func (d *Declarations) ask() (notes []string) {
	defer func() {
		if p := recover(); p != nil {
			notes = []string{fmt.Sprintf("the decider could not be told the server's tools: panic: %v", p)}
		}
	}()
	return d.decider.Declare(d.server, slices.Collect(maps.Values(d.tools)))
}
