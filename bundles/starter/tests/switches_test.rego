# Each rule can be switched off or to warn by its id, in every package.
package tests.starter.switches

import data.starter.arguments
import data.starter.bulk
import data.starter.commands
import data.starter.containers
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

# One call and the rule that refuses it, by package.
calls := {
	"arguments": {"tool": "f", "arguments": {"id": "x; y"}, "rule": "arguments.shell"},
	"bulk": {"tool": "delete_emails", "arguments": {}, "rule": "bulk.filter"},
	"commands": {"tool": "bash", "arguments": {"command": "sudo x"}, "rule": "commands.program"},
	"containers": {"tool": "docker_run", "arguments": {"privileged": true}, "rule": "containers.privileged"},
	"environments": {"tool": "reset_db", "arguments": {"env": "prod"}, "rule": "environments.production"},
	"git": {"tool": "git_reset", "arguments": {"mode": "hard"}, "rule": "git.discard"},
	"kubernetes": {"tool": "get", "arguments": {"kind": "Secret"}, "rule": "kubernetes.secrets"},
	"mail": {"tool": "send_email", "arguments": {"subject": "a\nb"}, "rule": "mail.header"},
	"money": {"tool": "pay", "arguments": {"amount": -1}, "rule": "money.amount"},
	"paths": {"tool": "read", "arguments": {"path": "../x"}, "rule": "paths.traversal"},
	"queries": {"tool": "graphql", "arguments": {"query": "mutation { deleteX(id: 1) }"}, "rule": "queries.mutation"},
	"ranges": {"tool": "list", "arguments": {"limit": -1}, "rule": "ranges.negative"},
	"repos": {"tool": "edit_repo", "arguments": {"visibility": "public"}, "rule": "repos.public"},
	"secrets": {"tool": "note", "arguments": {"text": "AKIAA1A1A1A1A1A1A1A1"}, "rule": "secrets.value"},
	"sql": {"tool": "run_sql", "arguments": {"sql": "DROP TABLE a"}, "rule": "sql.verb"},
	"urls": {"tool": "fetch", "arguments": {"url": "http://10.0.0.1/"}, "rule": "urls.private"},
}

denied["arguments"] := {f.rule | some f in arguments.deny}

denied["bulk"] := {f.rule | some f in bulk.deny}

denied["commands"] := {f.rule | some f in commands.deny}

denied["containers"] := {f.rule | some f in containers.deny}

denied["environments"] := {f.rule | some f in environments.deny}

denied["git"] := {f.rule | some f in git.deny}

denied["kubernetes"] := {f.rule | some f in kubernetes.deny}

denied["mail"] := {f.rule | some f in mail.deny}

denied["money"] := {f.rule | some f in money.deny}

denied["paths"] := {f.rule | some f in paths.deny}

denied["queries"] := {f.rule | some f in queries.deny}

denied["ranges"] := {f.rule | some f in ranges.deny}

denied["repos"] := {f.rule | some f in repos.deny}

denied["secrets"] := {f.rule | some f in secrets.deny}

denied["sql"] := {f.rule | some f in sql.deny}

denied["urls"] := {f.rule | some f in urls.deny}

warned["arguments"] := {f.rule | some f in arguments.warn}

warned["bulk"] := {f.rule | some f in bulk.warn}

warned["commands"] := {f.rule | some f in commands.warn}

warned["containers"] := {f.rule | some f in containers.warn}

warned["environments"] := {f.rule | some f in environments.warn}

warned["git"] := {f.rule | some f in git.warn}

warned["kubernetes"] := {f.rule | some f in kubernetes.warn}

warned["mail"] := {f.rule | some f in mail.warn}

warned["money"] := {f.rule | some f in money.warn}

warned["paths"] := {f.rule | some f in paths.warn}

warned["queries"] := {f.rule | some f in queries.warn}

warned["ranges"] := {f.rule | some f in ranges.warn}

warned["repos"] := {f.rule | some f in repos.warn}

warned["secrets"] := {f.rule | some f in secrets.warn}

warned["sql"] := {f.rule | some f in sql.warn}

warned["urls"] := {f.rule | some f in urls.warn}

test_deny[name] if {
	some name, c in calls
	d := denied[name] with input as helper.call(c.tool, c.arguments)
	w := warned[name] with input as helper.call(c.tool, c.arguments)
	c.rule in d
	count(w) == 0
}

test_warn[name] if {
	some name, c in calls
	d := denied[name] with input as helper.call(c.tool, c.arguments) with data.settings.rules as {c.rule: "warn"}
	w := warned[name] with input as helper.call(c.tool, c.arguments) with data.settings.rules as {c.rule: "warn"}
	not c.rule in d
	c.rule in w
}

test_off[name] if {
	some name, c in calls
	d := denied[name] with input as helper.call(c.tool, c.arguments) with data.settings.rules as {c.rule: "off"}
	w := warned[name] with input as helper.call(c.tool, c.arguments) with data.settings.rules as {c.rule: "off"}
	not c.rule in d
	not c.rule in w
}

test_location_is_a_json_pointer if {
	found := {f.location | some f in paths.deny} with input as helper.call("f", {"a/b~c": [{"path": "../x"}]})
	found == {"/a~1b~0c/0/path"}
}
