package regoeval

import (
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
)

// elements reads a deny set as what it is. It never goes through JSON, where a set,
// an array and an undefined rule look alike.
func elements(t *ast.Term) ([]policy.Refusal, error) {
	set, ok := t.Value.(ast.Set)
	if !ok {
		return nil, fmt.Errorf("it is %s, not a set", aKind(t.Value))
	}
	if set.Len() == 0 {
		return nil, nil
	}
	out := make([]policy.Refusal, 0, set.Len())
	for _, e := range set.Slice() {
		r, err := element(e)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

func element(t *ast.Term) (policy.Refusal, error) {
	switch v := t.Value.(type) {
	case ast.String:
		if v == "" {
			return policy.Refusal{}, errors.New("an element is the empty string")
		}
		return policy.Refusal{Message: string(v)}, nil
	case ast.Object:
		return objectElement(v)
	default:
		return policy.Refusal{}, fmt.Errorf("an element is %s, not a string or an object with msg", aKind(t.Value))
	}
}

func objectElement(o ast.Object) (policy.Refusal, error) {
	var r policy.Refusal
	err := o.Iter(func(k, v *ast.Term) error {
		name, ok := k.Value.(ast.String)
		if !ok {
			return fmt.Errorf("an element is an object with a %s as a key", ast.ValueName(k.Value))
		}
		var to *string
		switch name {
		case "msg":
			to = &r.Message
		case "rule":
			to = &r.Rule
		case "location":
			to = &r.Location
		default:
			return errors.New("an element has a member that means nothing: only msg, rule and location do") // its name may come from the arguments
		}
		s, ok := v.Value.(ast.String)
		if !ok {
			return fmt.Errorf("an element's %s is %s, not a string", string(name), aKind(v.Value))
		}
		*to = string(s)
		return nil
	})
	if err == nil && r.Message == "" {
		err = errors.New("an element has no msg, or an empty one")
	}
	return r, err
}

// aKind says what kind of value v is: "a string", "an object".
func aKind(v ast.Value) string {
	name := ast.ValueName(v)
	if name == "array" || name == "object" {
		return "an " + name
	}
	return "a " + name
}
