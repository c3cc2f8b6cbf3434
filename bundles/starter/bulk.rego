# Calls that delete, send or change many things at once.
#
# Stops: more items in one call than settings.bulk.max_items, in tools that delete,
# send or change; a delete of a whole database, volume, bucket, cluster, repository or
# backup; a delete of many without a filter, with a filter that matches everything, or
# with a wildcard. Unless the call says that it is a dry run.
#
# Doesn't stop: a filter that matches more than was meant; one call for each thing.
#
# Incidents: https://github.com/patrickfreyer/apple-mail-mcp/pull/21 (mails deleted
# without a filter), the mailbox emptied by an agent in 2026-02.
package starter.bulk

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
relevant if acts

relevant if regex.match(` (where|filter|conditions?) `, lib.name_text)

relevant if "id" in lib.present

acts if count(lib.tool_words & (deleting | {
	"archive", "cancel", "revoke", "ban", "kick", "suspend", "disable", "deactivate", "send", "invite", "notify", "broadcast", "email", "move", "unsubscribe",
	"terminate", "stop", "reject", "approve", "merge", "transfer", "pay", "mark", "close", "forward", "post", "publish",
})) > 0

deleting := {"delete", "remove", "purge", "wipe", "erase", "destroy", "truncate", "trash", "drop", "clear", "empty", "prune", "expunge", "nuke", "flush"}

acts if {
	not lib.tool_reads
	count(lib.tool_words & {"batch", "bulk", "mass", "multi"}) > 0
	count(lib.tool_words & {"update", "edit", "modify", "patch", "change", "set"}) > 0
}

acts if count(lib.stated_words & deleting) > 0

deletes if count(lib.does & deleting) > 0

dry_run if {
	some name in {"dry_run", "dryRun", "dryrun", "dry-run", "preview", "simulate", "what_if", "whatIf", "test_mode", "validate_only", "validateOnly"}
	input.arguments[name] in {true, "true", "yes", 1}
}

findings contains lib.about("bulk.items", array.concat(at, [name]), "too many items in one call: settings.bulk.max_items") if {
	not dry_run
	not lib.tool_reads
	some name in counted_names
	some [at, o] in lib.objects
	value := o[name]
	many(name, value)
}

# Lists of ids are counted in every tool that changes something.
counted_names := {name | some name, _ in lib.kinds} if acts

counted_names := {name | some name, "id" in lib.kinds} if not acts

many(name, value) if {
	is_array(value)
	count(value) > data.settings.bulk.max_items
	not lib.kinds[name] in {"free", "data"}
}

# A list in a string.
many(name, value) if {
	is_string(value)
	lib.kinds[name] in {"id", "label", "address", "other"}
	regex.match(`^[^\s,;]+([,;]\s*[^\s,;]+){5,}$`, value)
	count(regex.split(`[,;]\s*`, value)) > data.settings.bulk.max_items
}

# How many a call may delete.
many(name, value) if {
	deletes
	is_number(value)
	regex.match(`(?i)^(limit|count|max[_a-z]*|batch_?size|num[_a-z]*)$`, name)
	value > data.settings.bulk.max_items
}

findings contains lib.about("bulk.store", [], "this deletes a whole store with everything that is in it: do it by hand") if {
	deletes
	not dry_run
	stores(last_word)
	not lib.environment_named(data.settings.environments.writable)
}

stores(word) if regex.match(`^(databases?|db|volumes?|clusters?|repository|repositories|repos?|backups?|disks?|filesystems?|vaults?|keyspaces?|zones?|organi[sz]ations?|orgs?|tenants?|stacks?)$`, word)

# Other things are called buckets, too.
stores(word) if {
	word in {"bucket", "buckets"}
	count((lib.tool_words - deleting) - {"s3", "gcs", "aws", "gcp", "storage", "minio", "r2", "oss", "cloud", "blob"}) == 1
}

# Nothing but a verb and "all".
findings contains lib.about("bulk.filter", [], "this deletes everything and can't be told what to leave") if {
	deletes
	not dry_run
	count(filters) == 0
	count(lib.tool_words - (deleting | {"all", "everything", "flushall", "flushdb"})) == 0
	count(lib.tool_words & {"all", "everything", "flushall", "flushdb"}) > 0
}

findings contains lib.about("bulk.filter", [], "this deletes many things and says nothing of which: give a filter, or call it as a dry run first") if {
	count(lib.tool_words & (deleting - {"clear", "flush", "prune", "empty"})) > 0
	plural
	not dry_run
	count(filters) == 0
}

