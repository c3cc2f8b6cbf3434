package inputschema

import (
	"fmt"
	"strconv"

	"github.com/regogate/regogate/policy/strictjson"
)

// FoldConflicts returns a violation for each object of the arguments that has a name
// which some readers would take for a declared one, though it differs: "Path" where the
// schema declares "path". A name is compared with those that the schema declares for
// the same object, wherever it does so: in whatever branch, and through references.
//
// Such arguments mean different things to different readers, whatever the schema says
// of undeclared ones, so the caller refuses them as malformed.
func (s *Schema) FoldConflicts(args map[string]any) (conflicts []Violation) {
	if !s.usable() {
		return []Violation{{Message: unusableText}}
	}
	defer func() {
		if recover() != nil {
			conflicts = []Violation{{Message: "the arguments are too large or too deep for their names to be compared with the declared ones"}}
		}
	}()
	w := s.newWalk()
	if !s.names.suspects(w, args) {
		return nil
	}
	f := folder{walk: w, schema: s, args: args}
	f.value(args, []*node{s.graph.root})
	return s.limited(f.conflicts)
}

// A nameIndex finds out quickly that arguments have no name worth a closer look.
type nameIndex struct {
	// byFold leads from a folded name to the declared one, "" if there are several.
	// As "" is also a name, ambiguous tells.
	byFold    map[string]string
	ambiguous map[string]bool
}

func newNameIndex(declared map[string]bool) nameIndex {
	x := nameIndex{byFold: make(map[string]string, len(declared)), ambiguous: map[string]bool{}}
	for name := range declared {
		folded := strictjson.FoldName(name)
		if _, ok := x.byFold[folded]; ok {
			x.ambiguous[folded] = true
		}
		x.byFold[folded] = name
	}
	return x
}

// suspects reports whether v has, at any depth, a name that folds to a declared one,
// in any place of the schema, without certainly being it.
func (x *nameIndex) suspects(w *walk, v any) bool {
	w.enter()
	defer w.leave()
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			w.spend(len(name) / bytesPerUnit)
			folded := strictjson.FoldName(name)
			if declared, ok := x.byFold[folded]; ok && (declared != name || x.ambiguous[folded]) {
				return true
			}
			if x.suspects(w, e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if x.suspects(w, e) {
				return true
			}
		}
	}
	return false
}

// A folder compares the names of each object with those declared for it.
type folder struct {
	*walk
	schema    *Schema
	args      any
	at        []string // where in the arguments
	conflicts []Violation
}

func (f *folder) value(v any, at []*node) {
	f.enter()
	defer f.leave()
	if len(at) == 0 {
		return
	}
	set := f.closure(at, declaring)
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			f.name(name, set)
			if isContainer(e) {
				f.within(name, e, f.members(set, name))
			}
		}
	case []any:
		for i, e := range v {
			if isContainer(e) {
				f.within(strconv.Itoa(i), e, f.items(set, i))
			}
		}
	}
}

func (f *folder) within(token string, v any, at []*node) {
	f.at = append(f.at, token)
	f.value(v, at)
	f.at = f.at[:len(f.at)-1]
}

// name compares one name of an object with all that set declares.
func (f *folder) name(name string, set []*node) {
	f.spend(1)
	folded := strictjson.FoldName(name)
	if _, ok := f.schema.names.byFold[folded]; !ok {
		return
	}
	like := ""
	found := false
	for _, n := range set {
		f.spend(len(n.properties))
		if n.properties[name] != nil {
			return
		}
		for declared := range n.properties {
			if strictjson.FoldName(declared) == folded && (!found || declared < like) {
				like, found = declared, true
			}
		}
	}
	if found {
		f.conflicts = append(f.conflicts, Violation{
			Pointer: f.schema.place(f.args, f.at),
			Message: fmt.Sprintf("a name here is like %s, but not spelled exactly so: use the declared spelling, or another name", quote(like)),
		})
	}
}
