# SQL, read without parsing it: string literals and comments are taken out as each
# family of databases does, and what is left is looked at. Where two families differ
# (backslashes, # and -- comments) both readings must pass.
package starter.lib

import rego.v2

# sql_texts are [entry, text] of every string that is SQL.
sql_texts := array.concat(
	[[e, e.value] |
		count(present & {"sql", "query", "code"}) > 0
		some e in entries
		is_sql(e)
	],
	array.concat(
		[[e, e.value] |
			database_tool
			some [at, o] in objects
			some name, value in o
			is_string(value)
			kinds[name] in {"data", "other"}
			starts_like_sql(value)
			e := {"kind": "sql", "name": name, "value": value, "at": at, "key": name}
		],
		[[s.entry, w] | # psql -c, mysql -e, sqlite3 FILE SQL
			count(running & sql_programs) > 0
			some s in segments
			count(s.ran & sql_programs) > 0
			some w in array.slice(s.words, 1, count(s.words))
			regex.match(`(?i)^\s*(--command=|--execute=|-c|-e)?\s*(select|insert|update|delete|drop|create|alter|truncate|grant|copy|do|with|merge|call|exec)\s`, w)
		],
	),
)

sql_programs := {"psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "clickhouse-client", "duckdb", "snowsql", "bq"}

is_sql(e) if {
	e.kind == "sql"
	regex.match(`(?i)sql`, e.name)
}

is_sql(e) if {
	e.kind in {"sql", "query", "code"}
	database_tool
}

is_sql(e) if {
	e.kind in {"sql", "query", "code"}
	not searches
	count(tool_words & {"query", "execute", "run", "statement"}) > 0
	starts_with_verb(e.value)
}

is_sql(e) if {
	e.kind in {"sql", "query", "code"}
	not searches
	starts_like_sql(e.value)
}

# What a search looks for can be anything, SQL too.
searches if count(tool_words & {"search", "web", "find", "docs", "graph", "neo4j", "cypher", "graphql"}) > 0

starts_with_verb(text) if regex.match(concat("", [`(?i)^[\s(;]*(--|/\*|#|(`, sql_verbs, `)\b)`]), text)

starts_like_sql(text) if {
	regex.match(
		concat("", [
			`(?is)^\s*(/\*.*?\*/\s*|--[^\n]*\n\s*)*(select\b.+\bfrom\s|insert\s+into\s|update\s+\S+\s+set\s|delete\s+from\s|merge\s+into\s|`,
			`(drop|create|alter|truncate)\s+(table|database|schema|view|index|user|role|function)\s|with\s+\w+\s+as\s*\()`,
		]),
		text,
	)
}

database_tool if {
	count(tool_words & {
		"athena", "bigquery", "clickhouse", "cockroach", "databricks", "database", "db", "duckdb", "mariadb", "mssql", "mysql", "oracle",
		"pg", "postgres", "postgresql", "presto", "redshift", "snowflake", "sql", "sqlite", "sqlserver", "supabase", "table", "trino",
	}) > 0
	count(tool_words & {"docs", "graph", "neo4j", "cypher", "graphql", "mongo", "mongodb", "search"}) == 0
}

sql_verbs := concat("|", [
	"select|with|insert|update|delete|drop|create|alter|truncate|grant|revoke|merge|replace|upsert|call|exec|execute|do|copy|load|attach|detach|install",
	"pragma|explain|show|describe|desc|set|begin|start|commit|rollback|savepoint|vacuum|use|declare|lock|rename|comment|analyze|reindex|prepare|handler|import|export|kill|shutdown|values",
])

# readings are the ways in which databases read a text: lower case, no literals, no
# comments, single spaces, nothing after the last statement.
readings(text) := {tidy(regex.replace(text, ansi, " ${1}${2}${3}${4}${5}${6}${7}${8} "))} if {
	not regex.match(`\\|#|--\S`, text)
} else := {tidy(regex.replace(text, mysql, " ${1}${2}${3}${4}${5} "))} if {
	count(tool_words & {"mysql", "mariadb"}) > 0 # which database it is, is known
} else := {tidy(regex.replace(text, ansi, " ${1}${2}${3}${4}${5}${6}${7}${8} ")), tidy(regex.replace(text, mysql, " ${1}${2}${3}${4}${5} "))}

tidy(s) := regex.replace(trim(regex.replace(lower(s), `\s+`, " "), " "), `( ?;)+$`, "")

# The groups keep what stays: of a literal its quotes, of a quoted name the name.
ansi := "(?is)\\b(?:e(')(?:\\\\.|''|[^'\\\\])*('))|(')(?:''|[^'])*(')|--[^\\n]*|/\\*.*?\\*/|\"([\\w$]+)\"|(\")(?:\"\"|[^\"])*(\")|`([^`]*)`"

mysql := "(?is)(')(?:\\\\.|''|[^'\\\\])*(')|(\")(?:\\\\.|\"\"|[^\"\\\\])*(\")|#[^\\n]*|--(?:\\s[^\\n]*|$)|/\\*.*?\\*/|`([^`]*)`"

# unreadable_sql has something that databases read so differently that taking out
# literals is no help.
unreadable_sql(text) if {
	regex.match(
		concat("|", [
			`/\*M?!`, # MySQL runs the comment
			`/\*[^*]*/\*`, # PostgreSQL nests comments
			`\x00`,
			`\[[^\]']*'[^\]']*\]`, # a quote in brackets is part of a name in T-SQL
		]),
		text,
	)
}

# Comments and literals that don't end.
unreadable_sql(text) if {
	some r in readings(text)
	regex.match(`(^|[^'])'([^']|$)|(^|[^"])"([^"]|$)|\x60|/\*`, r)
}

# PostgreSQL's other quotes, and names in escapes.
unreadable_sql(text) if {
	some r in readings(text)
	regex.match(`\$\w*\$|(^|[^\w$])u& ?(''|")`, r)
}
