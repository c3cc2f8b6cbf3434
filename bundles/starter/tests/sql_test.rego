package tests.starter.sql

import data.starter.sql
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := sql.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_sql_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"query: stacked": {"tool": "query", "arguments": {"sql": "SELECT 1; DROP TABLE a"}, "rules": {"sql.statements", "sql.verb"}},
	"query: stacked (2)": {"tool": "query", "arguments": {"sql": "SELECT 1;;DELETE FROM a WHERE id=1"}, "rules": {"sql.statements", "sql.verb"}},
	"execute_query: transaction": {"tool": "execute_query", "arguments": {"sql": "BEGIN; UPDATE a SET b=1; COMMIT"}, "rules": {"sql.statements", "sql.unbounded", "sql.verb"}},
	"run_query: leaves the transaction": {"tool": "run_query", "arguments": {"sql": "ROLLBACK; DROP TABLE a"}, "rules": {"sql.statements", "sql.verb"}},
	"read_query: write in a read tool": {"tool": "read_query", "arguments": {"sql": "UPDATE a SET b = 1 WHERE c = 2"}, "rules": {"sql.verb"}},
	"run_query: verb": {"tool": "run_query", "arguments": {"sql": "TRUNCATE a"}, "rules": {"sql.verb"}},
	"run_query: verb (2)": {"tool": "run_query", "arguments": {"sql": "GRANT ALL ON a TO b"}, "rules": {"sql.verb"}},
	"run_query: verb (3)": {"tool": "run_query", "arguments": {"sql": "CALL do_it()"}, "rules": set()},
	"run_query: write in a CTE": {"tool": "run_query", "arguments": {"sql": "WITH x AS (DELETE FROM a RETURNING *) SELECT * FROM x"}, "rules": {"sql.unbounded", "sql.write"}},
	"run_query: write behind a CTE": {"tool": "run_query", "arguments": {"sql": "with x as (select 1) update a set b=1"}, "rules": {"sql.unbounded", "sql.write"}},
	"run_query: explained and run": {"tool": "run_query", "arguments": {"sql": "EXPLAIN ANALYZE DELETE FROM a"}, "rules": {"sql.write"}},
	"run_query: select into": {"tool": "run_query", "arguments": {"sql": "SELECT * INTO b FROM a"}, "rules": {"sql.write"}},
	"run_query: file": {"tool": "run_query", "arguments": {"sql": "SELECT load_file('/etc/passwd')"}, "rules": {"sql.function"}},
	"run_query: file (2)": {"tool": "run_query", "arguments": {"sql": "SELECT pg_read_file('/etc/passwd')"}, "rules": {"sql.function"}},
	"run_query: quoted function": {"tool": "run_query", "arguments": {"sql": "SELECT \"pg_read_file\"('/etc/passwd')"}, "rules": {"sql.function"}},
	"run_query: conditional comment": {"tool": "run_query", "arguments": {"sql": "/*!DELETE FROM a*/"}, "rules": {"sql.unreadable"}},
	"run_query: hash comment": {"tool": "run_query", "arguments": {"sql": "# x\nDELETE FROM a"}, "rules": {"sql.unbounded", "sql.verb"}},
	"run_query: dollar quotes": {"tool": "run_query", "arguments": {"sql": "SELECT $$ ' $$; DROP TABLE a; SELECT $$ ' $$"}, "rules": {"sql.unreadable"}},
	"run_query: literal that doesn't end": {"tool": "run_query", "arguments": {"sql": "SELECT 1 WHERE a = 'b"}, "rules": {"sql.unreadable"}},
	"run_query: credentials": {"tool": "run_query", "arguments": {"sql": "SELECT * FROM pg_shadow"}, "rules": set()},
}

test_sql_2[name] if {
	some name, c in cases_2
	found(c) == c.rules
}

