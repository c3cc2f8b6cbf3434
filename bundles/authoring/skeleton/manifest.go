package skeleton

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// roots are the parts of data that the bundle owns.
var roots = []string{"pinned", "settings", "shared", "system/log", "tests", "tools"}

// manifest writes .manifest, or looks whether the one that is there lets the parts be
// read that were written.
func (w *writer) manifest() error {
	const name = ".manifest"
	if _, err := w.root.Stat(name); errors.Is(err, fs.ErrNotExist) {
		content, err := indented(map[string]any{
			"rego_version": 1,
			"roots":        roots,
			"metadata":     map[string]any{"regogate": map[string]any{"common": []any{}, "map": []any{}}},
		})
		if err != nil {
			return err
		}
		return w.create(name, content)
	}
	raw, err := w.read(name)
	if err != nil {
		return err
	}
	w.report.Kept++
	var m struct {
		Roots *[]string `json:"roots"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("%s: not a manifest: %w: correct it, or remove the file to have a new one", path.Join(w.dir, name), err)
	}
	if m.Roots == nil {
		return nil
	}
	for _, part := range []string{"tools", "tests", "pinned"} {
		if !within(*m.Roots, part) {
			w.problem("%s: its roots don't cover %s, so that the bundle can't be loaded: add %q to roots", path.Join(w.dir, name), part, part)
		}
	}
	return nil
}

func within(roots []string, part string) bool {
	for _, r := range roots {
		if r = strings.Trim(r, "/"); r == "" || r == part {
			return true
		}
	}
	return false
}

// settings is data.json of a new bundle.
func settings(tools []tool, reviewed bool) ([]byte, error) {
	byName := make(map[string]bool, len(tools))
	for _, t := range tools {
		byName[t.Name] = reviewed
	}
	return indented(map[string]any{"settings": map[string]any{"reviewed": byName}})
}
