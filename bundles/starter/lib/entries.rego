# The strings of a call, found once and told apart by kind, so that each check looks
# only at what concerns it.
#
# An entry is {"kind", "name", "value", "at", "key"}: the string, the name around it
# (of the list it is in, for an element) and where it is: the path `at` followed by
# `key`. What is in a JSON string has the place of that string.
#
# A string that is plain (words and digits with single separators between them) and
# of a kind to which nothing can happen then has no entry.
package starter.lib

import rego.v2

entries := array.concat(own, in_json)

own := array.concat(members, elements)

# Objects and lists with the place where they are. objects are also those in JSON
# strings: their place is the string's, and the way to them in it.
objects := array.concat(own_objects, json_objects)

own_objects := [[p, o] | walk(input.arguments, [p, o]); is_object(o)]

arrays := [[p, nearest(p), a] |
	walk(input.arguments, [p, a])
	is_array(a)
	contains(json.marshal(a), `"`) # a list of numbers has nothing to look at
]

# nearest is the last name on the way to a value.
nearest(p) := p[count(p) - 1] if {
	is_string(p[count(p) - 1])
} else := concat("", array.slice(ks, count(ks) - 1, count(ks))) if {
	ks := [k | some k in p; is_string(k)]
}

kinds := own_kinds if {
	count(json_objects) == 0
} else := {name: kind(name) | some name in union({object.keys(o) | some [_, o] in objects})}

own_kinds := {name: kind(name) | some name in union({object.keys(o) | some [_, o] in own_objects})}

# What the whole call looks like, for checks that are rarely needed to see at once that
# they aren't: the names, in lower case between spaces, the kinds, and the text.
name_text := concat("", [" ", lower(concat(" ", object.keys(kinds))), " "])

present := {k | some _, k in kinds} | {e.kind | some e in in_json}

document := json.marshal(input.arguments)

members := [{"kind": own_kinds[name], "name": name, "value": value, "at": at, "key": name} |
	some [at, o] in own_objects
	some name, value in o
	is_string(value)
	not regex.match(nothing_in[own_kinds[name]], value)
]

elements := [{"kind": k, "name": name, "value": value, "at": at, "key": i} |
	some [at, name, a] in arrays
	k := own_kinds[name]
	nothing := nothing_in[k]
	some i, value in a
	is_string(value)
	not regex.match(nothing, value)
]

nothing_to_see(kind, value) if regex.match(nothing_in[kind], value)

# nothing_in says, by kind, what a string looks like that needs no look.
nothing_in := {
	"free": `^`,
	"data": plain, "place": plain, "ref": plain, "host": plain,
	"id": one_word, "table": one_word, "pattern": plain, "label": plain, "limit": plain, "page": plain, "amount": plain, "other": plain,
	"path": `^$`, "url": `^$`, "command": `^$`, "argv": `^$`, "sql": `^$`, "query": `^$`, "fragment": `^$`, "code": `^$`, "cypher": `^$`, "address": `^$`, "mount": `^$`,
}

plain := `^[A-Za-z0-9][\w.,@+]*([ /:-][A-Za-z0-9_,@+][\w.,@+]*)*$`

one_word := `^[A-Za-z0-9_][\w.,@+]*([/:-][A-Za-z0-9_,@+][\w.,@+]*)*$`
