package calls

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/regogate/regogate/policy"
)

// told is how many lines a summary names one by one.
const told = 10

// A Summary counts decisions and compares them with what was expected. The zero
// Summary is ready to use.
type Summary struct {
	calls, allowed int
	refused        map[policy.Code]int
	expecting      int
	differ         []string // the first of them
	differing      int
	unread         []Call // lines whose expectation isn't known, if they have one
	unreadCount    int
}

// Add counts the decision about one line. What the rules say is compared, also in
// shadow mode.
func (s *Summary) Add(c Call, d policy.Decision) {
	s.calls++
	verdict := "allow"
	if d.Allowed {
		s.allowed++
	} else {
		if s.refused == nil {
			s.refused = map[policy.Code]int{}
		}
		verdict = "refuse"
		s.refused[d.Code()]++
	}
	switch {
	case c.Unread:
		if s.unreadCount++; len(s.unread) < told {
			s.unread = append(s.unread, c)
		}
	case c.Expected != "":
		s.expecting++
		if c.Expected == verdict {
			return
		}
		outcome := "was allowed"
		if !d.Allowed {
			outcome = fmt.Sprintf("was refused (%s)", d.Code())
		}
		if s.differing++; len(s.differ) < told {
			s.differ = append(s.differ, fmt.Sprintf("line %d: expected %s, %s", c.Line, c.Expected, outcome))
		}
	}
}

// Good reports whether all is well: every decision is the expected one, and where
// nothing is expected, every call was allowed. A line whose expectation can't be read
// is not well, for nobody knows whether it was met.
func (s *Summary) Good() bool {
	if s.expecting > 0 {
		return s.differing == 0 && s.unreadCount == 0
	}
	return s.allowed == s.calls
}

// WriteText writes the summary for people, each line beginning with prefix.
func (s *Summary) WriteText(w io.Writer, prefix string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s%d calls: %d allowed, %d refused", prefix, s.calls, s.allowed, s.calls-s.allowed)
	codes := make([]string, 0, len(s.refused))
	for code, n := range s.refused {
		codes = append(codes, fmt.Sprintf("%s %d", code, n))
	}
	slices.Sort(codes)
	if len(codes) > 0 {
		b.WriteString(" (" + strings.Join(codes, ", ") + ")")
	}
	b.WriteString("\n")
	if s.expecting > 0 {
		fmt.Fprintf(&b, "%s%d of %d expected decisions differ\n", prefix, s.differing, s.expecting)
		s.writeLines(&b, prefix)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (s *Summary) writeLines(b *strings.Builder, prefix string) {
	for _, line := range s.differ {
		b.WriteString(prefix + line + "\n")
	}
	if more := s.differing - len(s.differ); more > 0 {
		fmt.Fprintf(b, "%sand %d more\n", prefix, more)
	}
	for _, c := range s.unread {
		fmt.Fprintf(b, "%sline %d: what it expects can't be read: %v\n", prefix, c.Line, c.Err)
	}
	if more := s.unreadCount - len(s.unread); more > 0 {
		fmt.Fprintf(b, "%sand %d more that can't be read\n", prefix, more)
	}
}
