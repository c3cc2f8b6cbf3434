package tools.book_room

import rego.v2

# The schema of this tool doesn't say that start is a date, so this rule can fail: the
# call is then undecided, and refused.
deny contains "rooms can be booked until the end of 2030" if {
	time.parse_rfc3339_ns(input.arguments.start) >= time.parse_rfc3339_ns("2031-01-01T00:00:00Z")
}
