# Names and identifiers that end up in a command line, a query or a URL.
#
# Stops: in identifiers, references, hosts and paths, what a shell reads as syntax; in
# names for people, a command behind a separator or in a substitution, or a quote that
# ends the argument; a leading dash, which makes a value an option; a second option
# behind a space; SQL in an identifier; JSON strings that can't be read safely.
#
# Doesn't stop: anything in free text (messages, bodies, notes, prompts, code, search
# terms), nor words that are no command to begin with.
#
# Incidents: https://github.com/0xKoda/WireMCP/issues/12 (interface name),
# https://github.com/recursechat/mcp-server-apple-shortcuts/issues/9 (quotes),
# https://github.com/disler/aider-mcp-server/issues/16 (file names), CVE-2025-53967
# (a key in a curl command), CVE-2025-68144 and
# https://github.com/modelcontextprotocol/servers/issues/3545 (a ref that is an
# option), https://github.com/Flux159/mcp-server-kubernetes/pull/305 (a second option
# behind a space), https://github.com/modelcontextprotocol/servers/issues/1348 (SQL in
# a table's name).
package starter.arguments

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
relevant if count(suspects) > 0

# Most calls have no string that needs a look, as the text of the whole call shows.
suspicious if {
	regex.match("[;&|`$<>'%\\\\*]", lib.document)
} else if {
	contains(lib.document, "--")
} else if {
	contains(lib.document, `"-`)
} else if {
	contains(lib.document, `"[`)
} else if {
	contains(lib.document, `"{`)
} else if {
	contains(lib.document, " ")
	regex.match(`" *[-\[{]| -|(?i:union |\bor )|\( *(?i:select)`, lib.document)
}

# Most strings need one look only.
suspects := [e |
	suspicious
	some e in lib.entries
	regex.match("[;&|`$<>\"'%\\\\\\x00-\\x1f]|^\\s*[-\\[{]|\\s-|--|/\\*|(?i:union|\\bor\\b|\\(\\s*select\\s)", e.value) # each pattern below needs one of these
	not [e.at, e.key, e.value] in lib.json_places
]

findings contains lib.finding("arguments.shell", e, "the value has shell syntax in it, where a plain name is expected") if {
	some e in suspects
	regex.match(syntax[e.kind], e.value)
}

# The name of a script, where the tool runs what a project calls so.
findings contains lib.finding("arguments.shell", e, "the value has shell syntax in it, where a plain name is expected") if {
	count(lib.implied & {"bun", "cargo", "npm", "pnpm", "yarn"}) > 0
	some e in suspects
	e.kind == "code"
	regex.match(strict, e.value)
}

# By kind, what is a command in disguise.
syntax := {
	"id": strict, "table": strict, "host": strict,
	"path": concat("|", [strict, `[|<>]`]),
	"ref": concat("", ["[;|&$`<>\"'\\\\\\x00-\\x1f]|", lib.runs_program]),
	"label": concat("", [`["']\s*(;|&&?|\|\|?)|\$\([A-Za-z/]|`, lib.runs_command]),
	"url": concat("", ["\\$\\(|`|&&|[\"\\r\\n]|[;|]\\s*(", lib.program_names, `)\b`]),
	"address": lib.runs_command, "place": lib.runs_command, "other": lib.runs_command, "argv": lib.runs_command, "mount": lib.runs_command,
	"fragment": lib.runs_command,
	"limit": strict, "page": strict, "amount": strict,
	"data": never, "code": never, "sql": never, "cypher": never, "query": never, "pattern": never, "command": never,
}

never := `^\b$`

strict := concat("", [
	";\\s+\\S|;\\s*[/.$~\\\\]|&&|\\|\\|\\s*[^\\s<>=^~0-9*v]|[^|]\\|\\s|\\s\\|[^|]|\\$\\(|\\$\\{|[^`]`|`[^`]|[\\n\\r\\x00]|[\"']\\s*[;&|]|[;&|]\\s*[\"']|[<>]\\(|",
	lib.runs_program,
])

findings contains lib.finding("arguments.option", e, "the value begins with a dash and would be read as an option") if {
	some e in suspects
	regex.match(leading_dash[e.kind], e.value)
}

