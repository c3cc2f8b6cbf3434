# SQL.
#
# Stops: more than one statement; statements that don't only read, unless the tool's
# name says what it writes (create_table, insert_rows, write_query, apply_migration)
# or settings allow it; data changes inside a SELECT, WITH or EXPLAIN; SELECT that
# writes files; functions that read files, reach the network, change the session or
# wait; UPDATE and DELETE without WHERE; relations that hold credentials; comments,
# quotes and literals that databases read differently.
#
# Doesn't stop: a SELECT of too much, or of personal data; a function of the user's own
# that writes; statements in a file.
#
# Incidents: https://github.com/executeautomation/mcp-database-server/issues/34,
# https://github.com/pgEdge/pgedge-postgres-mcp/pull/196 (COMMIT leaves the read-only
# transaction), https://github.com/ericzakariasson/pg-mcp-server/issues/3 (comment
# first), https://github.com/awslabs/mcp/pull/374, /4044, /4092 and /4615 (stacked,
# comments, literals, verbs), https://github.com/crystaldba/postgres-mcp/pull/148,
# https://github.com/benborla/mcp-server-mysql/issues/128 (INTO OUTFILE),
# https://github.com/supabase/supabase/pull/46903, the Supabase ticket of 2025-07
# (secrets copied into a readable table).
package starter.sql

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
relevant if count(lib.present & {"sql", "query", "code", "fragment", "command", "argv"}) > 0

relevant if lib.database_tool

# Each reading of each text.
readings := [[e, r] |
	some [e, text] in lib.sql_texts
	some r in lib.readings(text)
]

# Each statement of each reading.
statements := [[e, trim(s, " (")] |
	some [e, r] in readings
	some s in split(r, ";")
	trim(s, " '") != ""
]

findings contains lib.finding("sql.statements", e, "the text has more than one SQL statement: send them one by one") if {
	not migrates
	some [e, r] in readings
	contains(r, ";")
}

findings contains lib.finding("sql.unreadable", e, "the SQL has comments, quotes or literals that databases read differently: write it plainly") if {
	some [e, text] in lib.sql_texts
	lib.unreadable_sql(text)
}

findings contains lib.finding("sql.verb", e, "the SQL statement doesn't only read: settings.sql.write_tools and settings.sql.verbs allow more") if {
	not writable
	some [e, s] in statements
	not regex.match(allowed_start, s)
}

# A tool that names what it writes does that and nothing else.
allowed_start := concat("", ["^(", concat("|", stated | more), `)(\b|$)`]) if count(stated) > 0

allowed_start := concat("", ["^(", concat("|", {reads} | more), `)(\b|$)`]) if count(stated) == 0

reads := concat("|", [
	`select|with|show|describe|desc|explain|values|table|summarize|from`,
	`pragma (\w+\.)?(table_info|table_xinfo|table_list|index_list|index_info|index_xinfo|foreign_key_list|foreign_key_check|database_list|function_list|module_list|collation_list|compile_options|integrity_check|quick_check)( ?\([^)=]*\))?$`,
	`pragma (\w+\.)?(user_version|schema_version|application_id|page_count|page_size|encoding|journal_mode|foreign_keys)$`,
])

more := {lower(v) | some v in data.settings.sql.verbs} | {v | write_tool; some v in {"insert", "update", "delete", "merge", "replace", "upsert", "create", "alter"}}

stated contains `create (or replace )?((global |local )?temp(orary)? |unlogged |external |transient )?(table|materialized view|view|(unique )?index|schema|type|sequence|database)` if count(lib.tool_words & {"create"}) > 0

stated contains "alter (table|view|index|schema|sequence)" if count(lib.tool_words & {"alter", "rename"}) > 0

stated contains "insert|replace into|merge|upsert" if count(lib.tool_words & {"insert", "upsert", "append"}) > 0

stated contains "update" if count(lib.tool_words & {"update"}) > 0

stated contains "delete" if count(lib.tool_words & {"delete"}) > 0

stated contains "insert|update|delete|replace into|merge|upsert" if count(lib.tool_words & {"write", "dml"}) > 0

stated contains "create|alter|comment" if count(lib.tool_words & {"ddl"}) > 0

stated contains "create|alter|comment|insert|update|grant|revoke|begin|start|commit|set|select|do" if migrates

migrates if count(lib.tool_words & {"migration", "migrations", "migrate"}) > 0

write_tool if {
	some pattern in data.settings.sql.write_tools
	glob.match(pattern, [], input.tool.name)
}

# A call that says it is for a test environment may write.
writable if lib.environment_named(data.settings.environments.writable)

