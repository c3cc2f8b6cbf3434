# JSON in strings: some tools take their arguments as one string. What is in it is
# looked at like the arguments themselves, two levels deep. Free text is not read as
# JSON: a file that happens to be JSON is still only a file's content.
package starter.lib

import rego.v2

in_json := array.concat(inner, entries_in(inner_documents))

inner := entries_in(outer_documents)

outer_documents := documents(own)

inner_documents := documents(inner)

# The strings that are JSON: what is in them is looked at instead.
json_places := {[e.at, e.key, e.value] |
	some [e, _] in array.concat(outer_documents, inner_documents)
	e.kind in {"data", "label", "other"}
}

json_objects := [[array.concat(array.concat(e.at, [e.key]), p), o] |
	some [e, d] in array.concat(outer_documents, inner_documents)
	walk(d, [p, o])
	is_object(o)
]

# documents are the entries that are JSON, with what they say.
documents(es) := [[e, json.unmarshal(e.value)] |
	count(es) > 0
	regex.match(`"( |\\[nrtf])*[\[{]`, document)
	some e in es
	regex.match(`^\s*[\[{]`, e.value)
	not unreadable_json(e.value)
	json.is_valid(e.value)
]

# A number can be too long to be read in reasonable time, or too large to be read at all.
unreadable_json(s) if regex.match(`[0-9]{65}|[:,\[\s]-?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]{5}`, s)

entries_in(docs) := array.concat(ms, xs) if {
	os := [[e, o] | some [e, d] in docs; walk(d, [_, o]); is_object(o)]
	known := {name: kind(name) | some [_, o] in os; some name, _ in o}
	ms := [{"kind": known[name], "name": name, "value": value, "at": e.at, "key": e.key} |
		some [e, o] in os
		some name, value in o
		is_string(value)
		not nothing_to_see(known[name], value)
	]
	xs := [{"kind": k, "name": name, "value": value, "at": e.at, "key": e.key} |
		some [e, d] in docs
		walk(d, [p, a])
		is_array(a)
		name := nearest(array.concat([e.name], p))
		k := kind(name)
		some value in a
		is_string(value)
		not nothing_to_see(k, value)
	]
}
