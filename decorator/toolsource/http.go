package toolsource

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/regogate/regogate/decorator/internal/mcpwire"
)

// HTTPOptions say where the server is.
type HTTPOptions struct {
	URL     string      // of the endpoint, http or https
	Header  http.Header // sent with every request, for authorization
	Server  string      // what the configuration calls the server
	Timeout time.Duration
	Client  *http.Client // nil for one of its own
}

// HTTP lists the tools of a server that is reached over Streamable HTTP.
func HTTP(ctx context.Context, o HTTPOptions) (List, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return List{}, errors.New("not the URL of an endpoint: write http://HOST/PATH or https://HOST/PATH")
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	e := &endpoint{url: o.URL, header: o.Header, client: &client}
	defer e.leave(ctx)
	l, err := list(ctx, e, o.Server)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the server took longer than %s: %w", o.Timeout, err)
	}
	return l, err
}

// An endpoint is a server over HTTP.
type endpoint struct {
	url     string
	header  http.Header
	client  *http.Client
	version string
	session string
}

func (e *endpoint) begun(version string) { e.version = version }

func (e *endpoint) request(ctx context.Context, httpMethod, method string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, httpMethod, e.url, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the URL can't be used")
	}
	for name, values := range e.header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	if e.version != "" {
		req.Header.Set("MCP-Protocol-Version", e.version)
	}
	if e.version == statelessVersion && method != "" {
		req.Header.Set("Mcp-Method", method)
	}
	if e.session != "" {
		req.Header.Set("Mcp-Session-Id", e.session)
	}
	res, err := e.client.Do(req)
	if err != nil {
		var at *url.Error
		if errors.As(err, &at) { // the URL may hold a secret
			err = at.Err
		}
		return nil, err
	}
	return res, nil
}

func (e *endpoint) tell(ctx context.Context, notification []byte) error {
	res, err := e.request(ctx, http.MethodPost, "notifications/initialized", notification)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		return refusal(res)
	}
	return nil
}

func (e *endpoint) ask(ctx context.Context, id, method string, request []byte) (json.RawMessage, error) {
	res, err := e.request(ctx, http.MethodPost, method, request)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if method == mcpwire.Initialize && res.StatusCode/100 == 2 {
		e.session = res.Header.Get("Mcp-Session-Id")
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	body := &io.LimitedReader{R: res.Body, N: maxMessage}
	switch {
	case media == "text/event-stream" && res.StatusCode/100 == 2:
		return fromEvents(body, id)
	case media == "application/json":
		raw, err := io.ReadAll(body)
		if err != nil {
			return nil, err
		}
		messages, _ := mcpwire.ReadServer(raw)
		for _, m := range messages {
			if m.IsResponse() && (mcpwire.IDKey(m.ID) == mcpwire.IDKey(json.RawMessage(id)) || m.Error != nil) {
				return result(m)
			}
		}
	}
	if res.StatusCode/100 != 2 {
		return nil, refusal(res)
	}
	return nil, fmt.Errorf("the answer (%s) is no message of MCP: is this the URL of its endpoint?", brief(res.Header.Get("Content-Type")))
}

// refusal says with which status the server said no.
func refusal(res *http.Response) error {
	err := fmt.Errorf("the server answered with HTTP status %d", res.StatusCode)
	switch code := res.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		return fmt.Errorf("%w: give it credentials with --header", err)
	case code/100 == 3:
		return fmt.Errorf("%w: redirections are not followed: give the URL that it leads to", err)
	case code/100 == 4:
		return refusedError{err.Error()}
	}
	return err
}

// fromEvents reads a stream of server-sent events up to the response.
func fromEvents(r io.Reader, id string) (json.RawMessage, error) {
	s := bufio.NewScanner(r)
	s.Buffer(make([]byte, 0, 64<<10), maxMessage)
	var data []string
	for more := true; more; {
		more = s.Scan()
		line := strings.TrimSuffix(s.Text(), "\r")
		if rest, is := strings.CutPrefix(line, "data:"); more && is {
			data = append(data, strings.TrimPrefix(rest, " "))
			continue
		}
		if more && line != "" || len(data) == 0 {
			continue
		}
		messages, _ := mcpwire.ReadServer([]byte(strings.Join(data, "\n")))
		data = nil
		for _, m := range messages {
			if m.IsResponse() && mcpwire.IDKey(m.ID) == mcpwire.IDKey(json.RawMessage(id)) {
				return result(m)
			}
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("the stream of events: %w", err)
	}
	return nil, errors.New("the stream of events ended before the answer came")
}

// leave ends the session. A server that doesn't care about that is none of ours.
func (e *endpoint) leave(ctx context.Context) {
	if e.session == "" {
		return
	}
	const patience = 2 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if res, err := e.request(ctx, http.MethodDelete, "", nil); err == nil {
		res.Body.Close()
	}
}
