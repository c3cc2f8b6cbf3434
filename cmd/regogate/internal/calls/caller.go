package calls

import (
	"errors"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/strictjson"
)

// callerLimits leave room for the claims that policy.WithCaller accepts.
var callerLimits = strictjson.Limits{Bytes: 512 << 10}

// ParseCaller reads who calls: an object of subject, tenant (strings), scopes (a list
// of strings) and claims (an object). A member may be missing or null; others than
// these four are errors, because a misspelt one would be a caller who lacks it.
func ParseCaller(raw []byte) (policy.Caller, error) {
	m, err := strictjson.ParseObject(raw, callerLimits)
	if err != nil {
		return policy.Caller{}, errors.New("caller is not one JSON object")
	}
	var c policy.Caller
	for name, v := range m {
		good := true
		switch name {
		case "subject":
			c.Subject, good = v.(string)
		case "tenant":
			c.Tenant, good = v.(string)
		case "scopes":
			c.Scopes, good = texts(v)
		case "claims":
			c.Claims, good = v.(map[string]any)
		default:
			return policy.Caller{}, errors.New("caller has a member other than subject, tenant, scopes and claims")
		}
		if !good && v != nil {
			return policy.Caller{}, errors.New("caller." + name + " has the wrong type")
		}
	}
	return c, nil
}

func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	out := make([]string, len(list))
	for i, e := range list {
		s, isText := e.(string)
		out[i], ok = s, ok && isText
	}
	return out, ok
}
