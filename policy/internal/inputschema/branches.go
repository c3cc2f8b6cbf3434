package inputschema

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxForms and maxReasons bound what a text says about the branches of anyOf or oneOf.
const (
	maxForms   = 6
	maxReasons = 3
)

// A form is one branch of anyOf or oneOf and why the value doesn't match it.
type form struct {
	number   int // from 1
	title    string
	failures []failure
}

// branches explains a value that matches no branch. If it can be told which one was
// meant, the reasons of that one are the explanation.
func (x *explainer) branches(e *jsonschema.ValidationError, group int) []failure {
	at := e.InstanceLocation
	forms := x.forms(e, group)
	if len(forms) == 0 {
		return []failure{{at: at, message: textGeneric}}
	}
	likely := slices.DeleteFunc(slices.Clone(forms), func(f form) bool { return f.finds(len(at), reasonKind) != nil })
	if len(likely) == 0 {
		return []failure{wrongKind(at, forms)}
	}
	if f := merged(at, likely); f != nil {
		return []failure{*f}
	}
	likely = slices.DeleteFunc(slices.Clone(likely), func(f form) bool { return f.finds(len(at)+1, reasonConst) != nil })
	switch {
	case len(likely) == 0:
		likely = slices.DeleteFunc(forms, func(f form) bool { return f.finds(len(at), reasonKind) != nil })
	case len(likely) == 1:
		return likely[0].failures
	}
	return []failure{{at: at, message: x.summary(at, likely, len(forms), group)}}
}

func (x *explainer) forms(e *jsonschema.ValidationError, group int) []form {
	var titles []string
	if n := x.schema.graph.at[e.SchemaURL]; n != nil {
		for _, edge := range n.same {
			if edge.relation == choice && edge.group == group {
				title, _ := edge.to.source["title"].(string)
				titles = append(titles, title)
			}
		}
	}
	forms := make([]form, len(e.Causes))
	for i, c := range e.Causes {
		forms[i] = form{number: i + 1, failures: x.failures(c)}
		if len(titles) == len(e.Causes) {
			forms[i].title = titles[i]
		}
	}
	return forms
}

// finds returns the form's finding of a reason at a depth, nil if there is none.
func (f form) finds(depth int, r reason) *finding {
	for _, g := range f.failures {
		if g.finding != nil && g.finding.reason == r && len(g.at) == depth {
			return g.finding
		}
	}
	return nil
}

// wrongKind explains a value that is of no branch's kind.
func wrongKind(at []string, forms []form) failure {
	f := &finding{reason: reasonKind}
	for _, form := range forms {
		g := form.finds(len(at), reasonKind)
		f.got, f.want = g.got, f.want|g.want
	}
	if f.want&kindNumber != 0 {
		f.want &^= kindInteger
	}
	return failure{at: at, message: f.message(), finding: f}
}

// merged returns one failure for all forms if each of them asks for a constant at the
// same place: the value itself, or the property that tells the forms apart. It returns
// nil otherwise.
func merged(at []string, forms []form) *failure {
	var place []string
	var allowed []string
	for i, form := range forms {
		var here *failure
		for j, g := range form.failures {
			if g.finding != nil && g.finding.reason == reasonConst && len(g.at) <= len(at)+1 {
				here = &form.failures[j]
				break
			}
		}
		if here == nil || i > 0 && !slices.Equal(here.at, place) {
			return nil
		}
		place = here.at
		allowed = append(allowed, here.finding.value)
	}
	if len(allowed) == 1 {
		return nil // its other failures count as well
	}
	f := &finding{reason: reasonEnum, text: oneOfText(allowed, len(allowed))}
	return &failure{at: place, message: f.message(), finding: f}
}

// summary says briefly why each form isn't matched.
func (x *explainer) summary(at []string, forms []form, total, group int) string {
	want := "at least one"
	if group == groupOne {
		want = "exactly one"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "must match %s of %s", want, counted(total, "form"))
	for _, f := range forms[:min(len(forms), maxForms)] {
		fmt.Fprintf(&b, "; form %d", f.number)
		if f.title != "" {
			fmt.Fprintf(&b, " (%s)", quote(f.title))
		}
		fmt.Fprintf(&b, ": %s", x.reasons(at, f))
	}
	if left := total - min(len(forms), maxForms); left > 0 {
		fmt.Fprintf(&b, "; %s not shown", counted(left, "form"))
	}
	return b.String()
}

// reasons gives the first reasons of one form, with their places below at.
func (x *explainer) reasons(at []string, f form) string {
	texts := make([]string, 0, len(f.failures))
	for _, g := range f.failures {
		text := cut(g.message, 2*maxQuoted)
		if len(g.at) > len(at) {
			whole := x.schema.place(x.given, g.at)
			text = strings.TrimPrefix(whole, x.schema.place(x.given, at)) + " " + text
		}
		texts = append(texts, text)
	}
	slices.SortFunc(texts, func(x, y string) int { return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)) })
	texts = slices.Compact(texts)
	left := len(texts) - maxReasons
	text := strings.Join(texts[:min(len(texts), maxReasons)], ", ")
	if left > 0 {
		text += fmt.Sprintf(", and %d more", left)
	}
	return text
}
