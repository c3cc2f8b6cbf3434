package trial

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// unquote reads a string of Rego; what isn't one stays as it is.
func unquote(s string) string {
	var out string
	if json.Unmarshal([]byte(s), &out) == nil {
		return out
	}
	if plain, err := strconv.Unquote(s); err == nil {
		return plain
	}
	return s
}

// WriteText writes the report for people: what didn't pass, and what isn't covered.
func (r Report) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, t := range r.Tests {
		if t.Outcome == Pass {
			continue
		}
		fmt.Fprintf(&b, "%s:%d: %s %s.%s", plain(t.File), t.Line, strings.ToUpper(string(t.Outcome)), plain(t.Package), plain(t.Name))
		if t.Message != "" {
			b.WriteString(": " + plain(t.Message))
		}
		if len(t.Cases) > 0 {
			b.WriteString(": " + plain(strings.Join(t.Cases, ", ")))
		}
		b.WriteByte('\n')
		for line := range strings.Lines(t.Output) {
			b.WriteString("    " + plain(line) + "\n")
		}
	}
	for _, p := range r.Coverage.Packages {
		for _, m := range p.Missing {
			fmt.Fprintf(&b, "%s:%d: not covered: %s of package %s", plain(m.File), m.Line, plain(m.Name), plain(m.Package))
			if m.FailedAt > 0 {
				fmt.Fprintf(&b, ": no test gets past line %d", m.FailedAt)
			}
			b.WriteByte('\n')
		}
	}
	for _, p := range r.Coverage.Packages {
		what := "package " + p.Package
		if p.Tool != "" {
			what = "tool " + p.Tool
		}
		fmt.Fprintf(&b, "%6.1f%%  %d/%d rules  %s\n", p.Percent, p.Covered, p.Rules, plain(what))
	}
	fmt.Fprintf(&b, "%d tests: %d passed, %d failed, %d with an error, %d skipped; %d of %d rules covered (%.1f%%)\n",
		len(r.Tests), r.Count(Pass), r.Count(Fail), r.Count(Err), r.Count(Skip), r.Coverage.Covered, r.Coverage.Rules, r.Coverage.Percent)
	_, err := io.WriteString(w, b.String())
	return err
}

// plain keeps text on one line, and harmless on a terminal.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.Join(strings.Fields(s), " "))
}

type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
	seconds  float64
}

type junitCase struct {
	Name      string       `xml:"name,attr"`
	ClassName string       `xml:"classname,attr"`
	File      string       `xml:"file,attr"`
	Line      int          `xml:"line,attr"`
	Time      string       `xml:"time,attr"`
	Failure   *junitDetail `xml:"failure,omitempty"`
	Error     *junitDetail `xml:"error,omitempty"`
	Skipped   *junitDetail `xml:"skipped,omitempty"`
	Output    string       `xml:"system-out,omitempty"`
}

type junitDetail struct {
	Message string `xml:"message,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// WriteJUnit writes the tests as JUnit XML, a suite for each package.
func (r Report) WriteJUnit(w io.Writer) error {
	out := junitSuites{Tests: len(r.Tests), Failures: r.Count(Fail), Errors: r.Count(Err), Skipped: r.Count(Skip)}
	index := map[string]int{}
	for _, t := range r.Tests {
		i, ok := index[t.Package]
		if !ok {
			i = len(out.Suites)
			index[t.Package] = i
			out.Suites = append(out.Suites, junitSuite{Name: t.Package})
		}
		s := &out.Suites[i]
		s.Tests++
		s.seconds += t.Elapsed.Seconds()
		s.Time = fmt.Sprintf("%.6f", s.seconds)
		c := junitCase{Name: t.Name, ClassName: t.Package, File: t.File, Line: t.Line, Time: fmt.Sprintf("%.6f", t.Elapsed.Seconds()), Output: t.Output}
		detail := &junitDetail{Message: t.Message, Text: fmt.Sprintf("%s:%d %s", t.File, t.Line, strings.Join(t.Cases, ", "))}
		switch t.Outcome {
		case Fail:
			s.Failures++
			c.Failure = detail
		case Err:
			s.Errors++
			c.Error = detail
		case Skip:
			s.Skipped++
			c.Skipped = &junitDetail{}
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}
