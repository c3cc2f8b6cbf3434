package identity

import (
	"errors"
	"fmt"
	"maps"

	"github.com/regogate/regogate/policy"
)

// A Variable says what one environment variable means.
type Variable struct {
	Name string
	As   string // subject, tenant, scopes (words), or claims.NAME
}

// Environment lays what environment variables say over a caller. A variable that is
// named must be set and not empty, because one that isn't would be a caller who lacks
// it. lookUp is os.LookupEnv.
func Environment(c policy.Caller, variables []Variable, lookUp func(string) (string, bool)) (policy.Caller, error) {
	b := builder{c}
	b.caller.Claims = maps.Clone(c.Claims)
	var errs []error
	seen := map[string]bool{}
	for i, v := range variables {
		value, ok := lookUp(v.Name)
		err := checkTarget(v.As)
		switch {
		case err != nil:
		case seen[v.As]:
			err = fmt.Errorf("%s is named twice", v.As)
		case !ok || value == "":
			err = fmt.Errorf("the environment variable %s is not set", v.Name)
		case !plain(value):
			err = fmt.Errorf("the environment variable %s has a value that can't be used: not UTF-8, too long, or with control characters", v.Name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("env[%d]: %w", i, err))
			continue
		}
		seen[v.As] = true
		b.set(v.As, value)
	}
	if err := errors.Join(errs...); err != nil {
		return policy.Caller{}, err
	}
	return b.caller, nil
}
