package identity

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/regogate/regogate/policy"
)

// ClaimNames say which claims of a token name the caller. A name is exact, or a JSON
// Pointer when it begins with a slash: /realm_access/roles. A claim that is there must
// have the right type.
type ClaimNames struct {
	Subject string   // a string; "" means sub
	Tenant  string   // a string; "" means none
	Scopes  []string // the first that is there: a string of words or a list of strings; nil means scope, scp
}

func (n ClaimNames) filled() (ClaimNames, error) {
	if n.Subject == "" {
		n.Subject = "sub"
	}
	if len(n.Scopes) == 0 {
		n.Scopes = []string{"scope", "scp"}
	}
	for _, name := range append([]string{n.Subject}, n.Scopes...) {
		if name == "" || name == "/" {
			return n, errors.New("the name of a claim is empty")
		}
	}
	return n, nil
}

// caller returns who the claims say calls.
func (n ClaimNames) caller(claims map[string]any) (policy.Caller, error) {
	c := policy.Caller{Claims: claims}
	var err error
	if c.Subject, err = text(claims, n.Subject); err != nil {
		return policy.Caller{}, err
	}
	if n.Tenant != "" {
		if c.Tenant, err = text(claims, n.Tenant); err != nil {
			return policy.Caller{}, err
		}
	}
	for _, name := range n.Scopes {
		v, ok := lookUp(claims, name)
		if !ok {
			continue
		}
		if c.Scopes, ok = words(v); !ok {
			return policy.Caller{}, errors.New("the claim with the scopes is neither a string nor a list of strings")
		}
		break
	}
	return c, nil
}

// lookUp returns the claim with that name or at that JSON Pointer.
func lookUp(claims map[string]any, name string) (any, bool) {
	pointer, isPointer := strings.CutPrefix(name, "/")
	if !isPointer {
		v, ok := claims[name]
		return v, ok && v != nil
	}
	var v any = claims
	for part := range strings.SplitSeq(pointer, "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		if v, ok = m[part]; !ok {
			return nil, false
		}
	}
	return v, v != nil
}

func text(claims map[string]any, name string) (string, error) {
	v, ok := lookUp(claims, name)
	if !ok {
		return "", nil
	}
	s, ok := v.(string)
	if !ok {
		return "", errors.New("a claim that names the caller is not a string")
	}
	return s, nil
}

// words reads scopes: words in a string, or a list of strings.
func words(v any) ([]string, bool) {
	switch v := v.(type) {
	case string:
		return strings.Fields(v), true
	case []any:
		out := make([]string, len(v))
		for i, e := range v {
			s, ok := e.(string)
			if !ok {
				return nil, false
			}
			out[i] = s
		}
		return out, true
	}
	return nil, false
}

// numericDate reads a time as tokens have it: seconds since 1970.
func numericDate(v any) (time.Time, error) {
	n, ok := v.(json.Number)
	if !ok {
		return time.Time{}, errors.New("not a number")
	}
	const lastSecond = 253402300799 // of the year 9999
	f, err := n.Float64()
	if err != nil || f < 0 || f > lastSecond {
		return time.Time{}, errors.New("out of range")
	}
	whole, part := math.Modf(f)
	return time.Unix(int64(whole), int64(part*1e9)), nil
}

// checkTimes says what is wrong with a token's times.
func checkTimes(claims map[string]any, now time.Time, leeway time.Duration) error {
	expires, ok := claims["exp"]
	if !ok {
		return errors.New("the token has no exp")
	}
	at, err := numericDate(expires)
	if err != nil {
		return fmt.Errorf("the token's exp is %w", err)
	}
	if !now.Before(at.Add(leeway)) {
		return errors.New("the token has expired")
	}
	for _, name := range []string{"nbf", "iat"} {
		v, ok := claims[name]
		if !ok {
			continue
		}
		if at, err = numericDate(v); err != nil {
			return fmt.Errorf("the token's %s is %w", name, err)
		}
		if now.Add(leeway).Before(at) {
			return errors.New("the token is not valid yet")
		}
	}
	return nil
}
