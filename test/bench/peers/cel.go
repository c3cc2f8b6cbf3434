package peers

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
)

var celRules = []struct{ expr, message string }{
	{`!args.target.startsWith("/reports/")`, "reports live below /reports/"},
	{`args.target.contains("/..")`, "no parent directories"},
	{`args.target.matches("/\\.")`, "no hidden names"},
	{`!args.target.matches("\\.(pdf|csv|html)$")`, "a report is pdf, csv or html"},
	{`args.visibility == "public" && !has(args.reviewer)`, "public reports need a reviewer"},
	{`args.state == "draft" && args.stage == "production"`, "drafts stay in staging"},
	{`timestamp(args.period.to) <= timestamp(args.period.from)`, "the period ends before it begins"},
	{`timestamp(args.period.to) - timestamp(args.period.from) > duration("2232h")`, "a period has at most a quarter"},
	{`settings.closed.exists(n, cidr(n).containsIP(args.mirror))`, "that host is in a closed network"},
	{`!(args.author in settings.authors)`, "unknown author"},
	{`!(args.department in settings.departments)`, "unknown department"},
	{`args.pages > settings.pages[args.stage]`, "too many pages"},
	{`size(args.readers) > 12`, "too many readers"},
	{`!args.readers.all(r, r.matches("^[a-z.]+@ours\\.example$"))`, "a reader is no address of ours"},
	{`!args.reply_to.endsWith("@ours.example")`, "answers go to us"},
	{`!args.link.lowerAscii().startsWith("https://")`, "links are https"},
}

// CEL compiles the rules, one program each.
func CEL(settings map[string]any) (Decider, error) {
	anything := cel.MapType(cel.StringType, cel.DynType)
	env, err := cel.NewEnv(cel.Variable("args", anything), cel.Variable("settings", anything), ext.Strings(), ext.Network())
	if err != nil {
		return nil, err
	}
	programs := make([]cel.Program, len(celRules))
	for i, r := range celRules {
		ast, issues := env.Compile(r.expr)
		if issues.Err() != nil {
			return nil, fmt.Errorf("CEL rule %q: %w", r.message, issues.Err())
		}
		if programs[i], err = env.Program(ast, cel.EvalOptions(cel.OptOptimize)); err != nil {
			return nil, fmt.Errorf("CEL rule %q: %w", r.message, err)
		}
	}
	return func(arguments map[string]any) (refusals []string, err error) {
		vars := map[string]any{"args": arguments, "settings": settings}
		for i, p := range programs {
			v, _, err := p.Eval(vars)
			if err != nil {
				return nil, fmt.Errorf("CEL rule %q: %w", celRules[i].message, err)
			}
			refuses, ok := v.Value().(bool)
			if !ok {
				return nil, fmt.Errorf("CEL rule %q: not a boolean", celRules[i].message)
			}
			if refuses {
				refusals = append(refusals, celRules[i].message)
			}
		}
		return refusals, nil
	}, nil
}
