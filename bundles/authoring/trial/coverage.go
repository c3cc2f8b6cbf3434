package trial

import (
	"cmp"
	"slices"
	"strings"

	"github.com/regogate/regogate/regoeval"
)

// Coverage says which rules held in at least one evaluation.
type Coverage struct {
	Rules   int     `json:"rules"`
	Covered int     `json:"covered"`
	Percent float64 `json:"percent"` // 100 when there are no rules
	// Packages, in order; Tool is set for the package of a tool's own rules.
	Packages []PackageCoverage `json:"packages"`
}

// PackageCoverage is the coverage of one package.
type PackageCoverage struct {
	Package string  `json:"package"`
	Tool    string  `json:"tool,omitempty"`
	Rules   int     `json:"rules"`
	Covered int     `json:"covered"`
	Percent float64 `json:"percent"`
	// Missing are the rules that never held.
	Missing []Missing `json:"missing"`
}

// Missing is a rule that never held, and how near it came.
type Missing struct {
	regoeval.Rule
	// FailedAt is the line of the condition that never held, 0 when nothing asked the rule.
	FailedAt int `json:"failed_at,omitempty"`
}

func percent(covered, all int) float64 {
	if all == 0 {
		return 100
	}
	return 100 * float64(covered) / float64(all)
}

// coverage counts the rules of every package. Those that stand in several branches of
// one rule count each for itself.
func coverage(rules *regoeval.Ruleset, trial *regoeval.Trial, tracer *regoeval.RuleTracer) Coverage {
	byPackage := map[string]*PackageCoverage{}
	var c Coverage
	for rule, info := range rules.Rules(trial.Compiler()) {
		p, ok := byPackage[info.Package]
		if !ok {
			p = &PackageCoverage{Package: info.Package, Tool: toolOf(info.Package), Missing: []Missing{}}
			byPackage[info.Package] = p
		}
		p.Rules++
		if got := tracer.Progress(rule); got.Fired {
			p.Covered++
		} else {
			p.Missing = append(p.Missing, Missing{info, got.FailedAt})
		}
	}
	c.Packages = []PackageCoverage{}
	for _, p := range byPackage {
		p.Percent = percent(p.Covered, p.Rules)
		slices.SortFunc(p.Missing, func(a, b Missing) int {
			return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Name, b.Name))
		})
		c.Rules += p.Rules
		c.Covered += p.Covered
		c.Packages = append(c.Packages, *p)
	}
	slices.SortFunc(c.Packages, func(a, b PackageCoverage) int { return strings.Compare(a.Package, b.Package) })
	c.Percent = percent(c.Covered, c.Rules)
	return c
}

// toolOf returns the tool whose own package this is, "" for every other package.
func toolOf(pkg string) string {
	if rest, ok := strings.CutPrefix(pkg, "tools."); ok && !strings.ContainsAny(rest, ".[") {
		return rest
	}
	if rest, ok := strings.CutPrefix(pkg, "tools["); ok {
		return unquote(strings.TrimSuffix(rest, "]"))
	}
	return ""
}
