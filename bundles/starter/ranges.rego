# Limits, and ranges of dates.
#
# Stops: negative limits, which many programs take as "no limit", and limits over
# settings.ranges.max_limit; ranges of dates that end before they begin, are longer
# than settings.ranges.max_days, or are no dates in the calendar.
#
# Doesn't stop: a range without an end; many calls one after the other.
#
# Incidents: https://github.com/confluentinc/mcp-confluent/pull/522 (range too long or
# inverted), https://github.com/imdinu/apple-mail-mcp/issues/96 (limit -1).
package starter.ranges

import data.starter.lib
import rego.v2

deny contains f if {
	relevant
	some f in findings
	lib.mode(f.rule) == "deny"
}

warn contains f if {
	lib.warns
	relevant
	some f in findings
	lib.mode(f.rule) == "warn"
}

# Most calls have nothing to do with this.
relevant if count(limit_names) > 0

relevant if count(ends) > 0

relevant if regex.match(`(date|day|since|until|from|to|start|end|before|after|due|deadline|datetime|timestamp|_on|_at) `, lib.name_text)

relevant if regex.match(` (count|size|n|num|number|rows|k|top_?k|max|last|[a-z_]*days[a-z_]*) `, lib.name_text)

limit_names := {name | count(lib.present & {"limit", "page"}) > 0; some name, k in lib.kinds; k in {"limit", "page"}}

limits contains [array.concat(at, [name]), n] if {
	some name in limit_names
	some [at, o] in lib.objects
	n := integer(o[name])
}

integer(v) := v if is_number(v)

integer(v) := to_number(v) if {
	is_string(v)
	regex.match(`^-?([1-9][0-9]{0,14}|0)$`, v)
}

findings contains lib.about("ranges.negative", at, "a negative limit means no limit to some programs: give a positive one") if {
	some [at, n] in limits
	lib.kinds[at[count(at) - 1]] == "limit" # the size of a page is bounded by the server
	n < 0
}

# Tools that look for things have more names for how many.
findings contains lib.about("ranges.negative", array.concat(at, [name]), "a negative number means no limit to some programs: give a positive one") if {
	lib.tool_reads
	some [at, o] in lib.objects
	some name in {"count", "size", "n", "num", "number", "rows", "k", "top_k", "topK", "max", "last"}
	integer(o[name]) < 0
}

findings contains lib.about("ranges.days", array.concat(at, [name]), "the range is longer than settings.ranges.max_days") if {
	data.settings.ranges.max_days > 0
	lib.tool_reads
	some [at, o] in lib.objects
	some name in {"days", "num_days", "numDays", "lookback_days", "lookbackDays", "period_days", "days_back", "daysBack", "last_days"}
	integer(o[name]) > data.settings.ranges.max_days
}

findings contains lib.about("ranges.limit", at, "the limit is over settings.ranges.max_limit") if {
	data.settings.ranges.max_limit > 0
	not "path" in lib.present # lines of a file
	some [at, n] in limits
	n > data.settings.ranges.max_limit
}

# Names in which a range begins, with the name in which it ends.
ends := {name: end |
	regex.match(`start|begin|from|since|after|earliest|check|depart|gte?|min|lower`, lib.name_text)
	some name, _ in lib.kinds
	regex.match(`(?i)start|begin|from|since|after|earliest|check_?in|depart|gte?$|min|lower`, name)
	some end in [e |
		some a, b in pairs
		contains(name, a)
		some other in b
		e := replace(name, a, other)
		lib.kinds[e]
	]
}

pairs := {
	"start": ["end", "stop", "finish"], "Start": ["End", "Stop", "Finish"], "begin": ["end"], "Begin": ["End"], "from": ["to", "until"], "From": ["To", "Until"],
	"since": ["until", "before"], "Since": ["Until", "Before"], "after": ["before", "until"], "After": ["Before"], "earliest": ["latest"], "Earliest": ["Latest"],
	"check_in": ["check_out"], "checkin": ["checkout"], "checkIn": ["checkOut"], "departure": ["return", "arrival"], "depart": ["return"],
	"gte": ["lte", "lt"], "gt": ["lt", "lte"], "min": ["max"], "Min": ["Max"], "lower": ["upper"],
}

