package serve

import (
	"net/http"
	"time"
)

// piece is how much is written under one deadline.
const piece = 64 << 10

// patient bounds how long a client may take to read what is written to it. Between
// writes there is no deadline, so that a stream may be silent for as long as it likes.
func patient(next http.Handler, timeout time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		if r.ProtoMajor == 1 {
			// What is left in the buffers is written after the handler. The next request on
			// the connection sets its own.
			defer func() { _ = c.SetWriteDeadline(time.Now().Add(timeout)) }()
		}
		next.ServeHTTP(&patientWriter{w, c, timeout}, r)
	})
}

type patientWriter struct {
	http.ResponseWriter
	c       *http.ResponseController
	timeout time.Duration
}

// Unwrap is for http.ResponseController.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Write implements io.Writer.
func (w *patientWriter) Write(p []byte) (written int, err error) {
	for {
		part := p[:min(len(p), piece)]
		n, err := w.within(func() (int, error) { return w.ResponseWriter.Write(part) })
		written, p = written+n, p[n:]
		if err != nil || len(p) == 0 {
			return written, err
		}
	}
}

// FlushError is for http.ResponseController.
func (w *patientWriter) FlushError() error {
	_, err := w.within(func() (int, error) { return 0, w.c.Flush() })
	return err
}

func (w *patientWriter) within(write func() (int, error)) (int, error) {
	if w.c.SetWriteDeadline(time.Now().Add(w.timeout)) == nil {
		defer func() { _ = w.c.SetWriteDeadline(time.Time{}) }()
	}
	return write()
}
