package policy

import "time"

// Member returns one member of [Input.Document], without making the others.
func (in Input) Member(name string) (any, bool) {
	switch name {
	case "arguments":
		return in.own(in.view), true
	case "caller":
		return in.own(in.caller.doc), true
	case "tool":
		s := in.call.Tool.Spec()
		return map[string]any{
			"name":        s.Name,
			"server":      nullIfEmpty(s.Server),
			"title":       nullIfEmpty(s.Title),
			"annotations": in.own(in.call.Tool.hints()),
		}, true
	case "call":
		return map[string]any{
			"id":        nullIfEmpty(in.call.ID),
			"session":   nullIfEmpty(in.call.Session),
			"transport": nullIfEmpty(in.call.Transport),
			"time":      in.at.Format(time.RFC3339Nano),
			"responses": in.own(in.answer),
		}, true
	}
	return nil, false
}

// PlainNumbers reports that no number of the document is extreme ([strictjson.IsExtreme]),
// which was noticed while it was read. Where it is false nothing is known.
func (in Input) PlainNumbers() bool {
	if in.call == nil || in.call.Tool == nil {
		return false
	}
	t := in.call.Tool
	return in.plain && in.caller.plain && t.plain
}

// Trees returns what of the document came from outside: the arguments, the tool's
// annotations, the caller and the responses. A ruleset's evaluator gets the values
// themselves, and anybody else copies.
func (in Input) Trees() [4]any {
	return [4]any{in.own(in.view), in.own(in.call.Tool.hints()), in.own(in.caller.doc), in.own(in.answer)}
}
