package adapter

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/regogate/regogate/decorator"
	"github.com/regogate/regogate/policy"
)

// maxTools is how many declarations are kept compiled. A server whose lists differ
// from caller to caller may have more than it has tools.
const maxTools = 10_000

// Tools keeps tools compiled, by what is declared of them: equal declarations have
// one *policy.Tool, and a declaration that changed has another. Make it with
// [NewTools]; it is safe for concurrent use.
type Tools struct {
	decider decorator.Decider
	server  string
	report  func(error)

	mu    sync.RWMutex
	tools map[[sha256.Size]byte]*policy.Tool
}

// NewTools returns an empty Tools of the server with that name. report, if not nil,
// is told once of each declaration that can't be used.
func NewTools(d decorator.Decider, server string, report func(error)) *Tools {
	return &Tools{decider: d, server: server, report: report, tools: map[[sha256.Size]byte]*policy.Tool{}}
}

// Declared returns the tool that marshals to its declaration: an element of a
// tools/list result. It never fails: a declaration that can't be read makes a tool
// with that name which refuses its calls.
func (t *Tools) Declared(name string, declaration any) *policy.Tool {
	spec, err := readSpec(t.server, declaration)
	if err != nil {
		return t.Broken(name, err)
	}
	return t.Of(spec)
}

// Broken returns a tool that refuses its calls because of why.
func (t *Tools) Broken(name string, why error) *policy.Tool {
	return t.Of(policy.ToolSpec{Server: t.server, Name: name, Broken: why})
}

// Twice returns a tool that refuses its calls because it is declared twice.
func (t *Tools) Twice(name string) *policy.Tool {
	return t.Broken(name, errors.New("it is declared twice"))
}

func readSpec(server string, declaration any) (spec policy.ToolSpec, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic while reading the declaration: %v\n%s", p, debug.Stack())
		}
	}()
	raw, err := json.Marshal(declaration)
	if err != nil {
		return spec, fmt.Errorf("the declaration is no JSON: %w", err)
	}
	specs, err := policy.ReadTools(server, append(append([]byte{'['}, raw...), ']'))
	if err != nil || len(specs) != 1 {
		return spec, errors.Join(errors.New("the declaration is not one of a tool"), err)
	}
	return specs[0], nil
}

// Of returns the tool of that spec.
func (t *Tools) Of(spec policy.ToolSpec) *policy.Tool {
	key := fingerprint(spec)
	t.mu.RLock()
	tool := t.tools[key]
	t.mu.RUnlock()
	if tool != nil {
		return tool
	}
	tool = t.compile(spec)
	t.mu.Lock()
	first := t.tools[key] == nil
	if first {
		if len(t.tools) >= maxTools {
			clear(t.tools)
		}
		t.tools[key] = tool
	} else {
		tool = t.tools[key]
	}
	t.mu.Unlock()
	if err := tool.SchemaErr(); err != nil && first {
		Report(t.report, fmt.Errorf("every call to the tool is refused: %w", err))
	}
	return tool
}

func (t *Tools) compile(spec policy.ToolSpec) (tool *policy.Tool) {
	defer func() {
		if p := recover(); p != nil {
			spec.Broken = fmt.Errorf("panic while compiling the declaration: %v\n%s", p, debug.Stack())
			spec.InputSchema, spec.Annotations = nil, nil
			tool = t.decider.Tool(spec)
		}
	}()
	return t.decider.Tool(spec)
}

// fingerprint is the same for specs that declare the same.
func fingerprint(s policy.ToolSpec) [sha256.Size]byte {
	h := sha256.New()
	part := func(b []byte) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(b)))
		h.Write(n[:])
		h.Write(b)
	}
	for _, text := range []string{s.Server, s.Name, s.Title} {
		part([]byte(text))
	}
	part(s.Annotations)
	part(s.InputSchema)
	flags := byte(0)
	if s.NoSchema {
		flags |= 1
	}
	if s.OutputSchema {
		flags |= 2
	}
	part([]byte{flags})
	if s.Broken != nil {
		part([]byte(s.Broken.Error()))
	}
	return [sha256.Size]byte(h.Sum(nil))
}
