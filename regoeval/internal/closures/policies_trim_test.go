package closures

import (
	"errors"
	"regexp"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// A marker stands in front of each rule that can be left out, and behind the last one.
const marker = "# a rule\n"

// without leaves the rules out in which OPA finds errors; "" when others have some.
func without(src string, err error) string {
	var found ast.Errors
	if !errors.As(err, &found) {
		return ""
	}
	rules := strings.Split(src, marker)
	drop := map[int]bool{}
	for _, e := range found {
		if e.Location == nil {
			continue
		}
		line := strings.Count(rules[0], "\n") + 1
		for i := 1; i < len(rules); i++ {
			end := line + strings.Count(rules[i], "\n") + 1
			if e.Location.File == "p0.rego" && e.Location.Row > line && e.Location.Row <= end {
				drop[i] = true
			}
			line = end
		}
	}
	if drop[len(rules)-1] || len(drop) == 0 || len(drop) >= len(rules)-2 {
		return ""
	}
	out := rules[0]
	for i, r := range rules {
		if i > 0 && !drop[i] {
			out += marker + r
		}
	}
	return out
}

var word = regexp.MustCompile(`[a-z0-9]+`)

// needed adds those helpers and modules to a policy that it uses: most of the time goes
// into compiling.
func needed(src, helpers string, modules map[string]string) string {
	more := ""
	for _, name := range []string{"data.u", "data.d.virt"} {
		if strings.Contains(src, name) {
			more += nextModule + modules[name]
		}
	}
	words := map[string]bool{}
	see := func(text string) {
		for _, w := range word.FindAllString(text, -1) {
			words[w] = true
		}
	}
	see(src + more)
	lines := strings.Split(strings.TrimRight(helpers, "\n"), "\n")
	for grew := true; grew; {
		grew = false
		for i, line := range lines {
			name, _, _ := strings.Cut(strings.TrimPrefix(line, "default "), " ")
			if name = word.FindString(name); words[name] {
				src += line + "\n"
				lines[i], grew = "", true
				see(line)
			}
		}
	}
	return src + more
}
