package command

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionOf(t *testing.T) {
	const opa = "github.com/open-policy-agent/opa"
	for name, c := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"nothing known": {debug.BuildInfo{GoVersion: "go1.26.8"}, "regogate (devel), go1.26.8, OPA unknown"},
		"installed": {debug.BuildInfo{
			GoVersion: "go1.26.8",
			Main:      debug.Module{Version: "v1.2.3"},
			Deps:      []*debug.Module{{Path: opa + "/v2", Version: "v2.0.0"}, {Path: opa, Version: "v1.22.4"}},
		}, "regogate v1.2.3, go1.26.8, OPA v1.22.4"},
		"from a checkout": {debug.BuildInfo{
			GoVersion: "go1.26.8",
			Main:      debug.Module{Version: "(devel)"},
			Settings:  []debug.BuildSetting{{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"}},
			Deps:      []*debug.Module{{Path: opa, Version: "v1.22.3", Replace: &debug.Module{Path: opa, Version: "v1.22.4"}}},
		}, "regogate (devel) (abc, modified), go1.26.8, OPA v1.22.4"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, versionOf(&c.info).String())
		})
	}
}
