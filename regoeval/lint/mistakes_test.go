package lint_test

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/regoeval/lint"
)

// A mistake is one that authors make, beside the same bundle without it.
//
// testdata/mistakes has them: a txtar file for each kind, a member for each mistake, with
// what is to be found of it (finds:, several with commas; fix: a text in the finding's
// remedy) or why nobody can know (undecidable:), where it was seen (source:), and after an
// empty line the policy, wrong and right, with "=== right" between. The finding has to
// be in the line that ends with "# <-", when one does. Without a package clause
// it is package tools.send. NAME/FILE are more files of the bundle, NAME/wrong/FILE and
// NAME/right/FILE of one of both; NAME/tools.json are the tools, by default default/tools.json.
type mistake struct {
	name         string
	header       map[string]string
	wrong, right map[string]string
	tools        string
	rightTools   string
}

func readMistakes(t *testing.T) []mistake {
	t.Helper()
	files, err := filepath.Glob("testdata/mistakes/*.txtar")
	require.NoError(t, err)
	base, err := txtar.ParseFile("testdata/mistakes/tools.txtar")
	require.NoError(t, err)
	list := string(base.Files[0].Data)
	var out []mistake
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		require.NoError(t, err)
		if file == filepath.Join("testdata", "mistakes", "tools.txtar") {
			continue
		}
		group := strings.TrimSuffix(filepath.Base(file), ".txtar")
		byName := map[string]*mistake{}
		for _, f := range a.Files {
			name, path, more := strings.Cut(f.Name, "/")
			if !more {
				m := readMistake(t, file+": "+name, string(f.Data))
				m.name, m.tools, m.rightTools = group+"/"+name, list, list
				require.Nil(t, byName[name], "%s: %s is there twice", file, name)
				byName[name] = &m
				continue
			}
			m := byName[name]
			require.NotNil(t, m, "%s: %s comes before its mistake", file, f.Name)
			m.add(path, string(f.Data))
		}
		for _, name := range slices.Sorted(maps.Keys(byName)) {
			out = append(out, *byName[name])
		}
	}
	return out
}

func readMistake(t *testing.T, where, text string) mistake {
	t.Helper()
	head, policy, ok := strings.Cut(text, "\n\n")
	require.True(t, ok, "%s: no empty line after the header", where)
	m := mistake{header: map[string]string{}, wrong: map[string]string{}, right: map[string]string{}}
	for _, line := range strings.Split(head, "\n") {
		key, value, ok := strings.Cut(line, ": ")
		require.True(t, ok, "%s: %q is no header", where, line)
		require.Contains(t, []string{"source", "finds", "fix", "undecidable"}, key, where)
		m.header[key] = value
	}
	require.NotEqual(t, m.header["finds"] == "", m.header["undecidable"] == "", "%s: say what is to be found, or why nothing is", where)
	wrong, right, both := strings.Cut(policy, "=== right\n")
	if !both {
		right = wrong
	}
	m.wrong["policy.rego"], m.right["policy.rego"] = module(wrong), module(right)
	return m
}

func module(text string) string {
	if strings.HasPrefix(text, "package ") || strings.Contains(text, "\npackage ") {
		return text
	}
	return "package tools.send\n\nimport rego.v2\n\n" + text
}

func (m *mistake) add(path, text string) {
	switch path {
	case "tools.json":
		m.tools, m.rightTools = text, text
		return
	case "right/tools.json":
		m.rightTools = text
		return
	}
	which, rest, _ := strings.Cut(path, "/")
	switch which {
	case "wrong":
		m.wrong[rest] = text
	case "right":
		m.right[rest] = text
	default:
		m.wrong[path], m.right[path] = text, text
	}
}

// line returns the file and line in which the finding has to be, "" when that isn't said.
func (m mistake) line() (file string, n int) {
	for file, text := range m.wrong {
		for i, l := range strings.Split(text, "\n") {
			if strings.HasSuffix(l, "# <-") {
				return file, i + 1
			}
		}
	}
	return "", 0
}

// reported says what is missing in a report on the mistake; "" when nothing is.
func (m mistake) reported(r lint.Report) string {
	file, line := m.line()
	for _, id := range strings.Split(m.header["finds"], ", ") {
		if !slices.ContainsFunc(r.Findings, func(f lint.Finding) bool {
			return f.ID == id && strings.Contains(f.Fix, m.header["fix"]) &&
				(file == "" || strings.HasSuffix(f.File, file) && f.Line == line)
		}) {
			return fmt.Sprintf("no %s at %s:%d with %q", id, file, line, m.header["fix"])
		}
	}
	return ""
}

// Every mistake that can be known before a call is reported, and of the same bundle
// without it nothing is said.
func TestMistakes(t *testing.T) {
	all := readMistakes(t)
	require.GreaterOrEqual(t, len(all), 80)
	decidable, reported := 0, 0
	var undecidable []string
	for _, m := range all {
		t.Run(m.name, func(t *testing.T) {
			ts := tools(t, "mail", m.tools)
			require.Empty(t, written(verify(t, m.right, tools(t, "mail", m.rightTools)...).Findings), "of the right one")
			r := verify(t, m.wrong, ts...)
			if why := m.header["undecidable"]; why != "" {
				undecidable = append(undecidable, m.name+": "+why)
				require.Empty(t, written(r.Findings), "it is reported: say so")
				return
			}
			decidable++
			require.Empty(t, m.reported(r), "\n%s", written(r.Findings))
			reported++
		})
	}
	t.Logf("%d of %d reported; nobody can know of %d others before a call:\n%s", reported, decidable, len(undecidable), strings.Join(undecidable, "\n"))
}
