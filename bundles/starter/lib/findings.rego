# What a check found, and what becomes of it. A finding is {"msg", "rule", "location"};
# settings.rules says for a rule's id whether it refuses ("deny", the default), is only
# recorded ("warn") or is not asked ("off").
package starter.lib

import rego.v2

mode(rule) := object.get(data.settings.rules, rule, "deny")

# Evaluating the warnings evaluates everything a second time: only when there are any.
warns if "warn" in {mode | some mode in data.settings.rules}

# finding is about an entry.
finding(rule, e, msg) := {"rule": rule, "location": pointer(array.concat(e.at, [e.key])), "msg": msg}

# about is a finding at a path.
about(rule, path, msg) := {"rule": rule, "location": pointer(path), "msg": msg}

# pointer writes a path as a JSON Pointer (RFC 6901).
pointer(path) := concat("", [$"/{token(k)}" | some k in path])

token(k) := replace(replace(k, "~", "~0"), "/", "~1") if is_string(k)

token(k) := k if is_number(k)
