package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A registry has the Go validators of a gate. Decisions read one immutable list; to
// change it is to put another one in its place.
type registry struct {
	mu       sync.Mutex // of whoever changes anything
	inForce  atomic.Pointer[registrations]
	declared map[string]map[string]bool // names of tools, by server; see Gate.Declare
}

// registrations are wrapped so that one pointer swap replaces them.
type registrations struct{ list []Registration }

// Register puts r in force, beside the validators that are there and after them. One
// with the same Name for the same Server and Tool is replaced, in its place; the note
// then says so. The note says as well when r will never run, because the servers that
// have declared their tools (see [Gate.Declare]) have none that it covers. It is "" when
// there is nothing to say.
//
// Calls being decided keep the validators that they began with. A registration without
// a name or a validator is an error and changes nothing, and so is one with a gate that
// never asks anybody: nil, the zero Gate and a no-op gate.
func (g *Gate) Register(r Registration) (note string, err error) {
	switch {
	case g == nil || !g.ready && !g.noop:
		return "", errors.New("policy.Register: the gate is nil or was not made with policy.NewGate: it asks nobody")
	case g.noop:
		return "", fmt.Errorf("policy.Register: %s: a no-op gate lets every call through and asks nobody: make one with policy.NewGate", r)
	case r.Name == "":
		return "", fmt.Errorf("policy.Register: %s has no name: give it one, so that a later registration can replace it", r)
	case isNilValidator(r.Validator):
		return "", fmt.Errorf("policy.Register: %s is nil", r)
	}
	g.goCode.mu.Lock()
	defer g.goCode.mu.Unlock()
	list := slices.Clone(g.goCode.inForce.Load().list)
	var notes []string
	if i := slices.IndexFunc(list, r.replaces); i >= 0 {
		list[i] = r
		notes = append(notes, fmt.Sprintf("%s replaces the one that was registered before", r))
	} else {
		list = append(list, r)
	}
	g.goCode.inForce.Store(&registrations{list: list})
	if why := g.goCode.unused(r); why != "" {
		notes = append(notes, why)
	}
	return strings.Join(notes, "; "), nil
}

// Registrations returns the Go validators that are asked now. It must not be modified.
func (g *Gate) Registrations() []Registration {
	if g == nil {
		return nil
	}
	if r := g.goCode.inForce.Load(); r != nil {
		return r.list
	}
	return nil
}

// Declare tells the gate all tools that one server declares, in place of those that it
// was told before. It returns a note for each validator that is meant for one tool which
// no server has declared so far: it will never run. A validator for a server that has
// declared nothing yet has no note. It changes no decision.
func (g *Gate) Declare(server string, tools []*Tool) (notes []string) {
	if g == nil || !g.ready {
		return nil
	}
	names := make(map[string]bool, len(tools))
	for _, t := range tools {
		if t.Known() {
			names[t.Name()] = true
		}
	}
	g.goCode.mu.Lock()
	defer g.goCode.mu.Unlock()
	if g.goCode.declared == nil {
		g.goCode.declared = map[string]map[string]bool{}
	}
	g.goCode.declared[server] = names
	for _, r := range g.Registrations() {
		if why := g.goCode.unused(r); why != "" {
			notes = append(notes, why)
		}
	}
	return notes
}

// unused says why r will never run, "" when it may. The lock is held.
func (s *registry) unused(r Registration) string {
	if r.Tool == "" || len(s.declared) == 0 {
		return ""
	}
	if r.Server != "" {
		names, known := s.declared[r.Server]
		if !known || names[r.Tool] {
			return ""
		}
		return fmt.Sprintf("%s will never run: the server declares no such tool", r)
	}
	for _, names := range s.declared {
		if names[r.Tool] {
			return ""
		}
	}
	return fmt.Sprintf("%s will never run: no server declares such a tool", r)
}

// String names the registration for an operator.
func (r Registration) String() string {
	s := fmt.Sprintf("validator %q", r.Name)
	if r.Tool != "" {
		s += fmt.Sprintf(" for tool %q", r.Tool)
	}
	if r.Server != "" {
		s += fmt.Sprintf(" of server %q", r.Server)
	}
	return s
}

// replaces reports whether other is registered under the same name for the same.
func (r Registration) replaces(other Registration) bool {
	return r.Name == other.Name && r.Server == other.Server && r.Tool == other.Tool
}

// checkRegistrations finds fault with the validators that a gate is made with. Those
// without a name can't be told apart, and are all asked.
func checkRegistrations(list []Registration) (errs []error) {
	for i, r := range list {
		if isNilValidator(r.Validator) {
			errs = append(errs, fmt.Errorf("validator %d (%q, tool %q) is nil", i, r.Name, r.Tool))
		}
		if r.Name != "" && slices.ContainsFunc(list[:i], r.replaces) {
			errs = append(errs, fmt.Errorf("validator %d: %s is there twice: give each its own name", i, r))
		}
	}
	return errs
}

// isNilValidator reports whether there is nothing to ask.
func isNilValidator(v Validator) bool {
	f, isFunc := v.(ValidatorFunc)
	return v == nil || isFunc && f == nil
}
