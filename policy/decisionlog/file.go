package decisionlog

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// FileOptions say how a file is kept small. Zeros mean 100 MiB and 10 files.
type FileOptions struct {
	Path string
	// MaxBytes is how large the file gets before it becomes Path.1, that one Path.2, …
	MaxBytes int64
	// Keep is how many such older files are kept.
	Keep int
}

const (
	defaultFileBytes = 100 << 20
	defaultKeep      = 10
)

// A File is a Sink that appends to a file which only its owner can read, and rotates it.
// When somebody else moves the file away (logrotate does), a new one is begun.
type File struct {
	options FileOptions
	file    *os.File
	size    int64
	looked  time.Time // when it was last made sure that the path still is this file
	torn    bool      // the file ends with a part of a line
	retry   time.Time // not to be rotated before
	trouble error     // that loses nothing
}

// NewFile opens the file, so that what is wrong with its path is known now.
func NewFile(o FileOptions) (*File, error) {
	if o.Path == "" || o.MaxBytes < 0 || o.Keep < 0 {
		return nil, errors.New("decision_log.file: no path, or a bound is negative")
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultFileBytes
	}
	if o.Keep == 0 {
		o.Keep = defaultKeep
	}
	f := &File{options: o}
	if err := f.open(); err != nil {
		return nil, fmt.Errorf("decision_log.file: %w", err)
	}
	return f, nil
}

// Name implements Sink.
func (f *File) Name() string { return f.options.Path }

func (f *File) open() error {
	file, err := os.OpenFile(f.options.Path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	f.file, f.size, f.looked, f.torn = file, info.Size(), time.Now(), false
	if f.size > 0 && info.Mode().IsRegular() {
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, f.size-1); err == nil {
			f.torn = last[0] != '\n' // a process died within a line
		}
	}
	return nil
}

// Write implements Sink.
func (f *File) Write(_ context.Context, lines [][]byte) (int, error) {
	f.follow()
	f.trouble = nil
	for i, line := range lines {
		if err := f.writeLine(line); err != nil {
			return i, err
		}
	}
	return len(lines), f.trouble
}

func (f *File) writeLine(line []byte) error {
	if f.file != nil && f.size > 0 && f.size+int64(len(line)) > f.options.MaxBytes && time.Now().After(f.retry) {
		if err := f.rotate(); err != nil { // better too large a file than a lost record
			f.trouble, f.retry = fmt.Errorf("it can't be rotated: %w", err), time.Now().Add(time.Minute)
		}
	}
	if f.file == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	if f.torn {
		line = append([]byte{'\n'}, line...)
	}
	n, err := f.file.Write(line)
	f.size += int64(n)
	if err == nil {
		f.torn = false
	} else if n > 0 {
		f.torn = true // the next line begins on a line of its own
	}
	return err
}

// rotate gives the file a number and begins another one.
func (f *File) rotate() error {
	if info, err := f.file.Stat(); err != nil || !info.Mode().IsRegular() {
		f.size = 0 // a device or a pipe never gets too large
		return err
	}
	err := f.file.Close()
	f.file = nil
	if err != nil {
		return err
	}
	name := func(i int) string { return fmt.Sprintf("%s.%d", f.options.Path, i) }
	for i := f.options.Keep; i > 1; i-- {
		if err := os.Rename(name(i-1), name(i)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return os.Rename(f.options.Path, name(1))
}

// follow begins another file when the path is no longer this one.
func (f *File) follow() {
	const often = time.Second
	if f.file == nil || time.Since(f.looked) < often {
		return
	}
	f.looked = time.Now()
	there, err := os.Stat(f.options.Path)
	mine, err2 := f.file.Stat()
	if err2 == nil && (err == nil && os.SameFile(there, mine) || err != nil && !errors.Is(err, os.ErrNotExist)) {
		f.size = mine.Size() // somebody may have emptied it
		return
	}
	_ = f.file.Close() // everything was written to it without an error
	f.file = nil
}

// Close implements Sink.
func (f *File) Close() error {
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}

// A Writer is a Sink that writes to w, which it doesn't close: standard error.
type Writer struct {
	name string
	w    io.Writer
}

// NewWriter returns a Writer that operators know by a name.
func NewWriter(name string, w io.Writer) *Writer { return &Writer{name, w} }

// Name implements Sink.
func (w *Writer) Name() string { return w.name }

// Write implements Sink.
func (w *Writer) Write(_ context.Context, lines [][]byte) (int, error) {
	for i, line := range lines {
		if _, err := w.w.Write(line); err != nil {
			return i, err
		}
	}
	return len(lines), nil
}

// Close implements Sink.
func (w *Writer) Close() error { return nil }
