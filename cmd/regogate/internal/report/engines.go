package report

import "github.com/regogate/regogate/policy"

// engines says which packages are evaluated by another engine than the one that was
// asked for, and why.
func (r *Report) engines(packages []policy.Package) {
	for _, p := range packages {
		if p.Note != "" {
			r.log.Warn("evaluated by another engine", "package", p.Path, "engine", p.Engine, "why", p.Note)
		}
	}
}
