package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/regogate/regogate/policy/strictjson"
)

// A Caller is who calls. It comes from an adapter or from the application, through
// the context, and never from a call's arguments.
type Caller struct {
	Subject string         `json:"subject"`
	Tenant  string         `json:"tenant"`
	Scopes  []string       `json:"scopes"`
	Claims  map[string]any `json:"claims"` // anything that marshals to JSON
}

type callerKey struct{}

// callerDocument is a Caller as validators see it, made once per context.
type callerDocument struct {
	caller Caller
	doc    map[string]any
	plain  bool // no claim holds an extreme number
	err    error
}

var noCaller = newCallerDocument(Caller{})

// WithCaller returns a context in which calls are made by c. It takes a copy. Claims
// that are no JSON make every call in that context undecided.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, newCallerDocument(c))
}

// CallerFrom returns the caller of ctx, the zero Caller when there is none.
func CallerFrom(ctx context.Context) Caller { return callerFrom(ctx).copy() }

func callerFrom(ctx context.Context) *callerDocument {
	if d, ok := ctx.Value(callerKey{}).(*callerDocument); ok {
		return d
	}
	return noCaller
}

// claimLimits bound what an identity provider may put into a token.
var claimLimits = strictjson.Limits{Bytes: 256 << 10}

func newCallerDocument(c Caller) *callerDocument {
	d := &callerDocument{caller: c, plain: true}
	scopes := make([]any, len(c.Scopes))
	for i, s := range c.Scopes {
		scopes[i] = s
	}
	claims := map[string]any{}
	if len(c.Claims) > 0 {
		raw, err := json.Marshal(c.Claims)
		if err == nil {
			var traits strictjson.Traits
			claims, traits, err = strictjson.ReadObject(raw, claimLimits)
			d.plain = err == nil && !traits.Extreme
		}
		if err != nil {
			d.err = fmt.Errorf("caller.claims: not usable as JSON: %w", err)
			claims = map[string]any{}
		}
	}
	d.caller.Scopes = slices.Clone(c.Scopes)
	d.caller.Claims = claims
	d.doc = map[string]any{
		"subject": nullIfEmpty(c.Subject),
		"tenant":  nullIfEmpty(c.Tenant),
		"scopes":  scopes,
		"claims":  claims,
	}
	return d
}

func (d *callerDocument) copy() Caller {
	c := d.caller
	c.Scopes = slices.Clone(c.Scopes)
	c.Claims, _ = clone(c.Claims).(map[string]any)
	return c
}

// has reports whether the document has something at a path like "subject" or
// "claims.org": null, "" , [] and {} are nothing.
func (d *callerDocument) has(path string) bool {
	var v any = d.doc
	for rest, more := path, true; more; {
		var name string
		name, rest, more = strings.Cut(rest, ".")
		m, ok := v.(map[string]any)
		if !ok {
			return false
		}
		if v, ok = m[name]; !ok {
			return false
		}
	}
	switch v := v.(type) {
	case nil:
		return false
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return true
	}
}

// checkCallerPath refuses a path that no caller could ever have.
func checkCallerPath(path string) error {
	head, rest, nested := strings.Cut(path, ".")
	switch head {
	case "subject", "tenant", "scopes":
		if nested {
			return fmt.Errorf("caller.require: %q: %s has no members", path, head)
		}
		return nil
	case "claims":
		if nested && (rest == "" || slices.Contains(strings.Split(rest, "."), "")) {
			return fmt.Errorf("caller.require: %q: empty name", path)
		}
		return nil
	default:
		return fmt.Errorf("caller.require: %q: want subject, tenant, scopes or claims.NAME", path)
	}
}

func nullIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}
