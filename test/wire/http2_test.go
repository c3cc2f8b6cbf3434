package wire_test

import (
	"crypto/x509"
	"io"
	"log"
	"net/http/httptest"
	"testing"

	"github.com/regogate/regogate/test/wire"
)

// TestHTTP2InFrontOfALenientServer plays every trick over HTTP/2, which says some of them
// in another way.
func TestHTTP2InFrontOfALenientServer(t *testing.T) {
	for _, e := range eras {
		t.Run(string(e), func(t *testing.T) {
			l := &lenient{}
			upstream := httptest.NewServer(l)
			t.Cleanup(upstream.Close)
			roots := x509.NewCertPool()
			x := target(front(t, upstream.URL, func(s *httptest.Server) {
				s.EnableHTTP2 = true
				s.Config.ErrorLog = log.New(io.Discard, "", 0) // what is sent is wrong, and it says so
				s.StartTLS()
				roots.AddCert(s.Certificate())
			}), e)
			x.Saw, x.GateID, x.Strict, x.Mirrored, x.HTTP2 = l.saw, l.id, true, true, roots
			if e == wire.Sessions {
				x.Session = "s1"
			}
			wire.Play(t, x)
		})
	}
}
