package tests.starter.ranges

import data.starter.ranges
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := ranges.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_ranges_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"get_costs: inverted": {"tool": "get_costs", "arguments": {"start_date": "2026-03-01", "end_date": "2026-02-01"}, "rules": {"ranges.inverted"}},
	"get_costs: inverted (2)": {"tool": "get_costs", "arguments": {"from": "2026-03-01", "to": "2026-02-28"}, "rules": {"ranges.inverted"}},
	"list_events: inverted by a second": {"tool": "list_events", "arguments": {"timeMin": "2026-03-01T10:00:00Z", "timeMax": "2026-03-01T09:59:59Z"}, "rules": {"ranges.inverted"}},
	"get_usage: too long": {"tool": "get_usage", "arguments": {"since": "2026-01-01", "until": "2026-06-01"}, "rules": {"ranges.days"}},
	"get_usage: too long, seconds": {"tool": "get_usage", "arguments": {"startTime": 1767225600, "endTime": 1777225600}, "rules": {"ranges.days"}},
	"get_usage: no such day": {"tool": "get_usage", "arguments": {"start": "2026-02-30", "end": "2026-03-01"}, "rules": {"ranges.date"}},
	"list_items: negative": {"tool": "list_items", "arguments": {"limit": -1}, "rules": {"ranges.negative"}},
	"list_items: negative (2)": {"tool": "list_items", "arguments": {"max_results": -5}, "rules": {"ranges.negative"}},
	"list_items: too many": {"tool": "list_items", "arguments": {"maxResults": 100000}, "rules": {"ranges.limit"}},
	"search: negative": {"tool": "search", "arguments": {"query": "x", "top": -1}, "rules": {"ranges.negative"}},
}

test_ranges_2[name] if {
	some name, c in cases_2
	found(c) == c.rules
}

cases_2 := {
	"search: over the limit": {"tool": "search", "arguments": {"query": "x", "limit": 501}, "rules": {"ranges.limit"}},
	"get_costs: one day": {"tool": "get_costs", "arguments": {"start_date": "2026-02-28", "end_date": "2026-03-01"}, "rules": set()},
	"get_costs: 31 days": {"tool": "get_costs", "arguments": {"startDate": "2026-01-01", "endDate": "2026-02-01"}, "rules": set()},
	"list_events: the same instant": {"tool": "list_events", "arguments": {"timeMin": "2026-03-01T10:00:00+02:00", "timeMax": "2026-03-01T08:00:00Z"}, "rules": set()},
	"move: positions": {"tool": "move", "arguments": {"from": 5, "to": 2}, "rules": set()},
	"search: at the limit": {"tool": "search", "arguments": {"query": "x", "limit": 500}, "rules": set()},
	"list: leap day": {"tool": "list", "arguments": {"start": "2024-02-29", "end": "2024-03-01"}, "rules": set()},
	"list: no leap day": {"tool": "list", "arguments": {"start": "2100-02-29", "end": "2100-03-01"}, "rules": {"ranges.date"}},
	"list: leap day of a century": {"tool": "list", "arguments": {"start": "2000-02-29", "end": "2000-03-01"}, "rules": set()},
	"list: no such hour": {"tool": "list", "arguments": {"start": "2026-01-01T25:00:00Z", "end": "2026-01-02"}, "rules": {"ranges.date"}},
}

test_ranges_3[name] if {
	some name, c in cases_3
	found(c) == c.rules
}

cases_3 := {
	"list: size of a page": {"tool": "list", "arguments": {"per_page": -1}, "rules": set()},
	"search: negative count of a search": {"tool": "search", "arguments": {"query": "x", "count": -1}, "rules": {"ranges.negative"}},
}

test_ranges_4[name] if {
	some name, c in cases_4
	found(c) == c.rules
}

cases_4 := {
	"get_usage: days back": {"tool": "get_usage", "arguments": {"days": 90}, "rules": {"ranges.days"}},
}