findings contains lib.finding("sql.write", e, "the SQL changes data or writes a file inside a statement that seems to read") if {
	not writable
	some [e, s] in statements
	regex.match(concat("", [`^(`, reads, `)\b`]), s)
	not regex.match(`^(show|desc|describe)\b`, s)
	regex.match(
		concat("|", [
			`\binsert (or \w+ )?into\b|\bdelete from\b|\bmerge into\b|\breplace into\b|\bupdate (only )?[\w."]+( as)?( \w+)? set\b`,
			`\b(drop|create|alter|truncate) (or replace |temp |temporary |unique |materialized |global |local )*(table|database|schema|view|index|user|role|function|procedure|trigger|extension|sequence|type|login|event|server|policy)\b|\btruncate \w`,
			`\binto\b`, `\bexec(ute)? ?(\w*\.)*(sp_|xp_|\(|@)|\bexec(ute)? \w+\.\w*\.?\w+|\bwaitfor (delay|time)\b|\bfor (no key )?(update|share)\b|\block in share mode\b|\b(backup|restore) (database|log)\b|\bbulk insert\b|\bdbcc \w|\bshutdown( with nowait)?$|\breconfigure\b|\bcopy \w+ (to|from)\b|\bgrant \w+.* to\b`,
		]),
		s,
	)
}

findings contains lib.finding("sql.function", e, "the SQL calls a function that reads files, reaches the network, changes the session or waits") if {
	some [e, r] in readings
	called := regex.find_n(`(\b(from|join) )?[\w$]+( ?\. ?[\w$]+)* ?\(`, r, -1)
	regex.match(functions, concat(" ", called))
}

functions := concat("", [
	`\b(pg_read_\w+|pg_ls_\w+|pg_stat_file|pg_write_\w+|pg_file_\w+|lo_(import|export|put|from_bytea|unlink|create|creat|get)|pg_(terminate|cancel)_backend|pg_reload_conf|pg_rotate_\w+|`,
	`pg_switch_\w+|pg_promote|pg_(create|drop)_\w+|pg_advisory_\w+|pg_try_advisory_\w+|pg_sleep\w*|pg_notify|set_config|setval|nextval|dblink\w*|(query|table|cursor|database|schema)_to_xml\w*|`,
	`load_file|load_extension|sys_(exec|eval|get|set)|get_lock|release_lock|release_all_locks|is_free_lock|sleep|benchmark|master_pos_wait|readfile|writefile|fts3_tokenizer|edit|`,
	`xp_\w+|openrowset|openquery|opendatasource|(utl|dbms)_\w+ ?\. ?\w+|httpuritype|getenv|read_(csv|csv_auto|parquet|json|json_auto|text|blob|ndjson)\w*|(parquet|csv|json|sqlite|postgres|mysql)_scan|sniff_csv|`,
	`dictget\w*|system\$\w+|java_method|reflect2?|parse_url_file|http_(get|post|put|delete|head)|net\.http_\w+|extensions\.http\w*) ?\(|\b(from|join) (url|file|s3|gcs|hdfs|remote|remotesecure|mysql|postgresql|mongodb|jdbc|odbc|executable|azureblobstorage|iceberg|deltalake) ?\(`,
])

findings contains lib.finding("sql.function", e, "the SQL reads a file as a table") if {
	some [e, text] in lib.sql_texts
	regex.match(`(?i)\b(from|join)\s+'[^']*([/\\]|\.(csv|parquet|json|txt|tsv|db|log|xlsx))[^']*'`, text)
}

findings contains lib.finding("sql.unbounded", e, "the SQL changes or deletes every row: add a WHERE clause that names the rows") if {
	not writable
	some [e, s] in statements
	regex.match(`^(with\b.*\b)?(update|delete)\b`, s)
	not regex.match(`\bwhere\b`, s)
}

findings contains lib.finding("sql.unbounded", e, "the SQL changes or deletes every row: its WHERE clause is always true") if {
	not writable
	some [e, s] in statements
	regex.match(`^(with\b.*\b)?(update|delete)\b.*\bwhere (true|1|not false|\(?([0-9]+) ?= ?[0-9]+\)?|'' ?= ?'')$`, s)
}

findings contains lib.finding("sql.relation", e, "the SQL names a relation that holds credentials: settings.sql.relations lists them") if {
	count(data.settings.sql.relations) > 0
	some [e, r] in readings
	regex.match(relations, r)
}

relations := concat("", [
	`(^|[^\w$.])([a-z_]\w*\.)*(`,
	concat("|", [replace(replace(lower(r), ".", `\.`), "*", `\w+`) | some r in data.settings.sql.relations]),
	`)($|[^\w$])`,
])

findings contains lib.finding("sql.fragment", e, "the value ends the SQL it is put into, or adds to it") if {
	database_like
	some e in lib.entries
	e.kind == "fragment"
	some r in lib.readings(e.value)
	regex.match(
		concat("|", [
			`;|(^|[^'])'([^']|$)|\bunion (all )?select\b|\binto (out|dump)file\b|\b(insert into|delete from|drop (table|database|schema)|update \S+ set|alter table|truncate table)\b|/\*|\bor (true\b|'' ?= ?''|[0-9]+ ?= ?[0-9]+)`,
			functions,
		]),
		r,
	)
}

findings contains lib.finding("sql.fragment", e, "the value has a comment in it, which cuts off the SQL behind it") if {
	database_like
	some e in lib.entries
	e.kind == "fragment"
	regex.match(`--|/\*|#\s*$`, e.value)
}

database_like if lib.database_tool

# Conditions beside a table's name are SQL too.
database_like if {
	"table" in lib.present
	count(lib.tool_words & {"graph", "neo4j", "cypher", "graphql", "mongo", "mongodb", "search", "airtable", "notion"}) == 0
}
