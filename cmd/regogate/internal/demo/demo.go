package demo

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/regogate/regogate/policy"
)

//go:embed all:bundle
var files embed.FS

// WriteBundle writes the demonstration's policy into a folder.
func WriteBundle(dir string) error {
	bundle, err := fs.Sub(files, "bundle")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, bundle)
}

// An Outcome is what became of one case.
type Outcome struct {
	Case     Case
	Decision policy.Decision
	Elapsed  time.Duration // of the decision
	// Wrong says what is not as it should be; "" when all is.
	Wrong string
}

// A Recorder keeps the decisions of a gate that serves one client that waits for
// each answer. It implements policy.Recorder.
type Recorder struct{ records chan policy.Record }

// NewRecorder returns a Recorder for as many decisions as there are cases, and a few more.
func NewRecorder() *Recorder {
	return &Recorder{records: make(chan policy.Record, 2*len(Cases()))}
}

// Record implements policy.Recorder. A decision too many is dropped here and missed
// by nobody: the demonstration has failed by then.
func (r *Recorder) Record(_ context.Context, rec policy.Record) {
	select {
	case r.records <- rec:
	default:
	}
}

// take returns the one decision that was made since the last time.
func (r *Recorder) take() (policy.Record, error) {
	if n := len(r.records); n != 1 {
		return policy.Record{}, fmt.Errorf("%d decisions were made about it", n)
	}
	return <-r.records, nil
}

// A Client makes the calls, through the gate that serves the other ends of its pipes.
type Client struct {
	session  *mcp.ClientSession
	recorder *Recorder
	handled  int // calls that the server must have seen
}

// Connect starts a session. From and to are the gate's output and input.
func Connect(ctx context.Context, from io.ReadCloser, to io.WriteCloser, r *Recorder) (*Client, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "regogate-try", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: from, Writer: to}, nil)
	if err != nil {
		return nil, fmt.Errorf("the example server could not be reached through the gate: %w", err)
	}
	return &Client{session: session, recorder: r}, nil
}

// Close ends the session, and so the server.
func (c *Client) Close() error { return c.session.Close() }

// Try makes the call of one case and compares what became of it.
func (c *Client) Try(ctx context.Context, k Case) Outcome {
	o := Outcome{Case: k}
	result, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: k.Tool, Arguments: json.RawMessage(k.Arguments)})
	rec, recErr := c.recorder.take()
	o.Decision, o.Elapsed = rec.Decision, rec.Elapsed
	switch {
	case recErr != nil:
		o.Wrong = recErr.Error()
	case o.Decision.Code() != k.Want || o.Decision.Allowed != (k.Want == ""):
		o.Wrong = fmt.Sprintf("want %s", orAllowed(k.Want))
	default:
		o.Wrong = c.compare(k, result, err)
	}
	return o
}

// compare says in which way the client's answer doesn't fit the decision.
func (c *Client) compare(k Case, result *mcp.CallToolResult, err error) string {
	var protocol *jsonrpc.Error
	switch {
	case k.Want == policy.UnknownTool:
		if !errors.As(err, &protocol) || protocol.Code != jsonrpc.CodeInvalidParams {
			return fmt.Sprintf("the client got no error about its parameters, but %v", err)
		}
		return ""
	case err != nil:
		return fmt.Sprintf("the client got an error: %v", err)
	case k.Want == "":
		c.handled++
		if text := textOf(result); result.IsError || text != fmt.Sprintf(answer, c.handled) {
			return fmt.Sprintf("the server answered %q, and should have seen %d calls", text, c.handled)
		}
	case !result.IsError || !strings.Contains(textOf(result), string(k.Want)):
		return fmt.Sprintf("the client was told %q", textOf(result))
	}
	return ""
}

func textOf(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func orAllowed(c policy.Code) string {
	if c == "" {
		return "allowed"
	}
	return string(c)
}
