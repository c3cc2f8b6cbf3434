package setup

import (
	"os"
	"strings"

	"github.com/regogate/regogate/config"
	"github.com/regogate/regogate/decorator/identity"
	"github.com/regogate/regogate/policy"
)

// callerFromEnvironment lays the environment variables that c names over a caller.
func callerFromEnvironment(c config.Config, caller policy.Caller) (policy.Caller, error) {
	var variables []identity.Variable
	for _, v := range c.Caller.Env {
		variables = append(variables, identity.Variable{Name: v.Name, As: v.As})
	}
	caller, err := identity.Environment(caller, variables, os.LookupEnv)
	if err == nil {
		return caller, nil
	}
	var problems []config.Problem
	for line := range strings.SplitSeq(err.Error(), "\n") {
		element, what, _ := strings.Cut(line, ": ")
		key := "caller." + element
		problems = append(problems, config.Problem{File: c.Where(key), Key: key, What: what, Fix: "set it before the gate starts, or remove it from caller.env"})
	}
	return policy.Caller{}, &config.Error{Problems: problems}
}