cases_2 := {
	"run_query: credentials (2)": {"tool": "run_query", "arguments": {"sql": "select * from public.integration_tokens"}, "rules": {"sql.relation"}},
	"run_query: credentials, quoted": {"tool": "run_query", "arguments": {"sql": "select * from \"integration_tokens\""}, "rules": {"sql.relation"}},
	"run_query: file as a table": {"tool": "run_query", "arguments": {"sql": "SELECT * FROM '/etc/passwd'"}, "rules": {"sql.function"}},
	"run_query: file (3)": {"tool": "run_query", "arguments": {"sql": "SELECT 'x' INTO  DUMPFILE '/tmp/x'"}, "rules": {"sql.write"}},
	"db_query: not a statement": {"tool": "db_query", "arguments": {"sql": "x' OR 1=1 --"}, "rules": {"sql.unreadable", "sql.verb"}},
	"write_query: no WHERE": {"tool": "write_query", "arguments": {"sql": "DELETE FROM users"}, "rules": {"sql.unbounded"}},
	"write_query: no WHERE (2)": {"tool": "write_query", "arguments": {"sql": "UPDATE users SET admin = true"}, "rules": {"sql.unbounded"}},
	"write_query: always true": {"tool": "write_query", "arguments": {"sql": "DELETE FROM users WHERE 1=1"}, "rules": {"sql.unbounded"}},
	"describe_table: table name": {"tool": "describe_table", "arguments": {"table": "users' UNION SELECT 1--"}, "rules": set()},
	"get_rows: table name": {"tool": "get_rows", "arguments": {"table_name": "users; DROP TABLE x", "limit": 10}, "rules": set()},
	"get_user: id": {"tool": "get_user", "arguments": {"user_id": "1 OR 1=1"}, "rules": set()},
	"query_table: fragment": {"tool": "query_table", "arguments": {"table": "users", "where": "1=1; DROP TABLE users"}, "rules": {"sql.fragment"}},
	"select_rows_table: fragment": {"tool": "select_rows_table", "arguments": {"table": "users", "order_by": "id; DELETE FROM users"}, "rules": {"sql.fragment"}},
	"db_select: fragment": {"tool": "db_select", "arguments": {"table": "users", "where": "id = 1 UNION SELECT password FROM admins"}, "rules": {"sql.fragment"}},
	"etl_run: tool of the settings": {"tool": "etl_run", "arguments": {"sql": "INSERT INTO a VALUES (1)"}, "rules": set()},
	"run_query: verb of the settings": {"tool": "run_query", "arguments": {"sql": "CALL p()"}, "rules": set()},
	"apply_migration: several statements of a migration": {"tool": "apply_migration", "arguments": {"query": "create table a (b int); alter table a add c int;"}, "rules": set()},
	"apply_migration: migration that drops": {"tool": "apply_migration", "arguments": {"query": "create table a (b int); drop table c;"}, "rules": {"sql.verb"}},
	"run_sql: test environment": {"tool": "run_sql", "arguments": {"env": "test", "sql": "DELETE FROM a"}, "rules": set()},
	"table_rows: comment in a fragment": {"tool": "table_rows", "arguments": {"where": "a = 1 -- b"}, "rules": {"sql.fragment"}},
}

test_sql_3[name] if {
	some name, c in cases_3
	found(c) == c.rules
}

cases_3 := {
	"database_run: SQL in an argument without a name for it": {"tool": "database_run", "arguments": {"input": "DROP TABLE a"}, "rules": {"sql.verb"}},
	"search_docs: a search": {"tool": "search_docs", "arguments": {"query": "DROP TABLE a"}, "rules": set()},
	"rename_table: rename": {"tool": "rename_table", "arguments": {"sql": "ALTER TABLE a RENAME TO b"}, "rules": set()},
	"update_row: update tool": {"tool": "update_row", "arguments": {"sql": "UPDATE a SET b = 1 WHERE c = 2"}, "rules": set()},
	"run_ddl: ddl tool": {"tool": "run_ddl", "arguments": {"sql": "CREATE INDEX i ON a (b)"}, "rules": set()},
	"upsert_rows: upsert tool": {"tool": "upsert_rows", "arguments": {"sql": "INSERT INTO a VALUES (1) ON CONFLICT DO NOTHING"}, "rules": set()},
	"run_query: nested comment": {"tool": "run_query", "arguments": {"sql": "SELECT /* a /* b */ 1"}, "rules": {"sql.unreadable"}},
	"run_query: name with a quote in brackets": {"tool": "run_query", "arguments": {"sql": "SELECT [a'], b FROM c"}, "rules": {"sql.unreadable"}},
	"query: read in a query tool": {"tool": "query", "arguments": {"query": "DELETE FROM a"}, "rules": {"sql.unbounded", "sql.verb"}},
	"web_search: search of SQL": {"tool": "web_search", "arguments": {"query": "select a from b"}, "rules": set()},
	"report: argument of an ordinary tool": {"tool": "report", "arguments": {"query": "select a from b; drop table c"}, "rules": {"sql.statements", "sql.verb"}},
	"append_rows: append tool": {"tool": "append_rows", "arguments": {"sql": "INSERT INTO a VALUES (1)"}, "rules": set()},
	"delete_rows: delete tool without WHERE": {"tool": "delete_rows", "arguments": {"sql": "DELETE FROM a"}, "rules": {"sql.unbounded"}},
	"run_query: file as a table (2)": {"tool": "run_query", "arguments": {"sql": "SELECT * FROM 'data/x.csv'"}, "rules": {"sql.function"}},
}
