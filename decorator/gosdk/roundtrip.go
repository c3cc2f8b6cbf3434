//lint:file-ignore SA1019 a server may still ask for what a later version of the protocol drops

package gosdk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"
)

// The SDK's own bounds of a multi-round-trip call.
const (
	maxAttempts = 10
	maxSheds    = 3
)

// A onceRequest is a request that the SDK sends once. Its client repeats a call by
// itself, inside of all middleware, when it knows the session of the request; here it
// doesn't, so that each retry comes back to be decided.
type onceRequest struct {
	*mcp.ClientRequest[mcp.Params]
}

// GetSession returns the session as one of another type.
func (r onceRequest) GetSession() mcp.Session { return onceSession{r.ClientRequest.Session} }

type onceSession struct{ *mcp.ClientSession }

// attempts makes a call and, while its server wants input first, gets that from the
// client's handlers and makes the call again, as the SDK does without a gate.
func (g *clientGate) attempts(ctx context.Context, next mcp.MethodHandler, call outgoing) (mcp.Result, error) {
	sheds := 0
	for attempt := 1; ; attempt++ {
		result, err := g.attempt(ctx, next, call)
		if err != nil || g.o.ManualRoundTrips {
			return result, err
		}
		r, ok := result.(*mcp.CallToolResult)
		if !ok || r == nil || r.InputRequests == nil {
			return result, nil
		}
		if len(r.InputRequests) == 0 {
			sheds++
		}
		switch {
		case sheds >= maxSheds:
			return nil, fmt.Errorf("the server was too busy %d times", sheds)
		case attempt >= maxAttempts:
			return nil, fmt.Errorf("the server wanted more input %d times", attempt)
		}
		answers, err := g.answer(ctx, call.session, r.InputRequests)
		if err != nil {
			return nil, fmt.Errorf("the input that the server wants: %w", err)
		}
		params := *call.params // the caller's own must not carry one call's answers into the next
		params.InputResponses, params.RequestState = answers, r.RequestState
		call.params = &params
	}
}

// answer has the client's handlers answer a server's requests.
func (g *clientGate) answer(ctx context.Context, cs *mcp.ClientSession, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	ids := slices.Sorted(maps.Keys(requests))
	answers := make([]mcp.InputResponse, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	for i, id := range ids {
		group.Go(func() (err error) {
			answers[i], err = g.answerOne(ctx, cs, requests[id])
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	m := make(mcp.InputResponseMap, len(ids))
	for i, id := range ids {
		m[id] = answers[i]
	}
	return m, nil
}

// answerOne asks the handler that would answer if the request had come by itself.
func (g *clientGate) answerOne(ctx context.Context, cs *mcp.ClientSession, request mcp.InputRequest) (mcp.InputResponse, error) {
	var method string
	var req mcp.Request
	switch p := request.(type) {
	case *mcp.ElicitParams:
		method, req = "elicitation/create", &mcp.ElicitRequest{Session: cs, Params: p}
	case *mcp.CreateMessageParams:
		method, req = "sampling/createMessage", &mcp.CreateMessageWithToolsRequest{Session: cs, Params: withTools(p)}
	case *mcp.CreateMessageWithToolsParams:
		method, req = "sampling/createMessage", &mcp.CreateMessageWithToolsRequest{Session: cs, Params: p}
	case *mcp.ListRootsParams:
		method, req = "roots/list", &mcp.ClientRequest[*mcp.ListRootsParams]{Session: cs, Params: p}
	default:
		return nil, fmt.Errorf("a request of an unknown kind (%T)", request)
	}
	handlers := g.handlers.Load()
	if handlers == nil {
		return nil, errors.New("the client has no handlers")
	}
	result, err := (*handlers)(ctx, method, req)
	if err != nil {
		return nil, err
	}
	answer, ok := result.(mcp.InputResponse)
	if !ok {
		return nil, fmt.Errorf("the answer to %s is a %T", method, result)
	}
	return answer, nil
}

// withTools makes the newer kind of a sampling request out of the older one.
func withTools(p *mcp.CreateMessageParams) *mcp.CreateMessageWithToolsParams {
	q := &mcp.CreateMessageWithToolsParams{
		Meta:             p.Meta,
		IncludeContext:   p.IncludeContext,
		MaxTokens:        p.MaxTokens,
		Metadata:         p.Metadata,
		ModelPreferences: p.ModelPreferences,
		StopSequences:    p.StopSequences,
		SystemPrompt:     p.SystemPrompt,
		Temperature:      p.Temperature,
	}
	for _, m := range p.Messages {
		q.Messages = append(q.Messages, &mcp.SamplingMessageV2{Role: m.Role, Content: []mcp.Content{m.Content}})
	}
	return q
}
