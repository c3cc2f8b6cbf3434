package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// buildVersion is what the program knows of how it was built.
type buildVersion struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	OPA      string `json:"opa"`
}

func newVersion() *cobra.Command {
	var f formatFlag
	c := &cobra.Command{
		Use:   "version",
		Short: "Say which regogate this is",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			v := readVersion()
			if f.json(c.OutOrStdout()) {
				return json.NewEncoder(c.OutOrStdout()).Encode(v)
			}
			_, err := fmt.Fprintln(c.OutOrStdout(), v)
			return err
		},
	}
	f.register(c, "text")
	return c
}

// String is one line for people.
func (v buildVersion) String() string {
	s := "regogate " + v.Version
	if v.Commit != "" {
		s += " (" + v.Commit
		if v.Modified {
			s += ", modified"
		}
		s += ")"
	}
	return s + ", " + v.Go + ", OPA " + v.OPA
}

func readVersion() buildVersion {
	info, found := debug.ReadBuildInfo()
	if !found {
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) buildVersion {
	v := buildVersion{Version: cmp.Or(info.Main.Version, "(devel)"), Go: info.GoVersion, OPA: "unknown"}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "vcs.time":
			v.Time = s.Value
		}
	}
	for _, d := range info.Deps {
		if d.Path != "github.com/open-policy-agent/opa" {
			continue
		}
		if d.Replace != nil {
			d = d.Replace
		}
		v.OPA = d.Version
	}
	return v
}
