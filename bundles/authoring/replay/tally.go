package replay

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/regogate/regogate/policy"
)

// A Report says what would change. Transitions that widen come first.
type Report struct {
	Records       int64            `json:"records"`         // decisions that were read
	Replayed      int64            `json:"replayed"`        // of these, decided again
	Unchanged     int64            `json:"unchanged"`       // of these, allowed or refused as before
	RefuseToAllow int64            `json:"refuse_to_allow"` // widened
	AllowToRefuse int64            `json:"allow_to_refuse"`
	NotReplayable map[Reason]int64 `json:"not_replayable"`
	Broken        int64            `json:"broken"` // lines that are no decision
	BrokenLines   []Broken         `json:"broken_lines"`
	Transitions   []Transition     `json:"transitions"`
}

// Broken is a line that can't be read as a decision.
type Broken struct {
	Line int    `json:"line"`
	Why  string `json:"why"`
}

// A Transition counts the calls of one tool that one rule decides otherwise.
type Transition struct {
	From   string      `json:"from"` // "refuse" or "allow"
	To     string      `json:"to"`
	Tool   string      `json:"tool"`
	Server string      `json:"server,omitempty"`
	Code   policy.Code `json:"code"`
	// Rule is the id of the rule that refuses, or refused; its message where it has none.
	Rule    string  `json:"rule"`
	Count   int64   `json:"count"`
	Example Example `json:"example"`
}

// An Example is the first call of a transition.
type Example struct {
	DecisionID string `json:"decision_id"`
	Line       int    `json:"line"`
	Arguments  string `json:"arguments"` // the beginning of them
}

const (
	maxBrokenLines = 10
	maxGroups      = 2000
	maxExample     = 300
	maxRule        = 200
)

type group struct {
	widened            bool
	tool, server, rule string
	code               policy.Code
}

// A tally is what one worker counted.
type tally struct {
	Report
	groups map[group]*Transition
}

func newTally() *tally {
	return &tally{Report: Report{NotReplayable: map[Reason]int64{}}, groups: map[group]*Transition{}}
}

func (t *tally) broken(l line, err error) {
	t.Broken++
	if len(t.BrokenLines) < maxBrokenLines {
		t.BrokenLines = append(t.BrokenLines, Broken{l.number, err.Error()})
	}
}

// change counts a call that is decided otherwise. because are the refusals of the side
// that refuses.
func (t *tally) change(l line, r record, widened bool, because []policy.Refusal) {
	g := group{widened: widened, tool: r.Tool, server: r.Server, rule: "(not recorded)"}
	if len(because) > 0 {
		g.code, g.rule = because[0].Code, ruleOf(because[0])
	}
	tr := t.groups[g]
	if tr == nil && len(t.groups) >= maxGroups {
		g.rule, g.tool, g.server = "(other rules)", "(other tools)", ""
		tr = t.groups[g]
	}
	if tr == nil {
		tr = &Transition{From: "allow", To: "refuse", Tool: g.tool, Server: g.server, Code: g.code, Rule: g.rule,
			Example: Example{r.ID, l.number, begin(string(r.Arguments), maxExample)}}
		if widened {
			tr.From, tr.To = tr.To, tr.From
		}
		t.groups[g] = tr
	}
	tr.Count++
	if widened {
		t.RefuseToAllow++
	} else {
		t.AllowToRefuse++
	}
}

// ruleOf names a rule by its id or by what it says, without the numbers and quoted
// values that make each message another one.
func ruleOf(r policy.Refusal) string {
	if r.Rule != "" {
		return r.Rule
	}
	digits := false
	s := strings.Map(func(c rune) rune {
		if unicode.IsDigit(c) {
			if digits {
				return -1
			}
			digits = true
			return '#'
		}
		digits = false
		return c
	}, r.Message)
	return begin(s, maxRule)
}

func begin(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// add adds what another worker counted.
func (t *tally) add(o *tally) {
	t.Records += o.Records
	t.Replayed += o.Replayed
	t.Unchanged += o.Unchanged
	t.RefuseToAllow += o.RefuseToAllow
	t.AllowToRefuse += o.AllowToRefuse
	t.Broken += o.Broken
	t.BrokenLines = append(t.BrokenLines, o.BrokenLines...)
	for reason, n := range o.NotReplayable {
		t.NotReplayable[reason] += n
	}
	for g, tr := range o.groups {
		mine := t.groups[g]
		if mine == nil {
			t.groups[g] = tr
			continue
		}
		mine.Count += tr.Count
		if tr.Example.Line < mine.Example.Line {
			mine.Example = tr.Example
		}
	}
}

// report puts everything in order.
func (t *tally) report() Report {
	r := t.Report
	slices.SortFunc(r.BrokenLines, func(a, b Broken) int { return a.Line - b.Line })
	r.BrokenLines = r.BrokenLines[:min(len(r.BrokenLines), maxBrokenLines)]
	if r.BrokenLines == nil {
		r.BrokenLines = []Broken{}
	}
	r.Transitions = make([]Transition, 0, len(t.groups))
	for _, tr := range t.groups {
		r.Transitions = append(r.Transitions, *tr)
	}
	slices.SortFunc(r.Transitions, func(a, b Transition) int {
		return cmp.Or(-cmp.Compare(a.From, b.From), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Server, b.Server), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Rule, b.Rule))
	})
	return r
}
