# Query languages other than SQL: Cypher, GraphQL, MongoDB.
#
# Stops: Cypher that writes, unless the tool's name says that it does; procedures that
# load, import, export, run text as code or administer; more than one statement;
# deleting the whole graph; names of labels and types that end the pattern they are put
# into; GraphQL mutations that delete, destroy, wipe or reset; MongoDB operators that
# run JavaScript or write collections.
#
# Doesn't stop: a mutation whose name doesn't say that it deletes; a read of too much.
#
# Incidents: https://github.com/neo4j-contrib/mcp-neo4j/issues/296 (files and URLs read
# by a procedure) and /285 (label), https://github.com/CodeGraphContext/CodeGraphContext/pull/883
# (writes that a word list missed), the volume deleted through GraphQL in 2026-04.
package starter.queries

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
relevant if count(lib.present & {"query", "cypher", "code", "sql"}) > 0

relevant if regex.match(`[$]|type|label|relation|kind`, lib.name_text)

relevant if contains(lib.document, "$")

relevant if contains(lower(lib.document), "mutation")

graph_tool if count(lib.tool_words & {"neo4j", "cypher", "memgraph", "falkordb", "graph", "kuzu", "neptune"}) > 0

# Cypher without literals and comments, in lower case.
cypher := [[e, code(e.value)] |
	count(lib.present & {"query", "cypher", "code", "sql"}) > 0
	some e in lib.entries
	is_cypher(e)
]

is_cypher(e) if {
	e.kind == "cypher"
	regex.match(`(?i)cypher`, e.name)
}

is_cypher(e) if {
	e.kind in {"query", "cypher", "code", "sql"}
	graph_tool
}

code(text) := trim(regex.replace(regex.replace(lower(text), literals, " 0 "), `\s+`, " "), " ;")

literals := "(?s)'(?:\\\\.|[^'\\\\])*'|\"(?:\\\\.|[^\"\\\\])*\"|//[^\\n]*|/\\*.*?\\*/|`[^`]*`"

findings contains lib.finding("queries.cypher-write", e, "the Cypher changes the graph, and the tool's name doesn't say that it does") if {
	count(lib.tool_words & {"write", "create", "update", "merge", "delete", "add", "set"}) == 0
	some [e, c] in cypher
	regex.match(
		concat("|", [
			`(^|[^.:\w$])(create|merge|delete|detach|remove|drop|foreach|grant|revoke|deny|alter|set)\b( |\(|$)`,
			`\bapoc\.(create|merge|refactor|nodes\.delete|periodic|trigger|lock|atomic)\b`,
		]),
		c,
	)
}

findings contains lib.finding("queries.cypher-start", e, "the text doesn't begin like a Cypher statement that reads") if {
	count(lib.tool_words & {"write", "create", "update", "merge", "delete", "add", "set"}) == 0
	some [e, c] in cypher
	not regex.match(`^(match|optional|return|with|unwind|call|show|explain|profile|use|cypher)\b|^$`, c)
}

findings contains lib.finding("queries.cypher-procedure", e, "the Cypher reads files or URLs, runs text as code, or administers the database") if {
	some [e, c] in cypher
	regex.match(`\bload csv\b|\bapoc\.(load|import|export|cypher|systemdb|trigger|custom|config|log|do|case|when|periodic|util\.(sleep|validate)|es|couchbase|mongo\w*|redis|model\.jdbc|bolt)\b|\bdbms\.|\bdb\.(create|clear|reset|awaitindex)\w*|\bgenai\.`, c)
}

findings contains lib.finding("queries.cypher-statements", e, "the text has more than one Cypher statement: send them one by one") if {
	some [e, c] in cypher
	contains(c, ";")
}

findings contains lib.finding("queries.unbounded", e, "the Cypher deletes the whole graph") if {
	some [e, c] in cypher
	regex.match(`match ?\(\w*\)(-\[\w*\]-\(\w*\))? ?(with \w+ )?(limit \d+ )?(detach )?delete\b`, c)
}

findings contains lib.finding("queries.identifier", e, "the value ends the name of a label or type that it is put into") if {
	regex.match(`type|label|relation|kind`, lib.name_text)
	some e in lib.entries
	e.kind in {"id", "table", "label"}
	regex.match(`(?i)(type|types|label|labels|relation\w*|kind)$`, e.name)
	regex.match("`\\s*[\\])}\\w]*\\s*(set|create|delete|detach|merge|match|return|with|remove|call|foreach)?\\b.*(//|/\\*|\\)|$)|[\\])}]\\s*(set|create|delete|detach|merge|match|return|remove|call)\\b", lower(e.value))
	regex.match("`|(?i)\\b(set|create|delete|detach|merge|match|return|remove|call)\\b.*//", e.value)
}

# Behind a bracket that ends the pattern, the next clause.
findings contains lib.finding("queries.identifier", e, "the value ends the name of a label or type that it is put into") if {
	regex.match(`type|label|relation|kind`, lib.name_text)
	some e in lib.entries
	e.kind in {"id", "table", "label"}
	regex.match(`(?i)(type|types|label|labels|relation\w*|kind)$`, e.name)
	regex.match(`(?i)[)\]}]\s*(detach\s+delete|delete|create|merge|match|set|remove|return|call|with|foreach)\b`, e.value)
}

findings contains lib.finding("queries.mutation", e, "the GraphQL mutation deletes or resets something: do it by hand") if {
	contains(lower(lib.document), "mutation")
	some e in lib.entries
	not e.kind in {"free", "pattern"}
	regex.match(`(?i)^\s*(#[^\n]*\n\s*)*mutation\b|\}\s*mutation\b`, e.value)
	regex.match(`(?i)\b\w*(delete|destroy|wipe|purge|remove|drop|truncate|reset|revoke|terminate|erase|unpublish)\w*\s*[({@]`, regex.replace(e.value, `(?s)"""(.*?)"""|"(?:\\.|[^"\\])*"`, " "))
}

findings contains lib.about("queries.mongo", at, "the MongoDB query runs JavaScript or writes another collection") if {
	contains(lib.name_text, " $")
	some [at, o] in lib.objects
	count(object.keys(o) & {"$where", "$function", "$accumulator", "$out", "$merge", "$eval"}) > 0
}

findings contains lib.finding("queries.mongo", e, "the MongoDB query runs JavaScript or writes another collection") if {
	contains(lib.document, "$")
	some e in lib.entries
	e.kind in {"data", "query", "fragment", "pattern", "other"}
	regex.match(`["'{,\s]\$(where|function|accumulator|out|merge|eval)["']?\s*:`, e.value)
}
