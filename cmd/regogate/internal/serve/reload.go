package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"
)

// lookAgain is how often files are looked at, at most.
const lookAgain = time.Second

// A reloaded is a value made of files, and made again when they change. While the files
// are broken the last good value stays. Safe for concurrent use.
type reloaded[T any] struct {
	files []string
	make  func() (T, error)
	log   *slog.Logger

	mu     sync.Mutex
	value  T
	stamp  string    // of the files when they were last read
	looked time.Time // when they were last looked at
}

// newReloaded makes the value for the first time.
func newReloaded[T any](log *slog.Logger, make func() (T, error), files ...string) (*reloaded[T], error) {
	r := &reloaded[T]{files: files, make: make, log: log, looked: time.Now()}
	r.stamp = stamp(files)
	var err error
	r.value, err = make()
	return r, err
}

// get returns the value as the files have it.
func (r *reloaded[T]) get() T {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.looked) < lookAgain {
		return r.value
	}
	r.looked = time.Now()
	now := stamp(r.files)
	if now == r.stamp {
		return r.value
	}
	r.stamp = now
	value, err := r.make()
	files := strings.Join(r.files, ", ")
	if err != nil {
		r.log.Error("a file has changed and can't be used: what it was before stays in force", "files", files, "error", err)
		return r.value
	}
	r.log.Info("a file was read again", "files", files)
	r.value = value
	return value
}

// stamp is another one when a file has changed.
func stamp(files []string) string {
	var b strings.Builder
	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			b.WriteString("- ")
			continue
		}
		fmt.Fprintf(&b, "%d %d ", info.ModTime().UnixNano(), info.Size())
	}
	return b.String()
}

// pathless drops the path that a message has already.
func pathless(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
