package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/open-policy-agent/opa/v1/runtime"

	"github.com/regogate/regogate/test/bench/measure"
)

// serveOPA is OPA's own server on the bundle, in a process of its own: what a program
// asks that doesn't embed OPA.
func serveOPA(address, dir string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	addresses := []string{address}
	p := runtime.NewParams()
	p.Addrs, p.Paths, p.BundleMode = &addresses, []string{dir}, true
	p.Logging = runtime.LoggingConfig{Level: "error", Format: "text"}
	p.GracefulShutdownPeriod = 1
	rt, err := runtime.NewRuntime(ctx, p)
	if err != nil {
		return err
	}
	return rt.Serve(ctx)
}

// opaREST starts that server and returns a subject that asks it over loopback.
func opaREST(dir, arguments string) (measure.Subject, func(), error) {
	address, err := freeAddress()
	if err != nil {
		return measure.Subject{}, nil, err
	}
	stop, err := startSelf(address, "opa", address, dir)
	if err != nil {
		return measure.Subject{}, nil, err
	}
	body := fmt.Appendf(nil, `{"input":{"arguments":%s}}`, arguments)
	url := "http://" + address + "/v1/data/tools/" + tool + "/deny"
	client := &http.Client{Timeout: 10 * time.Second}
	return measure.Subject{Name: "OPA server over loopback REST", Run: func() error {
		resp, err := client.Post(url, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		var answer struct {
			Result *[]string `json:"result"`
		}
		if err := json.Unmarshal(data, &answer); err != nil || answer.Result == nil || len(*answer.Result) > 0 {
			return fmt.Errorf("%w: %s %w", errDecision, data, err)
		}
		return nil
	}}, stop, nil
}

// startSelf runs this program in one of its other roles and waits until it listens.
func startSelf(address string, args ...string) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(address, append([]string{self}, args...)...)
}

// start runs a server and waits until it listens.
func start(address string, command ...string) (stop func(), err error) {
	var log bytes.Buffer
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(5 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
		}
	}
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		select {
		case <-ended:
			return nil, fmt.Errorf("%v ended: %s", command, &log)
		default:
		}
		if c, err := net.Dial("tcp", address); err == nil {
			return stop, c.Close()
		}
	}
	stop()
	return nil, fmt.Errorf("%v doesn't listen on %s: %s", command, address, &log)
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
