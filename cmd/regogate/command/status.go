package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/regogate/regogate/cmd/regogate/internal/report"
	"github.com/regogate/regogate/config"
)

const aboutStatus = `Say how a gate that runs is: the start-up report as it is now.

It asks the admin listener of run or serve, which is on with --admin or admin.listen.
Without --admin it asks the one that the file of --config names, or else
` + usualAdmin + `.

Exit status: 0 the gate is ready, 1 it is not, or something falls short: a bundle that
was refused or can't be fetched, shadow mode, records lost, a tool whose calls are all
refused through no choice of the configuration. 2 the gate can't be reached.`

// usualAdmin is where a gate is asked when nobody says where its admin listener is.
const usualAdmin = "127.0.0.1:9400"

// Bounds of the question: the answer comes from whoever listens there.
const (
	statusPatience = 10 * time.Second
	maxStatus      = 16 << 20
)

func newStatus() *cobra.Command {
	var f formatFlag
	var at, file string
	c := &cobra.Command{
		Use:   "status [flags]",
		Short: "Say how a gate that runs is",
		Long:  aboutStatus,
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			base, err := adminURL(c, at, file)
			if err != nil {
				return err
			}
			return showStatus(c, base, f.json(c.OutOrStdout()))
		},
	}
	c.Flags().SortFlags = false
	c.Flags().StringVar(&at, "admin", "", "the gate's admin listener: `URL` or HOST:PORT")
	c.Flags().StringVar(&file, "config", "", "the gate's configuration `FILE`, for its admin.listen")
	f.register(c, "text")
	return c
}

// adminURL is where the gate is asked.
func adminURL(c *cobra.Command, at, file string) (*url.URL, error) {
	name, fix := "--admin", "give a URL like http://"+usualAdmin
	switch {
	case c.Flags().Changed("admin"):
	case !c.Flags().Changed("config"):
		at = usualAdmin
	case file == "":
		return nil, usage{"--config names no file", c.CommandPath(), "give it a file, or leave it out"}
	default:
		cfg, err := config.Load(config.Options{File: file})
		if err != nil {
			return nil, err
		}
		if at = cfg.Admin.Listen; at == "" {
			return nil, usage{file + " has no admin.listen", c.CommandPath(), "add it, or say with --admin where the gate listens"}
		}
		name, fix = "admin.listen", "say with --admin where the gate listens"
	}
	if !strings.Contains(at, "://") {
		at = "http://" + at
	}
	u, err := url.Parse(at)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "":
		return nil, usage{name + " is not the URL of an admin listener", c.CommandPath(), fix}
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, usage{name + " is not an http or https URL", c.CommandPath(), fix}
	case u.Port() == "0":
		return nil, usage{name + " takes any free port", c.CommandPath(), fix}
	}
	if u.Hostname() == "" { // every address of this machine, by a listener's way to write
		u.Host = net.JoinHostPort("127.0.0.1", u.Port())
	}
	u.Path = "/status"
	return u, nil
}

// showStatus asks, prints the answer, and says by the exit status whether all is well.
func showStatus(c *cobra.Command, at *url.URL, asJSON bool) error {
	s, err := askStatus(c.Context(), at)
	if err != nil {
		return usage{at.Scheme + "://" + at.Host, oneLine(err.Error()), "is the gate running, with admin.listen or --admin there?"}
	}
	if asJSON {
		e := json.NewEncoder(c.OutOrStdout())
		e.SetIndent("", "  ")
		err = e.Encode(s)
	} else {
		_, err = s.WriteTo(c.OutOrStdout())
	}
	switch {
	case err != nil:
		return err
	case !s.Ready || len(s.Problems) > 0:
		return exit(refused)
	}
	return nil
}

func askStatus(ctx context.Context, at *url.URL) (s report.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return s, err
	}
	transport := &http.Transport{} // no proxy: what is asked for is near
	defer transport.CloseIdleConnections()
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		var about *url.Error
		if errors.As(err, &about) {
			err = about.Err // which doesn't say the URL again
		}
		return s, fmt.Errorf("can't be asked: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxStatus+1))
	switch {
	case response.StatusCode != http.StatusOK:
		return s, fmt.Errorf("answered %d to GET /status", response.StatusCode)
	case err != nil:
		return s, fmt.Errorf("broke off its answer: %w", err)
	case len(body) > maxStatus:
		return s, fmt.Errorf("answered with more than %d bytes", maxStatus)
	}
	if json.Unmarshal(body, &s) != nil || s.Version == "" || s.Mode == "" || s.Started.IsZero() {
		return report.Status{}, errors.New("what answers is no admin listener of regogate")
	}
	return s, nil
}
