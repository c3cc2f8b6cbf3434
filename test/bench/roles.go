package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
)

// runRole runs this program as one of the processes that are measured. It is false when
// the words name none.
func runRole(words []string) (bool, error) {
	if len(words) == 0 {
		return false, nil
	}
	switch rest := words[1:]; {
	case words[0] == "opa" && len(rest) == 2:
		return true, serveOPA(rest[0], rest[1])
	case words[0] == "echo-stdio" && len(rest) == 0:
		return true, echoStdio(os.Stdin, os.Stdout)
	case words[0] == "echo-http" && len(rest) == 1:
		return true, http.ListenAndServe(rest[0], http.HandlerFunc(echoHTTP))
	case words[0] == "relay-stdio" && len(rest) > 0:
		return true, relayStdio(rest)
	case words[0] == "relay-http" && len(rest) == 2:
		return true, relayHTTP(rest[0], rest[1])
	default:
		return false, nil
	}
}

const echoTools = `{"tools":[{"name":"echo","inputSchema":{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}}],"ttlMs":3600000,"cacheScope":"public","resultType":"complete"}`

// answer is what the example server says to one message, nil for nothing.
func answer(line []byte) []byte {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params struct {
			Arguments struct {
				Text string `json:"text"`
			} `json:"arguments"`
		} `json:"params"`
	}
	if json.Unmarshal(line, &m) != nil || m.ID == nil {
		return nil
	}
	result := "{}"
	switch m.Method {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`
	case "tools/list":
		result = echoTools
	case "tools/call":
		text, err := json.Marshal(m.Params.Arguments.Text)
		if err != nil {
			return nil
		}
		result = `{"content":[{"type":"text","text":` + string(text) + `}]}`
	default:
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func echoStdio(in io.Reader, out io.Writer) error {
	r := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := r.ReadBytes('\n')
		if a := answer(line); a != nil {
			if _, err := out.Write(append(a, '\n')); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func echoHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	a := answer(body)
	if a == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if bytes.Contains(body, []byte(`"method":"initialize"`)) {
		w.Header().Set("Mcp-Session-Id", "s1")
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(a)
}

// relayStdio only passes bytes on: what a proxy costs that does nothing.
func relayStdio(command []string) error {
	cmd := exec.Command(command[0], command[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		// Without the wrapper the kernel moves the bytes, which no proxy that reads them can have.
		_, _ = io.Copy(struct{ io.Writer }{in}, struct{ io.Reader }{os.Stdin})
		_ = in.Close()
	}()
	if _, err := io.Copy(struct{ io.Writer }{os.Stdout}, struct{ io.Reader }{out}); err != nil {
		return err
	}
	return cmd.Wait()
}

func relayHTTP(address, upstream string) error {
	u, err := url.Parse(upstream)
	if err != nil {
		return err
	}
	return http.ListenAndServe(address, &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }})
}