# The tool's name speaks of many.
plural if regex.match(`[a-rt-z]s$|[a-z]{2}ses$`, last_word)

plural if count(lib.tool_words & {"all", "bulk", "batch", "many", "mass", "everything", "where", "query"}) > 0

last_word := w if {
	ws := [w | some w in lib.words(input.tool.name); not w in {"tool", "v1", "v2", "by", "batch", "bulk", "permanently"}]
	w := ws[count(ws) - 1]
} else := ""

# An argument that says which things, and doesn't say all.
filters contains name if {
	some name, value in input.arguments
	not regex.match(control, name)
	not matches_all(value)
}

control := concat("", [
	`(?i)^(dry_?run|confirm.*|force|limit|count|max.*|permanent.*|hard.*|soft.*|cascade|recursive|async|wait|timeout.*|verbose|quiet|silent|format|output.*|page.*|cursor|offset|`,
	`account.*|tenant.*|user|user_?id|user_?email|workspace.*|owner|organi[sz]ation.*|org.*|region|profile|mailbox|database.*|db|schema|cluster.*|bucket.*|table.*|collection.*|index.*|queue.*|topic.*|stream.*|environment|env|`,
	`backup.*|notify.*|reason|comment|message|request_?id|idempotency.*|batch_?size|server|connection.*|token|api_?key|are_you_sure|sure|yes|acknowledge.*|skip.*|include.*|keep.*|move_to_trash|trash)$`,
])

matches_all(value) if value in {null, "", "*", "**", "*.*", "%", "%%", ".*", "^.*$", ".", "/", "/*", "all", "ALL", "any", "*:*", "1=1", "true", true, false}

matches_all(value) if value in [[], {}, ["*"], [""]]

matches_all(value) if {
	not is_string(value)
	regex.match(`^\{("(query|filter|where|selector)":)?\{?("match_all":\{\}|"\*":.*|"[^"]*":\{"\$(ne|gt|gte|nin|exists|regex)":(null|""|0|\[\]|true|"\.\*"|"\^")\})?\}{0,2}$`, json.marshal(value))
}

matches_all(value) if {
	is_string(value)
	regex.match(`^\s*\{\s*\}\s*$|^\s*\{\s*"(query|filter|where)"\s*:\s*\{\s*("match_all"\s*:\s*\{\s*\}\s*)?\}\s*\}\s*$`, value)
}

findings contains lib.about("bulk.filter", array.concat(at, [name]), "the filter matches everything") if {
	count(lib.tool_words & (deleting | {"bulk", "batch", "mass", "all"})) > 0
	not dry_run
	some [at, o] in lib.objects
	some name, value in o
	regex.match(`(?i)^(filters?|where|query|criteria|conditions?|selector|match|predicate)$`, name)
	not value in {true, false}
	matches_all(value)
}

# To change everything is a change in bulk.
findings contains lib.about("bulk.filter", array.concat(at, [name]), "the filter matches everything") if {
	count(lib.tool_words & {"update", "patch", "modify", "set", "upsert"}) > 0
	not dry_run
	some [at, o] in lib.objects
	some name in {"where", "where_clause", "whereClause", "filter", "condition", "conditions"}
	is_string(o[name])
	regex.match(`(?i)^\s*(\(?\s*([0-9]+)\s*=\s*[0-9]+\s*\)?|true|not\s+false|'[^']*'\s*=\s*'[^']*')\s*;?\s*$`, o[name])
}

findings contains lib.about("bulk.wildcard", array.concat(at, [name]), "the call deletes whatever matches a wildcard that matches everything") if {
	deletes
	not dry_run
	some [at, o] in lib.objects
	some name, value in o
	not regex.match(`(?i)^(account|tenant|user|workspace|owner|org|region|profile|mailbox|server|connection|include|exclude|select|fields|reason|comment)`, name)
	is_string(value)
	value in {"*", "**", "*.*", "%", "%%", ".*", "/", "/*", "./", "./*", "**/*", "*:*", "1=1"}
}

findings contains lib.about("bulk.wildcard", array.concat(at, [name]), "the call deletes everything") if {
	deletes
	not dry_run
	some [at, o] in lib.objects
	some name, value in o
	regex.match(`(?i)^(all|everything|delete_?all|remove_?all|purge_?all|clear_?all|select_?all|all_?(users|items|files|records|messages|emails))$`, name)
	value in {true, "true", "yes"}
}
