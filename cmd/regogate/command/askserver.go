package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/setup"
	"github.com/regogate/regogate/decorator/stdioproxy"
	"github.com/regogate/regogate/policy"
)

// askTimeout is how long a server may take to start and to list its tools. Package
// runners may have to download it first.
const askTimeout = 2 * time.Minute

// greeting is what a client says first.
const greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"regogate","version":"1"}}}` + "\n"

const greeted = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// ask starts a server behind the gate, as run does, takes the tools that it lists and
// ends it.
func ask(c *cobra.Command, s *setup.Setup, command []string) ([]*policy.Tool, error) {
	ctx, cancel := context.WithTimeout(c.Context(), askTimeout)
	defer cancel()
	in, client := io.Pipe()
	answers, out := io.Pipe()
	var (
		once  sync.Once
		tools []*policy.Tool
		known = make(chan struct{})
	)
	go func() { // the client: it says hello, and nothing else
		defer client.Close()
		if _, err := io.WriteString(client, greeting); err != nil {
			return
		}
		one := make([]byte, 1)
		if _, err := answers.Read(one); err != nil {
			return
		}
		go func() { _, _ = io.Copy(io.Discard, answers) }()
		if _, err := io.WriteString(client, greeted); err != nil {
			return
		}
		select {
		case <-known:
		case <-ctx.Done():
		}
	}()
	_, err := stdioproxy.Run(ctx, stdioproxy.Options{
		Command: command, Stdin: in, Stdout: out, Stderr: c.ErrOrStderr(), Gate: s.Gate, Server: s.Config.Server.Name,
		OnTools: func(all []*policy.Tool) {
			once.Do(func() {
				tools = all
				close(known)
			})
		},
	})
	_, _ = out.Close(), in.Close()
	select {
	case <-known:
	default:
		if err == nil {
			err = errors.New("it ended before it listed its tools")
		}
		return nil, usage{"verify", oneLine(fmt.Sprintf("the server %s: %v", command[0], err)), "give a command that starts the server with its tools, or a saved list with --tools FILE"}
	}
	if len(tools) == 0 {
		return nil, usage{"verify", "the server lists no tools", "look whether it is configured and logged in as it will be used"}
	}
	return tools, nil
}