ranges contains [at, name, from, to] if {
	some name, end in ends
	some [at, o] in lib.objects
	from := instant(o[name])
	to := instant(o[end])
}

findings contains lib.about("ranges.inverted", array.concat(at, [name]), "the range ends before it begins") if {
	some [at, name, from, to] in ranges
	to < from
}

findings contains lib.about("ranges.days", array.concat(at, [name]), "the range is longer than settings.ranges.max_days") if {
	data.settings.ranges.max_days > 0
	count(lib.tool_words & {"git", "commit", "commits", "calendar", "event", "events", "meeting", "meetings", "issue", "issues", "pull", "pr", "freebusy"}) == 0
	some [at, name, from, to] in ranges
	to - from > data.settings.ranges.max_days * 86400
}

# A day without a range around it.
findings contains lib.about("ranges.date", array.concat(at, [name]), "there is no such day or time in the calendar") if {
	some name, _ in lib.kinds
	regex.match(date_name, name)
	some [at, o] in lib.objects
	looks_like_date(o[name])
	not instant(o[name])
}

date_name := `(?i)(date|day|since|until|from|to|start|end|before|after|due|deadline|datetime|timestamp)$|_(on|at)$|[a-z](On|At)$`

findings contains lib.about("ranges.date", array.concat(at, [name]), "there is no such day or time in the calendar") if {
	some start, end in ends
	some [at, o] in lib.objects
	some name in {start, end}
	looks_like_date(o[name])
	not instant(o[name])
}

looks_like_date(v) if {
	is_string(v)
	regex.match(`^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?)?$`, v)
}

# instant is seconds since 1970, of a date, a date with time (UTC unless it says), or a
# number that is seconds or milliseconds. It is undefined for anything else.
instant(v) := instant_of_text(v) if is_string(v)

instant_of_text(v) := seconds if {
	looks_like_date(v)
	[y, m, d, hour, minute, second, sign, off_hour, off_minute] := [number(x) | some x in array.slice(regex.find_all_string_submatch_n(`^(....)-(..)-(..)(?:.(..):(..)(?::(..)(?:\.\d+)?)?)?(?:[Zz]|([+-])(..):?(..))?$`, v, 1)[0], 1, 10)]
	m >= 1
	m <= 12
	d >= 1
	d <= days_in(y, m)
	hour <= 24
	minute <= 59
	second <= 60
	seconds := (((days(y, m, d) * 86400) + (hour * 3600)) + ((minute * 60) + second)) - (sign * ((off_hour * 3600) + (off_minute * 60)))
}

# Calendars say what a time is by the member it is in.
instant(v) := seconds if {
	is_object(v)
	some member in ["dateTime", "date_time", "datetime", "date"]
	is_string(v[member])
	seconds := instant_of_text(v[member])
}

instant(v) := v if {
	is_number(v)
	v > 100000000
	v < 100000000000
}

instant(v) := v / 1000 if {
	is_number(v)
	v >= 100000000000
	v < 100000000000000
}

# number reads two or four digits; an absent part is 0, a sign is 1 or -1.
number("") := 0

number("+") := 1

number("-") := -1

number(s) := to_number(concat("", ["1", s])) - power[count(s)] if regex.match(`^[0-9]{2}$|^[0-9]{4}$`, s)

power := {2: 100, 4: 10000}

leap(y) if {
	y % 4 == 0
	y % 100 != 0
}

leap(y) if y % 400 == 0

days_in(y, m) := 29 if {
	m == 2
	leap(y)
} else := {1: 31, 2: 28, 3: 31, 4: 30, 5: 31, 6: 30, 7: 31, 8: 31, 9: 30, 10: 31, 11: 30, 12: 31}[m]

# days counts days since 1970-01-01, with years that begin in March.
days(y, m, d) := ((era * 146097) + day_of_era) - 719468 if {
	before_march := floor((14 - m) / 12)
	yy := y - before_march
	era := floor(yy / 400)
	year_of_era := yy - (era * 400)
	day_of_year := (floor(((153 * ((m + (12 * before_march)) - 3)) + 2) / 5) + d) - 1
	day_of_era := (((year_of_era * 365) + floor(year_of_era / 4)) - floor(year_of_era / 100)) + day_of_year
}
