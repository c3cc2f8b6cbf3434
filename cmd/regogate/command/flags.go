package command

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/regogate/regogate/config"
)

// A formatFlag says how a command writes: auto is text on a terminal and JSON otherwise.
type formatFlag string

// formats are the values of a formatFlag.
var formats = [...]string{"auto", "text", "json"}

func (f *formatFlag) register(c *cobra.Command, def string) {
	*f = formatFlag(def)
	c.Flags().Var(f, "format", "`auto`, text or json; auto is text on a terminal and JSON otherwise")
}

// String implements pflag.Value.
func (f *formatFlag) String() string { return string(*f) }

// Type implements pflag.Value.
func (f *formatFlag) Type() string { return "format" }

// Set implements pflag.Value.
func (f *formatFlag) Set(s string) error {
	if !slices.Contains(formats[:], s) {
		return fmt.Errorf("want auto, text or json")
	}
	*f = formatFlag(s)
	return nil
}

// json reports whether to write JSON to w.
func (f *formatFlag) json(w io.Writer) bool {
	if *f != "auto" {
		return *f == "json"
	}
	file, isFile := w.(*os.File)
	return !isFile || !term.IsTerminal(int(file.Fd()))
}

// gateFlags are the flags of every command that decides calls. Each lays its value
// over the configuration file.
type gateFlags struct {
	config   string
	bundles  []string
	settings string
	tools    string
	mode     string
	server   string
	format   formatFlag
	more     []flagOverride // those that one command has beside these
	lists    bool           // --tools is a list, which the command reads itself
}

// A flagOverride is a flag that lays its value over a key.
type flagOverride struct {
	name, key string
	value     any
}

func (f *gateFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.SortFlags = false
	fs.StringVar(&f.config, "config", "", "configuration `FILE` (.yaml, .yml or .json)")
	fs.StringArrayVar(&f.bundles, "bundle", nil, "policy: `DIR`, a .tar.gz, an http(s) URL, or the word starter; may be repeated")
	fs.StringVar(&f.settings, "settings", "", "JSON `FILE` laid over data.settings")
	fs.StringVar(&f.tools, "tools", "", "tools/list result: JSON `FILE`")
	fs.StringVar(&f.server, "server", "", "what the server is called in the policy: `NAME`")
	fs.StringVar(&f.mode, "mode", "", "`enforce` or shadow")
	f.format.register(c, "auto")
}

// load reads the configuration that the flags name, with the flags laid over it.
func (f *gateFlags) load(c *cobra.Command) (config.Config, error) {
	o := config.Options{File: f.config}
	if c.Flags().Changed("config") && f.config == "" {
		return config.Config{}, usage{"--config names no file", c.CommandPath(), "give it a file, or leave it out"}
	}
	for _, flag := range append([]flagOverride{
		{"bundle", "bundle", f.bundles},
		{"settings", "settings", f.settings},
		{"tools", "tools.file", f.tools},
		{"mode", "mode", f.mode},
		{"server", "server.name", f.server},
	}, f.more...) {
		if !c.Flags().Changed(flag.name) || flag.name == "tools" && f.lists {
			continue
		}
		if slices.Contains(f.bundles, "") || flag.value == "" {
			return config.Config{}, usage{"--" + flag.name + " has no value", c.CommandPath(), "give it one, or leave it out"}
		}
		o.Overrides = append(o.Overrides, config.Override{Key: flag.key, Value: flag.value, From: "--" + flag.name})
	}
	return config.Load(o)
}
