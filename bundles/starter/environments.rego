# Production.
#
# Stops: deleting, resetting, restoring or migrating, and SQL that doesn't only read,
# where an argument names a production environment.
#
# Doesn't stop: a call that doesn't say which environment it is for: only the server's
# own configuration knows.
#
# Incidents: https://github.com/anthropics/claude-code/issues/64056 (scripts for tests
# run against production), the production database deleted by an agent in 2025-07.
package starter.environments

import data.starter.lib
import data.starter.sql
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
relevant if count(lib.environment_names) > 0

relevant if count(place_names) > 0

findings contains lib.about("environments.production", [], "this changes production in a way that can't be undone: settings.environments.production") if {
	changes
	lib.environment_named(data.settings.environments.production)
}

# What is deleted or reset may name it, too.
findings contains lib.about("environments.production", array.concat(at, [name]), "this changes production in a way that can't be undone: settings.environments.production") if {
	some name in place_names
	some [at, o] in lib.objects
	value := o[name]
	is_string(value)
	count({w | some w in lib.words(value)} & {lower(x) | some x in data.settings.environments.production}) > 0
	changes
}

place_names := {name | regex.match(places, lib.name_text); some name, _ in lib.kinds; regex.match(place, name)}

places := ` (target|database|database_?name|db|db_?name|cluster|cluster_?name|instance|connection|connection_?name|stack|stack_?name) `

place := `(?i)^(target|database|database_?name|db|db_?name|cluster|cluster_?name|instance|connection|connection_?name|stack|stack_?name)$`

changes if count(lib.does & {
	"delete", "drop", "destroy", "truncate", "purge", "wipe", "reset", "erase", "terminate", "restore", "rollback", "migrate", "migration", "migrations", "seed",
	"flush", "uninstall", "shutdown", "remove", "teardown", "recreate", "reinit", "clear", "nuke",
}) > 0

changes if {
	some [_, s] in sql.statements
	not regex.match(concat("", [`^(`, sql.reads, `)\b`]), s)
}

changes if {
	lib.may_destroy
	some s in lib.segments
	some line in lib.command_forms(s)
	lib.destroys(line)
}
