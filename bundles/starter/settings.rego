# What is wrong with the settings. Evaluated once, when the bundle is loaded: a bundle
# with a problem is not loaded. docs/guides/starter.md describes each setting.
package starter.settings

import rego.v2

# shape says what every setting is.
shape := {
	"rules": "rules",
	"own": "object",
	"paths": {"roots": "directories", "extra_dirs": "directories", "extra_segments": "strings", "extra_names": "strings", "allow_names": "strings"},
	"urls": {"schemes": "strings", "allow_hosts": "strings", "only_hosts": "strings"},
	"commands": {"operators": "operators", "substitution": "boolean", "allow": "strings", "extra_programs": "strings", "allow_programs": "strings"},
	"sql": {"write_tools": "globs", "verbs": "verbs", "relations": "relations"},
	"git": {"protected": "globs", "direct_writes": "boolean"},
	"repos": {"allow": "globs"},
	"mail": {"internal_domains": "strings", "allow": "strings", "max_recipients": "number"},
	"recipients": {"allow": "strings"},
	"secrets": {"ignore_tools": "globs", "extra": "patterns"},
	"money": {"max_amount": "number", "currencies": "strings"},
	"ranges": {"max_limit": "number", "max_days": "number"},
	"bulk": {"max_items": "number"},
	"environments": {"production": "strings", "writable": "strings"},
}

# rules are the ids that settings.rules can switch.
rules := {
	"arguments.json", "arguments.option", "arguments.shell", "arguments.sql",
	"bulk.filter", "bulk.items", "bulk.store", "bulk.wildcard",
	"commands.allow", "commands.destructive", "commands.environment", "commands.hidden", "commands.inline", "commands.operators",
	"commands.option", "commands.path", "commands.program", "commands.substitution", "commands.upload",
	"containers.mount", "containers.privileged",
	"environments.production",
	"git.config", "git.delete", "git.direct", "git.discard", "git.force", "git.protection", "git.ref",
	"kubernetes.delete", "kubernetes.exposed", "kubernetes.privileged", "kubernetes.remote", "kubernetes.secrets", "kubernetes.target",
	"mail.address", "mail.bulk", "mail.header", "mail.outside", "mail.public",
	"money.amount", "money.currency", "money.limit", "money.recipient", "money.target",
	"paths.characters", "paths.home", "paths.network", "paths.root", "paths.secret", "paths.steering", "paths.system", "paths.traversal",
	"queries.cypher-procedure", "queries.cypher-start", "queries.cypher-statements", "queries.cypher-write", "queries.identifier",
	"queries.mongo", "queries.mutation", "queries.unbounded",
	"ranges.date", "ranges.days", "ranges.inverted", "ranges.limit", "ranges.negative",
	"repos.outside", "repos.public",
	"secrets.name", "secrets.value",
	"sql.fragment", "sql.function", "sql.relation", "sql.statements", "sql.unbounded", "sql.unreadable", "sql.verb", "sql.write",
	"urls.credentials", "urls.host", "urls.idn", "urls.outside", "urls.private", "urls.scheme", "urls.traversal",
}

problems contains $"settings.{group} is not a setting of the starter bundle: your own go below settings.own" if {
	some group, _ in data.settings
	not group in object.keys(shape)
}

problems contains $"settings.{group} is missing" if {
	some group, _ in shape
	not group in object.keys(data.settings)
}

problems contains $"settings.{group} is not an object" if {
	some group, _ in shape
	value := data.settings[group]
	not is_object(value)
}

problems contains $"settings.{group}.{name} is not a setting of the starter bundle" if {
	some group, members in shape
	is_object(members)
	some name, _ in data.settings[group]
	not name in object.keys(members)
}

problems contains $"settings.{group}.{name} is missing" if {
	some group, members in shape
	is_object(members)
	some name, _ in members
	is_object(data.settings[group])
	not name in object.keys(data.settings[group])
}

problems contains $"settings.{group}.{name} is not {wanted[kind]}" if {
	some group, members in shape
	is_object(members)
	some name, kind in members
	value := data.settings[group][name]
	not valid(kind, value)
}

problems contains $"settings.rules has no rule {id}: docs/guides/starter.md lists them" if {
	some id, _ in data.settings.rules
	not id in rules
}

problems contains $"settings.rules: {id} is neither \"deny\", \"warn\" nor \"off\"" if {
	some id, mode in data.settings.rules
	not mode in {"deny", "warn", "off"}
}

wanted := {
	"strings": "a list of non-empty strings",
	"directories": "a list of absolute directories",
	"globs": "a list of names in which * stands for anything; other special characters are not supported",
	"relations": "a list of relation names like schema.table or schema.*",
	"verbs": "a list of SQL verbs",
	"patterns": "a list of regular expressions (RE2)",
	"operators": "a list of shell operators out of && || | ; & < > >> << <<< and a line break",
	"number": "a number that is not negative",
	"boolean": "true or false",
}

valid("strings", value) if every_string(value, `.`)

valid("directories", value) if every_string(value, `^(/|[A-Za-z]:[/\\])`)

valid("globs", value) if every_string(value, `^[^\[\]{}\\!?]+$`)

valid("relations", value) if every_string(value, `^[A-Za-z_][\w$]*(\.([A-Za-z_][\w$]*|\*))*$`)

valid("verbs", value) if every_string(value, `^[A-Za-z]+( [A-Za-z]+)*$`)

valid("patterns", value) if {
	every_string(value, `.`)
	count([p | some p in value; not regex.is_valid(p)]) == 0
}

valid("operators", value) if {
	every_string(value, `(?s).`)
	count({o | some o in value} - {"&&", "||", "|", ";", "&", "<", ">", ">>", "<<", "<<<", "\n"}) == 0
}

valid("number", value) if {
	is_number(value)
	value >= 0
}

valid("boolean", value) if is_boolean(value)

every_string(value, pattern) if {
	is_array(value)
	count([v | some v in value; not is_string(v)]) == 0
	count([v | some v in value; is_string(v); not regex.match(pattern, v)]) == 0
}
