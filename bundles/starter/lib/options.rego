# Options however they are written: --server=x, --server x, -s x, -sx in a command
# line or a list; {"server": x} and {"insecureSkipTlsVerify": true} in an object.
package starter.lib

import rego.v2

# written are the options of all programs of a call that their table calls unsafe, as
# [entry, option].
written contains [s.entry, w] if {
	may_be_written
	some s in segments
	some name in s.ran
	unsafe := unsafe_options[name]
	some w in s.words
	startswith(w, "-")
	is_option(w, unsafe)
}

written contains [e, name] if {
	"argv" in present
	some [at, o] in objects
	count(at) > 0
	kinds[at[count(at) - 1]] == "argv"
	some program in (implied | named_beside(at))
	spelt := {option_word(x) | some x in unsafe_options[program]}
	some name, value in o
	option_word(name) in spelt
	value != false
	e := {"at": at, "key": name}
}

# An option that is written out or cut short has its beginning in common with the table's.
may_be_written if {
	some name in running
	unsafe := unsafe_options[name]
	may_have(concat("", ["^(?:", concat("|", {substring(o, 0, 6) | some o in unsafe}), ")"]))
}

named_beside(at) := {program_name(w) | some w in beside({"kind": "argv", "name": at[count(at) - 1], "at": array.slice(at, 0, count(at) - 1)})}

is_option(w, unsafe) if regex.replace(w, `=.*$`, "") in unsafe

# A short option with its value in the same word.
is_option(w, unsafe) if {
	not startswith(w, "--")
	substring(w, 0, 2) in unsafe
}

# A long option may be cut short as long as it stays unambiguous.
is_option(w, unsafe) if {
	regex.match(`^--[a-z][a-z-]{3,}(=|$)`, w)
	some o in unsafe
	startswith(o, regex.replace(w, `=.*$`, ""))
	count(o) > 6
}

option_word(s) := lower(regex.replace(s, `[-_]`, ""))
