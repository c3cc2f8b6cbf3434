package report

import "github.com/regogate/regogate/policy"

// engines says which packages are evaluated by another engine than the one that was
// asked for, and why.
func (r *Report) engines(others []OtherEngine) {
	for _, o := range others {
		r.log.Warn("evaluated by another engine", "package", o.Package, "engine", o.Engine, "why", o.Why)
	}
}

func otherEngines(packages []policy.Package) (others []OtherEngine) {
	for _, p := range packages {
		if p.Note != "" {
			others = append(others, OtherEngine{p.Path, p.Engine, p.Note})
		}
	}
	return others
}
