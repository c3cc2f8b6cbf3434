package peers

import (
	_ "embed"
	"errors"
	"fmt"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/types"
)

//go:embed policy.cedar
var cedarPolicy []byte

// Cedar parses the rules and makes an entity of each author.
func Cedar(authors int) (Decider, error) {
	policies, err := cedar.NewPolicySetFromBytes("policy.cedar", cedarPolicy)
	if err != nil {
		return nil, err
	}
	group := types.NewEntityUID("Group", "authors")
	entities := types.EntityMap{group: {UID: group}}
	for i := range authors {
		uid := types.NewEntityUID("Author", types.String(author(i)))
		entities[uid] = types.Entity{UID: uid, Parents: types.NewEntityUIDSet(group)}
	}
	agent, call := types.NewEntityUID("Agent", "a"), types.NewEntityUID("Action", "call")
	return func(arguments map[string]any) ([]string, error) {
		name, ok := arguments["author"].(string)
		if !ok {
			return nil, errors.New("no author")
		}
		context, err := cedarValue(arguments)
		if err != nil {
			return nil, err
		}
		decision, diagnostic := cedar.Authorize(policies, entities, cedar.Request{
			Principal: agent, Action: call, Resource: types.NewEntityUID("Author", types.String(name)), Context: context.(types.Record),
		})
		if len(diagnostic.Errors) > 0 {
			return nil, errors.New(diagnostic.Errors[0].String())
		}
		if decision == cedar.Allow {
			return nil, nil
		}
		refusals := make([]string, len(diagnostic.Reasons))
		for i, r := range diagnostic.Reasons {
			refusals[i] = string(r.PolicyID)
		}
		return refusals, nil
	}, nil
}

func cedarValue(v any) (types.Value, error) {
	switch v := v.(type) {
	case string:
		return types.String(v), nil
	case bool:
		return types.Boolean(v), nil
	case float64:
		return types.Long(int64(v)), nil
	case []any:
		set := make([]types.Value, len(v))
		for i, e := range v {
			var err error
			if set[i], err = cedarValue(e); err != nil {
				return nil, err
			}
		}
		return types.NewSet(set...), nil
	case map[string]any:
		record := make(types.RecordMap, len(v))
		for k, e := range v {
			value, err := cedarValue(e)
			if err != nil {
				return nil, err
			}
			record[types.String(k)] = value
		}
		return types.NewRecord(record), nil
	default:
		return nil, fmt.Errorf("cedar has no %T", v)
	}
}
