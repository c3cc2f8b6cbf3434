package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/regogate/regogate/bundles"
	"github.com/regogate/regogate/regoeval"
	"github.com/regogate/regogate/test/bench/measure"
)

// A shape is a policy of another kind than the one of 16 rules, and a call that it allows.
type shape struct {
	name      string
	rules     string
	settings  map[string]any
	arguments map[string]any
}

func shapes() []shape {
	teams, rights := map[string]any{}, map[string]any{}
	for i := range 200 {
		teams[fmt.Sprintf("person-%d", i)] = []string{fmt.Sprintf("team-%d", i%25), fmt.Sprintf("team-%d", (i+11)%25)}
	}
	for i := range 25 {
		var may []map[string]string
		for j := range 12 {
			may = append(may, map[string]string{"verb": fmt.Sprintf("verb-%d", (i+j)%18), "place": fmt.Sprintf("place-%d", j)})
		}
		rights[fmt.Sprintf("team-%d", i)] = may
	}
	lines := make([]map[string]any, 100)
	for i := range lines {
		lines[i] = map[string]any{"sku": fmt.Sprintf("sku-%d", i), "units": i % 40, "country": []string{"de", "fr", "it"}[i%3], "remark": "as agreed"}
	}
	return []shape{
		{
			name: "rights in data", settings: map[string]any{"teams": teams, "rights": rights},
			rules: "deny contains \"no right\" if not allowed\n\nallowed if {\n\tsome team in data.settings.teams[input.arguments.person]\n\tsome right in data.settings.rights[team]\n\tright.verb == input.arguments.verb\n\tright.place == input.arguments.place\n}\n",
			// person-60 is in team-10, which has verb-13 at place-3
			arguments: map[string]any{"person": "person-60", "verb": "verb-13", "place": "place-3"},
		},
		{
			name:      "helper functions",
			rules:     "deny contains \"too risky\" if risk(input.arguments.amount) == \"high\"\n\nrisk(n) := \"high\" if n > 10000 else := \"middle\" if n > 100 else := \"low\"\n\ndeny contains \"odd label\" if not sound\n\nsound if every label in input.arguments.labels { proper(label) }\n\nproper(s) if {\n\tstartswith(s, \"x-\")\n\tcount(s) < 20\n}\n",
			arguments: map[string]any{"amount": 250, "labels": []string{"x-one", "x-two", "x-three", "x-four"}},
		},
		{
			name:      "comprehensions",
			rules:     "deny contains \"too many outside\" if count({who | some who in input.arguments.to; not endswith(who, \"@ours.example\")}) > 3\n\ndeny contains \"too much\" if sum([part.units | some part in input.arguments.parts; part.kind == \"paid\"]) > 1000\n",
			arguments: map[string]any{"to": []string{"a@ours.example", "b@ours.example", "c@other.example", "d@ours.example"}, "parts": []map[string]any{{"kind": "paid", "units": 3}, {"kind": "free", "units": 30}, {"kind": "paid", "units": 14}}},
		},
		{
			name:      "100 rows",
			rules:     "deny contains $\"too many of {line.sku}\" if {\n\tsome line in input.arguments.lines\n\tline.units > 5000\n}\n\ndeny contains \"not there\" if {\n\tsome line in input.arguments.lines\n\tnot line.country in {\"de\", \"fr\", \"it\"}\n}\n\ndeny contains \"remark\" if {\n\tsome line in input.arguments.lines\n\tcontains(line.remark, \"confidential\")\n}\n",
			arguments: map[string]any{"lines": lines},
		},
	}
}

// engines are one ruleset's rules by both engines, for one call.
func engines(ctx context.Context, s *subjects, name string, o bundles.Options, arguments string) error {
	for _, e := range []regoeval.Engine{regoeval.Topdown, regoeval.Compiled} {
		o.Engine = e
		rules, err := bundles.Load(ctx, o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		x, err := rulesOnly("", rules, arguments)
		s.add(by(e, name), x, err)
	}
	return nil
}

func by(e regoeval.Engine, name string) string { return name + ", " + string(e) }

// gain compares the engines; goal is the least gain, 0 for none.
func gain(name string, goal float64) comparison {
	return comparison{of: by(regoeval.Topdown, name), to: by(regoeval.Compiled, name), goal: goal, least: true}
}

func shapesSection(ctx context.Context, o options) (report, error) {
	var s subjects
	var r report
	for i, shape := range shapes() {
		dir, err := folder(o, fmt.Sprintf("shape%d", i))
		if err != nil {
			return report{}, err
		}
		settings := maps.Clone(shape.settings)
		if settings == nil {
			settings = map[string]any{}
		}
		if err := writeBundle(dir, map[string]string{"policy.rego": "package tools." + tool + "\n\nimport rego.v2\n\n" + shape.rules}, settings); err != nil {
			return report{}, err
		}
		arguments, err := json.Marshal(shape.arguments)
		if err != nil {
			return report{}, err
		}
		if err := engines(ctx, &s, shape.name, bundles.Options{Bundles: []string{dir}}, string(arguments)); err != nil {
			return report{}, err
		}
		r.compare = append(r.compare, gain(shape.name, 3))
	}
	r.results = measure.Interleaved(o.Options, s.list)
	return r, nil
}

// starterSection is the bundle that the program brings along, on a call with a text.
func starterSection(ctx context.Context, o options) (report, error) {
	var s subjects
	var r report
	for _, size := range []int{1 << 10, 100 << 10} {
		const line = "What was agreed on Monday is written down here, so that nobody has to ask. "
		text := strings.Repeat(line, size/len(line))
		name := fmt.Sprintf("starter bundle, %d KB", size>>10)
		arguments, err := json.Marshal(map[string]any{"path": "notes/monday.md", "content": text, "mode": "append", "tags": []string{"notes", "weekly"}})
		if err != nil {
			return report{}, err
		}
		if err := engines(ctx, &s, name, bundles.Options{Bundles: []string{bundles.Starter}}, string(arguments)); err != nil {
			return report{}, err
		}
		r.compare = append(r.compare, gain(name, 0))
	}
	r.results = measure.Interleaved(o.Options, s.list)
	return r, nil
}
