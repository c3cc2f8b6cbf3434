package tests.starter.environments

import data.starter.environments
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := environments.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_environments_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"run_migration: production": {"tool": "run_migration", "arguments": {"environment": "production", "name": "x"}, "rules": {"environments.production"}},
	"execute_sql: production": {"tool": "execute_sql", "arguments": {"env": "prod", "sql": "UPDATE users SET a=1 WHERE id=2"}, "rules": {"environments.production"}},
	"reset_database: production": {"tool": "reset_database", "arguments": {"target_env": "production"}, "rules": {"environments.production"}},
}

test_environments_2[name] if {
	some name, c in cases_2
	found(c) == c.rules
}

cases_2 := {
	"bash: command": {"tool": "bash", "arguments": {"environment": "production", "command": "git push --force"}, "rules": {"environments.production"}},
	"reset_database: staging": {"tool": "reset_database", "arguments": {"environment": "staging"}, "rules": set()},
	"get_status: read of production": {"tool": "get_status", "arguments": {"environment": "production"}, "rules": set()},
}