leading_dash := {
	"id": `^\s*--?[A-Za-z]`, "ref": `^\s*--?[A-Za-z]`, "host": `^\s*--?[A-Za-z]`, "path": `^\s*--?[A-Za-z]`, "table": `^\s*--?[A-Za-z]`,
	"url": `^\s*--?[A-Za-z]`, "place": `^\s*--?[A-Za-z]`, "address": `^\s*--?[A-Za-z]`,
	"label": `^\s*--?[A-Za-z][\w-]*(=|$)`, "other": `^\s*(--[A-Za-z][\w-]*(=|$)|-[A-Za-z]$)`,
	"limit": `^\s*--?[A-Za-z]`, "page": `^\s*--?[A-Za-z]`, "amount": `^\s*--?[A-Za-z]`,
	"pattern": `^\s*--[A-Za-z][\w-]*=`,
	"mount": never, "argv": never, "data": never, "code": never, "sql": never, "cypher": never, "query": never, "fragment": never, "command": never,
}

findings contains lib.finding("arguments.option", e, "the value has an option behind a space") if {
	some e in suspects
	regex.match(second_option[e.kind], e.value)
}

# In a tool that runs a program of its own, names for people are arguments too.
findings contains lib.finding("arguments.option", e, "the value has an option behind a space") if {
	count(lib.implied) > 0
	some e in suspects
	e.kind in {"label", "other", "place"}
	regex.match(`\s--?[A-Za-z][\w-]*(=|\s|$)`, e.value)
}

second_option := {
	"id": `\s--?[A-Za-z]`, "ref": `\s--?[A-Za-z]`, "host": `\s--?[A-Za-z]`,
	"path": `\s--[a-z][\w-]*(=|\s|$)|\s-[A-Za-z](\s|$)`, "place": `\s--[a-z][\w-]*=`, "url": `\s--?[A-Za-z]`, "label": `\s--[a-z][\w-]*(=|\s|$)`, "other": `\s--[a-z][\w-]*=`,
	"table": `\s--[a-z]`, "address": `\s--[a-z][\w-]*=`,
	"limit": `\s--?[A-Za-z]`, "page": `\s--?[A-Za-z]`, "amount": `\s--?[A-Za-z]`,
	"pattern": never,
	"mount": never, "argv": never, "data": never, "code": never, "sql": never, "cypher": never, "query": never, "fragment": never, "command": never,
}

findings contains lib.finding("arguments.sql", e, "the value has SQL in it, where an identifier is expected") if {
	some e in suspects
	regex.match(sql[e.kind], e.value)
}

sql := {
	"id": in_identifier, "table": concat("", [`[;'"]|--|/\*|`, in_identifier]),
	"label": quoted_sql, "address": quoted_sql, "place": quoted_sql, "other": quoted_sql,
	"ref": never, "host": never, "path": never, "url": never, "argv": never, "mount": never, "data": never, "code": never, "sql": never,
	"cypher": never, "query": never, "pattern": never, "command": never,
	"fragment": `(?i)[;)]\s*(drop|delete|update|insert|alter|truncate|select|exec|create|grant)\s+\w|\bunion\s+(all\s+)?select\b|['")]\s*;?\s*--\s*$|\(\s*select\s|\binto\s+(out|dump)file\b`,
	"limit": in_identifier, "page": in_identifier, "amount": in_identifier,
}

in_identifier := `(?i)'\s*(or|and|union|;|--|#|\|\|)|\bunion\s+(all\s+)?select\b|\bor\s+['"(]?\w+['"]?\s*=\s*['"(]?\w+|;\s*(drop|delete|update|insert|alter|truncate|select|exec|create)\b|--\s*$`

quoted_sql := `(?i);\s*(drop|create|alter|truncate)\s+(table|database|schema|user|view|index)\b|;\s*(delete\s+from|insert\s+into|update\s+\S+\s+set)\b|'\s*(or|and)\s*'?\w+'?\s*=|'\s*;?\s*--\s*$|'\s*;\s*(drop|delete|update|insert|alter|truncate|exec)\b|\bunion\s+(all\s+)?select\b.*\bfrom\b`

findings contains lib.finding("arguments.json", e, "the value is JSON with a number that can't be read safely") if {
	some e in suspects
	regex.match(`^\s*[\[{]`, e.value)
	lib.unreadable_json(e.value)
}
