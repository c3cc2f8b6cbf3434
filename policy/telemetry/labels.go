package telemetry

import (
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/regogate/regogate/policy"
)

// What stands for a tool whose name isn't told.
const (
	unknownTool = "(unknown)" // no server declares it: its name was made up by whoever called
	otherTool   = "(other)"   // one of those that are too many to be told apart
)

// What can happen to a call.
const (
	effectiveForwarded = "forwarded"
	effectiveRefused   = "refused"
	allowed            = "allowed" // stands where a refusal has its code
)

// maxValue is the greatest length of an attribute's value, in bytes.
const maxValue = 128

// labels bound how many tools are told apart, because a name is not ours to bound.
type labels struct {
	max   int
	other *label

	mu     sync.RWMutex
	byTool map[toolKey]*label
}

type toolKey struct{ server, tool string }

func newLabels(max int) *labels {
	return &labels{max: max, other: newLabel(toolKey{"", otherTool}), byTool: map[toolKey]*label{}}
}

// of returns the label of a record's tool.
func (l *labels) of(rec policy.Record) *label {
	t := rec.Tool()
	key := toolKey{printable(t.Server()), unknownTool}
	if t.Known() {
		key.tool = printable(t.Name())
	}
	l.mu.RLock()
	found := l.byTool[key]
	l.mu.RUnlock()
	if found != nil {
		return found
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byTool[key] == nil {
		if len(l.byTool) >= l.max {
			return l.other
		}
		l.byTool[key] = newLabel(key)
	}
	return l.byTool[key]
}

// printable makes an attribute's value of a name: short, and text.
func printable(s string) string {
	if len(s) > maxValue {
		s = s[:maxValue]
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}

// A label is one tool, with the attributes that its decisions have had so far.
type label struct {
	toolKey
	plain metric.MeasurementOption // without an outcome

	mu      sync.RWMutex
	options map[outcome]metric.MeasurementOption
}

// An outcome is a code and whether the call was forwarded: there are few.
type outcome struct {
	code      policy.Code
	effective bool
}

func newLabel(k toolKey) *label {
	return &label{toolKey: k, plain: with(k.attributes()...), options: map[outcome]metric.MeasurementOption{}}
}

func (k toolKey) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{attribute.String("server", k.server), attribute.String("tool", k.tool)}
}

// decision returns the attributes of one decision.
func (l *label) decision(d policy.Decision) metric.MeasurementOption {
	o := outcome{d.Code(), d.Effective}
	l.mu.RLock()
	found := l.options[o]
	l.mu.RUnlock()
	if found != nil {
		return found
	}
	made := with(append(l.attributes(), attribute.String("code", o.codeText()), attribute.String("effective", o.effectiveText()))...)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.options[o] = made
	return made
}

func (o outcome) codeText() string {
	if o.code == "" {
		return allowed
	}
	return string(o.code)
}

func (o outcome) effectiveText() string {
	if o.effective {
		return effectiveForwarded
	}
	return effectiveRefused
}
