package config

import (
	"fmt"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"
)

// Options say where a configuration comes from. The zero Options give the defaults.
type Options struct {
	// File is a .yaml, .yml or .json file; "" reads none.
	File string
	// Overrides win over the file, a later one over an earlier one.
	Overrides []Override
}

// An Override is a value that a command line gives to a key.
type Override struct {
	Key   string
	Value any    // string for Text, Choice and File; []string for Bundles and TextList
	From  string // what errors and reports call it, like --mode
}

// Load reads the configuration. The error is an [*Error].
func Load(o Options) (Config, error) {
	l := loader{file: o.File, keys: Keys(), origins: map[string]string{}}
	tree := l.readFile()
	l.override(tree, o.Overrides)
	if len(l.problems) > 0 {
		return Config{}, &Error{l.problems}
	}
	c, err := l.decode(tree)
	if err != nil {
		return Config{}, &Error{[]Problem{{File: o.File, What: err.Error(), Fix: "this is a defect of regogate, please report it"}}}
	}
	return c, nil
}

// loader collects values by key, where they came from, and what is wrong with them.
type loader struct {
	file     string
	keys     []Key
	origins  map[string]string
	problems []Problem
}

func (l *loader) fail(line int, key, fix, what string, args ...any) {
	l.problems = append(l.problems, Problem{File: l.file, Line: line, Key: key, What: fmt.Sprintf(what, args...), Fix: fix})
}

func (l *loader) key(name string) (Key, bool) {
	for _, k := range l.keys {
		if k.Name == name {
			return k, true
		}
	}
	return Key{}, false
}

// override lays the flags over what the file says.
func (l *loader) override(tree map[string]any, overrides []Override) {
	for _, o := range overrides {
		k, ok := l.key(o.Key)
		v, wrong := o.Value, fault{}
		switch text, isText := o.Value.(string); {
		case !ok:
			wrong = fault{"is no key of the configuration", ""}
		case k.Type == Choice && isText:
			wrong = k.checkChoice(text)
		}
		if wrong.what != "" {
			l.problems = append(l.problems, Problem{File: o.From, What: wrong.what, Fix: wrong.fix})
			continue
		}
		tree[o.Key] = v
		l.origins[o.Key] = o.From
	}
}

// decode lets viper lay the values over the defaults and fill a Config exactly.
// Values already have the types of the table, so nothing is converted on the way.
func (l *loader) decode(values map[string]any) (Config, error) {
	v := viper.New()
	for _, k := range l.keys {
		if k.Default != nil {
			v.SetDefault(k.Name, typedDefault(k))
		}
	}
	if err := v.MergeConfigMap(nested(values)); err != nil {
		return Config{}, err
	}
	var c Config
	exact := func(d *mapstructure.DecoderConfig) {
		d.WeaklyTypedInput = false
		d.DecodeHook = nil
	}
	if err := v.UnmarshalExact(&c, exact); err != nil {
		return Config{}, err
	}
	c.origins = l.origins
	for _, k := range l.keys {
		def := ""
		if k.Default != nil {
			def = show(k, typedDefault(k))
		}
		s := Setting{Key: k, Value: def, DefaultValue: def, Origin: l.origins[k.Name]}
		if got, ok := values[k.Name]; ok {
			s.Value = show(k, got)
		}
		c.settings = append(c.settings, s)
	}
	return c, nil
}

// typedDefault is a default with the type that a value from the file would have.
func typedDefault(k Key) any {
	if on, ok := k.Default.(bool); ok && k.Type == Bool {
		return switchOf(on)
	}
	return k.Default
}

// nested turns dotted keys into maps of maps, as viper wants them.
func nested(values map[string]any) map[string]any {
	root := map[string]any{}
	for name, v := range values {
		m := root
		for {
			head, rest, more := strings.Cut(name, ".")
			if !more {
				m[name] = v
				break
			}
			sub, ok := m[head].(map[string]any)
			if !ok {
				sub = map[string]any{}
				m[head] = sub
			}
			m, name = sub, rest
		}
	}
	return root
}
