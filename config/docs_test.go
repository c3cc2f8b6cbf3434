package config

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the table into docs/configuration.md")

const (
	docsFile   = "../docs/configuration.md"
	tableBegin = "<!-- keys: made by go test ./config -update -->\n"
	tableEnd   = "<!-- end of keys -->\n"
)

// The table of keys in the documentation is the one in the code.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile(docsFile)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(data), tableBegin)
	require.True(t, ok, "no line %q", tableBegin)
	table, after, ok := strings.Cut(rest, tableEnd)
	require.True(t, ok, "no line %q", tableEnd)
	if *update {
		require.NoError(t, os.WriteFile(docsFile, []byte(before+tableBegin+markdown()+tableEnd+after), 0o644))
		return
	}
	require.Equal(t, markdown(), table, "run go test ./config -update")
}

func markdown() string {
	var b strings.Builder
	b.WriteString("| key | type | default | effect | what it turns off |\n|---|---|---|---|---|\n")
	for _, k := range Keys() {
		row(&b, k.Name, k)
		for _, f := range k.Fields {
			row(&b, k.Name+"[]."+f.Name, f)
		}
	}
	return b.String()
}

func row(b *strings.Builder, name string, k Key) {
	typ, def := k.Type.String(), ""
	if k.Type == Choice {
		typ = strings.Join(k.Values, ", ")
	}
	if k.Max > 0 {
		typ += ", at most " + show(k, k.Max)
	}
	switch {
	case k.Default != nil:
		def = "`" + show(k, typedDefault(k)) + "`"
	case k.Required:
		def = "required"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", name, typ, def, k.Effect, k.Off)
}

// The table and the types name the same keys, so that neither has one that does nothing.
func TestTableMatchesTypes(t *testing.T) {
	inTable := map[string]bool{}
	for _, k := range Keys() {
		require.False(t, inTable[k.Name], "%s is in the table twice", k.Name)
		inTable[k.Name] = true
		require.NotEmpty(t, k.Effect, k.Name)
		require.Equal(t, strings.ToLower(k.Name), k.Name, "viper folds keys")
		for _, f := range k.Fields {
			inTable[k.Name+"[]."+f.Name] = true
		}
	}
	inTypes := map[string]bool{}
	names(reflect.TypeFor[Config](), "", inTypes)
	require.Equal(t, inTable, inTypes)
}

// names collects the keys that a type can be decoded from.
func names(t reflect.Type, prefix string, out map[string]bool) {
	for f := range t.Fields() {
		name := f.Tag.Get("mapstructure")
		if name == "" {
			continue
		}
		switch ft := f.Type; {
		case ft.Kind() == reflect.Struct:
			names(ft, prefix+name+".", out)
		case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
			out[prefix+name] = true
			names(ft.Elem(), prefix+name+"[].", out)
		default:
			out[prefix+name] = true
		}
	}
}
