package skeleton

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"

	"github.com/regogate/regogate/bundles/starter"
)

// WriteStarter copies the starter bundle into a folder. Files that are there already
// stay as they are; those that differ from the starter bundle's are drift.
func WriteStarter(dir string) (Report, error) {
	r := Report{Dir: dir, Written: []string{}, Added: []string{}, Pinned: []string{}, Drift: []Drift{}, Problems: []string{}, Notes: []string{}}
	w, err := open(dir, &r)
	if err != nil {
		return r, err
	}
	defer w.root.Close()
	r.Kept = 0
	err = fs.WalkDir(starter.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(starter.FS(), name)
		if err != nil {
			return err
		}
		if _, err := w.root.Lstat(name); err != nil {
			return w.create(name, content)
		}
		old, err := w.read(name)
		if err != nil {
			return err
		}
		r.Kept++
		if !bytes.Equal(old, content) {
			w.problem("%s/%s differs from the starter bundle's and was kept: compare them, or copy the bundle into an empty folder", dir, name)
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("the starter bundle can't be copied: %w", err)
	}
	slices.Sort(r.Written)
	return r, nil
}
