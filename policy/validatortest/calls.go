package validatortest

import (
	"encoding/json"
	"fmt"

	"github.com/regogate/regogate/policy"
)

// calls are the arguments that facts are shown with.
type calls struct {
	valid      []string // the schema accepts them, what the validator says is open
	violations map[string][]violation
	odd        []string // valid but for one value, schema or no schema
	whyNone    string   // why there are no valid ones
}

type violation struct{ what, arguments string }

// maxOfEach bounds how many calls show one fact.
const maxOfEach = 200

// calls makes the calls, and keeps those that a gate takes for what they are meant to be.
func (b *bench) calls() *calls {
	c := &calls{violations: map[string][]violation{}}
	for _, arguments := range append(append([]string{}, b.o.Allowed...), b.o.Refused...) {
		if d, _ := b.behindSchema(arguments); d.Allowed {
			c.valid = append(c.valid, arguments)
		}
	}
	if b.schema == nil {
		c.whyNone = "the tool has no schema"
		if len(c.valid) == 0 {
			c.valid = []string{"{}"}
		}
		return c
	}
	made, err := json.Marshal(b.schema.value(b.schema.root, 0))
	if err == nil {
		if d, _ := b.behindSchema(string(made)); d.Allowed {
			c.valid = append(c.valid, string(made))
		}
	}
	if len(c.valid) == 0 {
		c.whyNone = "no arguments could be made that the schema accepts: give some in Options.Allowed"
		return c
	}
	b.addViolations(c)
	b.addOdd(c)
	return c
}

func (b *bench) addViolations(c *calls) {
	for _, change := range b.schema.changes(b.schema.root, nil) {
		if len(c.violations[change.fact]) >= maxOfEach {
			continue
		}
		for _, base := range c.valid {
			arguments, ok := changed(base, change.change)
			if !ok {
				continue
			}
			d, asked := b.behindSchema(arguments)
			if d.Code() == policy.SchemaViolation && !asked {
				c.violations[change.fact] = append(c.violations[change.fact], violation{change.what, arguments})
				break
			}
		}
	}
}

func (b *bench) addOdd(c *calls) {
	properties, _ := b.schema.resolve(b.schema.root, 0)["properties"].(object)
	for name := range properties {
		for _, value := range odd {
			if arguments, ok := changed(c.valid[0], func(a object) { a[name] = value }); ok && len(c.odd) < maxOfEach {
				c.odd = append(c.odd, arguments)
			}
		}
	}
	c.odd = append(c.odd, "{}")
}

// changed returns arguments with a change, and whether there is any.
func changed(base string, change func(object)) (string, bool) {
	var a object
	d := json.NewDecoder(newReader(base))
	d.UseNumber()
	if d.Decode(&a) != nil || a == nil {
		return "", false
	}
	before, err := json.Marshal(a)
	if err != nil {
		return "", false
	}
	change(a)
	after, err := json.Marshal(a)
	return string(after), err == nil && string(after) != string(before)
}

// all are all calls that a gate may ask a validator about, one way or another.
func (c *calls) all() []violation {
	var list []violation
	for _, a := range c.valid {
		list = append(list, violation{"arguments that the schema accepts", a})
	}
	for _, fact := range []string{missing, wrongType, outOfRange, pattern, undeclared} {
		for _, v := range c.violations[fact] {
			list = append(list, violation{"with the schema not enforced, " + v.what, v.arguments})
		}
	}
	for _, a := range c.odd {
		list = append(list, violation{"with the schema not enforced", a})
	}
	return list
}

func (v violation) String() string {
	const most = 200
	a := v.arguments
	if len(a) > most {
		a = a[:most] + "…"
	}
	return fmt.Sprintf("%s (%s)", a, v.what)
}
