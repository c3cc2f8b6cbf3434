package skeleton

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/regoeval"
)

const (
	maxFiles = 100_000  // in a folder that is there already
	maxBytes = 64 << 20 // of one file that is read
)

// A writer writes into one folder. What is outside of it can't be reached.
type writer struct {
	dir      string
	root     *os.Root
	gate     *policy.Gate
	report   *Report
	taken    map[string]bool // paths that are there, folded: two must not differ by case only
	existing map[string]bool // tools that have a package
}

// open opens the folder, makes it when it isn't there, and reads which packages it has.
func open(dir string, r *Report) (*writer, error) {
	if dir == "" {
		return nil, errors.New("no folder to write to")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, pathless(err))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, pathless(err))
	}
	w := &writer{dir: dir, root: root, report: r, taken: map[string]bool{}, existing: map[string]bool{}}
	if err := w.look(); err != nil {
		root.Close()
		return nil, err
	}
	return w, nil
}

// look reads what is there.
func (w *writer) look() error {
	files, isBundle := 0, false
	err := fs.WalkDir(w.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", path.Join(w.dir, name), pathless(err))
		}
		if d.IsDir() {
			return nil
		}
		if files++; files > maxFiles {
			return fmt.Errorf("%s: more than %d files: give a folder of its own", w.dir, maxFiles)
		}
		w.taken[strings.ToLower(name)] = true
		isBundle = isBundle || name == ".manifest" || strings.HasSuffix(name, ".rego")
		if strings.HasSuffix(name, ".rego") && d.Type().IsRegular() {
			w.report.Kept++
			return w.readPackage(name)
		}
		return nil
	})
	if err == nil && files > 0 && !isBundle {
		err = fmt.Errorf("%s: there are files in it, and no bundle: give an empty folder, or that of a bundle", w.dir)
	}
	return err
}

// readPackage notes the tool that a file is about.
func (w *writer) readPackage(name string) error {
	src, err := w.read(name)
	if err != nil {
		return err
	}
	where := path.Join(w.dir, name)
	m, err := ast.ParseModuleWithOpts(where, string(src), ast.ParserOptions{RegoVersion: ast.RegoV1})
	if err != nil {
		return regoeval.ParseError(where, err)
	}
	if m == nil {
		return nil
	}
	if p := m.Package.Path; len(p) == 3 && p[1].Equal(ast.StringTerm("tools")) {
		if s, ok := p[2].Value.(ast.String); ok {
			w.existing[string(s)] = true
		}
	}
	return nil
}

func (w *writer) read(name string) ([]byte, error) {
	info, err := w.root.Stat(name)
	if err == nil && info.Size() > maxBytes {
		err = fmt.Errorf("larger than %d bytes", maxBytes)
	}
	var b []byte
	if err == nil {
		b, err = w.root.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path.Join(w.dir, name), pathless(err))
	}
	return b, nil
}

// create writes a file that isn't there.
func (w *writer) create(name string, content []byte) error {
	err := w.root.MkdirAll(path.Dir(name), 0o755)
	var f *os.File
	if err == nil {
		f, err = w.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	}
	if err == nil {
		_, err = f.Write(content)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(w.dir, name), pathless(err))
	}
	w.taken[strings.ToLower(name)] = true
	w.report.Written = append(w.report.Written, name)
	return nil
}

// replace writes a file of which nothing is the author's, as a whole or not at all.
func (w *writer) replace(name string, content []byte) error {
	temporary := name + ".new"
	err := w.root.MkdirAll(path.Dir(name), 0o755)
	if err == nil {
		err = w.root.WriteFile(temporary, content, 0o644)
	}
	if err == nil {
		err = w.root.Rename(temporary, name)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path.Join(w.dir, name), pathless(err))
	}
	w.report.Written = append(w.report.Written, name)
	return nil
}

// plainName is a name that every file system takes as it is.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// devices are names that mean something else on some systems, whatever follows the dot.
var devices = []string{"con", "prn", "aux", "nul", "conin$", "conout$",
	"com0", "com1", "com2", "com3", "com4", "com5", "com6", "com7", "com8", "com9",
	"lpt0", "lpt1", "lpt2", "lpt3", "lpt4", "lpt5", "lpt6", "lpt7", "lpt8", "lpt9"}

// stem is what a tool's files are called: its name where that is plain and free, and
// otherwise what is plain of it with a digest of the whole.
func (w *writer) stem(name string) string {
	plain := plainName.MatchString(name) && !slices.Contains(devices, strings.ToLower(name))
	if plain && w.free(name) {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	digest := hex.EncodeToString(sum[:])
	for length := 8; ; length += 8 {
		stem := slug(name) + "-" + digest[:length]
		if w.free(stem) || length == len(digest) {
			return stem
		}
	}
}

func (w *writer) free(stem string) bool {
	stem = strings.ToLower(stem)
	return !w.taken["tools/"+stem+".rego"] && !w.taken["tests/"+stem+"_test.rego"]
}

// slug keeps what is plain of a name.
func slug(name string) string {
	var b strings.Builder
	for _, r := range name {
		if b.Len() >= 40 {
			break
		}
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case !strings.HasSuffix(b.String(), "_") && b.Len() > 0:
			b.WriteByte('_')
		}
	}
	if s := strings.Trim(b.String(), "_"); s != "" {
		return s
	}
	return "tool"
}
