package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
)

// reasons are the refusals without what might repeat an argument.
func reasons(rec policy.Record) []string {
	refusals := rec.Decision.Refusals
	out := make([]string, len(refusals))
	for i, r := range refusals {
		what, where := r.Message, r.Location
		if r.Code == policy.Denied {
			what = "a deny rule"
			if id := ruleOf(rec, r.Rule); id != "" {
				what = "rule " + id
			}
			where = locationOf(rec, where)
		}
		if where != "" {
			what = where + ": " + what
		}
		out[i] = what
	}
	return out
}

// ruleOf is a rule's id, "" for one that its author made of an argument.
func ruleOf(rec policy.Record, id string) string {
	if id == "" || repeats(rec, id) {
		return ""
	}
	return short(decisionlog.WithoutSecrets(id))
}

// locationOf is where in the arguments a rule found something, "" for what isn't a place
// there: it may be a value.
func locationOf(rec policy.Record, pointer string) string {
	if rec.Tool() == nil {
		return short(pointer)
	}
	if _, there := rec.Input.Arguments().Lookup(pointer); !there && repeats(rec, pointer) {
		return ""
	}
	return short(decisionlog.WithoutSecrets(pointer))
}

// repeats reports whether the arguments have a text in them, as it is or as JSON writes it.
func repeats(rec policy.Record, text string) bool {
	if rec.Tool() == nil {
		return false // there are no arguments that anybody has looked at
	}
	raw := rec.Input.Arguments().Raw()
	quoted, err := json.Marshal(text)
	return err != nil || bytes.Contains(raw, []byte(text)) || bytes.Contains(raw, bytes.Trim(quoted, `"`))
}

// toolOf is the name of a tool. One that no server declares was made up by an agent, and
// may hold anything.
func toolOf(rec policy.Record) string {
	name := rec.Decision.Tool
	if t := rec.Tool(); !t.Known() {
		name = decisionlog.WithoutSecrets(name)
	}
	return short(name)
}

// short makes a name that an agent or a server may have made up fit for a log: no longer
// than a name is, and without characters that a terminal or a reader of logs obeys.
func short(name string) string {
	return cut(strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, cut(name, 128)), 128)
}
