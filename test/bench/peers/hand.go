package peers

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

// Hand is the rules as a careful programmer writes them.
func Hand(authors int) Decider {
	h := &hand{
		hidden: regexp.MustCompile(`/\.`), kind: regexp.MustCompile(`\.(pdf|csv|html)$`), ours: regexp.MustCompile(`^[a-z.]+@ours\.example$`),
		authors: map[string]bool{}, departments: map[string]bool{"finance": true, "legal": true, "sales": true, "support": true},
		pages: map[string]float64{"staging": 1000, "production": 200},
	}
	for _, n := range closed {
		h.closed = append(h.closed, netip.MustParsePrefix(n))
	}
	for i := range authors {
		h.authors[author(i)] = true
	}
	return h.decide
}

type hand struct {
	hidden, kind, ours   *regexp.Regexp
	closed               []netip.Prefix
	authors, departments map[string]bool
	pages                map[string]float64
}

var errShape = errors.New("an argument is missing or of another type")

func (h *hand) decide(a map[string]any) (out []string, err error) {
	refuse := func(when bool, message string) {
		if when {
			out = append(out, message)
		}
	}
	var texts [9]string
	for i, name := range [...]string{"target", "visibility", "state", "stage", "mirror", "author", "department", "reply_to", "link"} {
		var ok bool
		if texts[i], ok = a[name].(string); !ok {
			return nil, errShape
		}
	}
	target, visibility, state, stage, mirror, writer, department, replyTo, link := texts[0], texts[1], texts[2], texts[3], texts[4], texts[5], texts[6], texts[7], texts[8]
	pages, ok := a["pages"].(float64)
	readers, isList := a["readers"].([]any)
	if !ok || !isList {
		return nil, errShape
	}
	refuse(!strings.HasPrefix(target, "/reports/"), "reports live below /reports/")
	refuse(strings.Contains(target, "/.."), "no parent directories")
	refuse(h.hidden.MatchString(target), "no hidden names")
	refuse(!h.kind.MatchString(target), "a report is pdf, csv or html")
	_, reviewed := a["reviewer"]
	refuse(visibility == "public" && !reviewed, "public reports need a reviewer")
	refuse(state == "draft" && stage == "production", "drafts stay in staging")
	if err := h.period(a, refuse); err != nil {
		return nil, err
	}
	address, err := netip.ParseAddr(mirror)
	if err != nil {
		return nil, err
	}
	for _, n := range h.closed {
		if n.Contains(address) {
			refuse(true, "that host is in a closed network")
			break
		}
	}
	refuse(!h.authors[writer], "unknown author")
	refuse(!h.departments[department], "unknown department")
	most, known := h.pages[stage]
	refuse(known && pages > most, "too many pages")
	refuse(len(readers) > 12, "too many readers")
	for _, r := range readers {
		s, ok := r.(string)
		if !ok {
			return nil, errShape
		}
		refuse(!h.ours.MatchString(s), "a reader is no address of ours")
	}
	refuse(!strings.HasSuffix(replyTo, "@ours.example"), "answers go to us")
	refuse(!strings.HasPrefix(strings.ToLower(link), "https://"), "links are https")
	return out, nil
}

func (h *hand) period(a map[string]any, refuse func(bool, string)) error {
	period, ok := a["period"].(map[string]any)
	if !ok {
		return errShape
	}
	fromText, hasFrom := period["from"].(string)
	toText, hasTo := period["to"].(string)
	if !hasFrom || !hasTo {
		return errShape
	}
	from, err := time.Parse(time.RFC3339, fromText)
	if err != nil {
		return err
	}
	to, err := time.Parse(time.RFC3339, toText)
	if err != nil {
		return err
	}
	refuse(!to.After(from), "the period ends before it begins")
	refuse(to.Sub(from) > 93*24*time.Hour, "a period has at most a quarter")
	return nil
}
