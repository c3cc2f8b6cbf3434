package mcpgo

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/server"

	"github.com/regogate/regogate/decorator/internal/adapter"
	"github.com/regogate/regogate/policy"
)

// Options configure the gate of a server. The zero value is ready to use.
type Options struct {
	// Server is the configured name of the server, input.tool.server for rules.
	Server string
	// Exact reports whether a tool's handler gets the numbers of its arguments as they
	// were sent, because it reads RawArguments or uses BindArguments. A nil Exact says
	// so of none.
	Exact func(tool string) bool
	// Report, if not nil, is told of what an operator should look at: a tool that can't
	// be used, a hook that was lost. It must be safe for concurrent use.
	Report func(error)
}

func (o Options) report(err error) { adapter.Report(o.Report, err) }

type (
	callerErrorKey struct{}
	httpKey        struct{}
)

// HTTPCaller returns what puts the caller of each HTTP request into its context, for
// mcp-go's HTTP server. An error makes the request's calls undecided. Without it, the
// caller is the one that the application put into the context with policy.WithCaller.
//
//	server.NewStreamableHTTPServer(s, server.WithHTTPContextFunc(mcpgo.HTTPCaller(who)))
func HTTPCaller(who func(*http.Request) (policy.Caller, error)) server.HTTPContextFunc {
	return func(ctx context.Context, r *http.Request) context.Context {
		ctx = context.WithValue(ctx, httpKey{}, true)
		c, err := callerOf(who, r)
		if err != nil {
			return context.WithValue(ctx, callerErrorKey{}, err)
		}
		return policy.WithCaller(ctx, c)
	}
}
