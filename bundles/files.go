package bundles

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A file is one file of a source, whole.
type file struct {
	path    string // slash-separated, below the source's root, with a leading slash
	content []byte
}

// A collector takes the files of one source and counts their bytes together.
type collector struct {
	source    string
	left, max int64
	files     []file
	seen      map[string]bool
}

func newCollector(source string, maxBytes int64) *collector {
	return &collector{source: source, left: maxBytes, max: maxBytes, seen: map[string]bool{}}
}

// add reads one file. JSON is read strictly here, before OPA reads it: where a name
// is given twice OPA would silently take the last one.
func (c *collector) add(name string, r io.Reader) error {
	clean := path.Clean("/" + name)
	where := c.source + clean
	if clean != "/"+strings.TrimPrefix(strings.TrimPrefix(name, "./"), "/") || strings.ContainsFunc(name, notPlain) {
		return fmt.Errorf("%s: %q is not a plain path below the bundle's root", c.source, name)
	}
	if c.seen[clean] {
		return fmt.Errorf("%s: the file is there twice", where)
	}
	c.seen[clean] = true
	content, err := io.ReadAll(io.LimitReader(r, c.left+1))
	if err != nil {
		return fmt.Errorf("%s: %w", where, reason(err))
	}
	// Names count as well: a million empty files are not nothing.
	if c.left -= int64(len(content)) + int64(len(clean)); c.left < 0 {
		return c.tooLarge()
	}
	if path.Base(clean) == "patch.json" {
		return fmt.Errorf("%s: a delta bundle: only whole bundles are accepted, since a patch isn't checked as a whole", where)
	}
	if isJSON(clean) {
		if err := checkJSON(where, content); err != nil {
			return err
		}
	}
	c.files = append(c.files, file{clean, content})
	return nil
}

func (c *collector) tooLarge() error {
	return fmt.Errorf("bundle %s: larger than %d bytes unpacked: raise limits.bundle_bytes or make the bundle smaller", c.source, c.max)
}

// fromFS collects a directory. What can't be read is an error: a policy that is
// passed over is a policy that doesn't refuse. Symbolic links to places inside the
// directory are passed over, since the file itself is there; others are errors.
func (c *collector) fromFS(fsys fs.FS, inside func(name string) bool) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		where := path.Join(c.source, name)
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", where, reason(err))
		case d.IsDir():
			return nil
		case d.Type()&fs.ModeSymlink != 0 && inside(name):
			return nil
		case d.Type()&fs.ModeSymlink != 0:
			return fmt.Errorf("%s: a symbolic link out of the bundle: put the file itself there", where)
		case !d.Type().IsRegular():
			return fmt.Errorf("%s: neither a file nor a directory", where)
		}
		f, err := fsys.Open(name)
		if err != nil {
			return fmt.Errorf("%s: %w", where, reason(err))
		}
		defer f.Close()
		return c.add(name, f)
	})
}

// resolve returns the directory that a path stands for at this moment. What Kubernetes
// mounts keeps its files behind the link ..data, which is swapped as a whole.
func resolve(dir string) (string, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	mounted := filepath.Join(root, "..data")
	if info, err := os.Lstat(mounted); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return filepath.EvalSymlinks(mounted)
	}
	return root, nil
}

// fromDir collects a directory on disk.
func (c *collector) fromDir(dir string) error {
	root, err := resolve(dir)
	if err != nil {
		return fmt.Errorf("bundle %s: %w", dir, reason(err))
	}
	return c.fromFS(os.DirFS(root), func(name string) bool {
		target, err := filepath.EvalSymlinks(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return false
		}
		rel, err := filepath.Rel(root, target)
		return err == nil && filepath.IsLocal(rel)
	})
}

// maxOverhead is how many times larger than its files an archive may be, unpacked. An
// archive of small files consists mostly of headers and padding; one of directories
// consists of nothing else.
const maxOverhead = 16

// fromArchive collects a .tar.gz.
func (c *collector) fromArchive(r io.Reader) error {
	unzipped, err := gzip.NewReader(r)
	if err != nil {
		return fmt.Errorf("bundle %s: not a .tar.gz: %w: build it with opa build", c.source, err)
	}
	zr := &io.LimitedReader{R: unzipped, N: c.max*maxOverhead + 1}
	tr := tar.NewReader(zr)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil && zr.N <= 0 {
			return c.tooLarge()
		}
		if err != nil {
			return fmt.Errorf("bundle %s: damaged archive: %w: build it again", c.source, err)
		}
		switch h.Typeflag {
		case tar.TypeReg:
			if err := c.add(h.Name, tr); err != nil {
				return err
			}
		case tar.TypeDir, tar.TypeXGlobalHeader:
		default:
			return fmt.Errorf("bundle %s: %q is a link or a device: only files and directories are accepted", c.source, h.Name)
		}
	}
	return c.padding(zr)
}

// padding reads what follows the archive inside the stream: for its checksum, within the
// limit, and nothing but zeros. A second archive there would be the bundle for other
// readers.
func (c *collector) padding(r io.Reader) error {
	buf := make([]byte, 32<<10)
	for read := int64(0); ; {
		n, err := r.Read(buf)
		if read += int64(n); read > c.left {
			return c.tooLarge()
		}
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return fmt.Errorf("bundle %s: there is something after the archive: build it again", c.source)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("bundle %s: damaged archive: %w: build it again", c.source, err)
		}
	}
}

// notPlain are characters that some system reads as something else than part of a name.
func notPlain(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f }

func (f file) reader() io.Reader { return bytes.NewBuffer(f.content) }
