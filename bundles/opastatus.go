package bundles

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
)

// A statusPoster sends what happens to bundles to a server in the form of OPA's status
// API. Only the newest status waits: one that can't be sent in time is replaced.
type statusPoster struct {
	url    *url.URL
	end    *endpoint
	log    *slog.Logger
	labels map[string]string
	newest chan statusUpdate
}

// statusUpdate and statusOfBundle are the body that OPA posts, as far as it is about
// bundles.
type statusUpdate struct {
	Labels  map[string]string         `json:"labels"`
	Bundles map[string]statusOfBundle `json:"bundles"`
}

type statusOfBundle struct {
	Name           string    `json:"name"`
	ActiveRevision string    `json:"active_revision,omitempty"`
	Activated      time.Time `json:"last_successful_activation,omitzero"`
	Downloaded     time.Time `json:"last_successful_download,omitzero"`
	Succeeded      time.Time `json:"last_successful_request,omitzero"`
	Requested      time.Time `json:"last_request,omitzero"`
	Code           string    `json:"code,omitempty"`
	Message        string    `json:"message,omitempty"`
}

func newStatusPoster(to string, o Options, log *slog.Logger) (*statusPoster, error) {
	u, err := parseURL(to)
	if err != nil {
		return nil, fmt.Errorf("bundles.status_url: %w", err)
	}
	ends, err := newEndpoints(o.Services, o.Timeout, len(o.Keys) > 0)
	if err != nil {
		return nil, err
	}
	end, err := ends.of(u)
	if err != nil {
		return nil, fmt.Errorf("bundles.status_url: %w", err)
	}
	return &statusPoster{url: u, end: end, log: log, newest: make(chan statusUpdate, 1),
		labels: map[string]string{"id": uuid.NewString(), "app": userAgent}}, nil
}

// BundleEvent implements Observer.
func (p *statusPoster) BundleEvent(e Event, s Status) {
	if e.Kind == Confirmed {
		return // one a second, and nothing new
	}
	u := statusUpdate{Labels: p.labels, Bundles: map[string]statusOfBundle{}}
	for _, b := range s.Bundles {
		one := statusOfBundle{Name: b.Name, ActiveRevision: b.Revision, Activated: b.Activated, Downloaded: b.LastSuccess, Succeeded: b.LastSuccess, Requested: b.LastAttempt}
		if b.Error != "" {
			one.Code, one.Message = "bundle_error", b.Error
		}
		u.Bundles[b.Name] = one
	}
	for { // replaces what waits
		select {
		case p.newest <- u:
			return
		default:
		}
		select {
		case <-p.newest:
		default:
		}
	}
}

// run posts until ctx ends, and tries the newest again after a failure.
func (p *statusPoster) run(ctx context.Context) {
	defer p.end.client.CloseIdleConnections()
	var t told
	for failures := 0; ; {
		var u statusUpdate
		select {
		case u = <-p.newest:
		case <-ctx.Done():
			return
		}
		for err := p.post(ctx, u); err != nil; err = p.post(ctx, u) {
			if t.again(err.Error()) && ctx.Err() == nil {
				p.log.Warn("a status update could not be sent", "to", display(p.url.String()), "reason", oneLine(err))
			}
			failures++
			if sleep(ctx, (&httpSource{}).backoff(defaultInterval, failures)) != nil {
				return
			}
			select {
			case u = <-p.newest:
			default:
			}
		}
		failures, t = 0, told{}
	}
}

func (p *statusPoster) post(ctx context.Context, u statusUpdate) error {
	body, err := json.Marshal(u)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.end.timeout, fmt.Errorf("no answer within %s", p.end.timeout))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := p.end.do(ctx, req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the server answered %d %s", resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	return nil
}
