# What the tests share: a call as the gate makes it, and settings of a user who has
# filled them in.
package tests.starter

import rego.v2

call(tool, arguments) := {
	"tool": {"name": tool, "server": null, "title": null, "annotations": {}},
	"arguments": arguments,
	"caller": {"subject": null, "tenant": null, "scopes": [], "claims": {}},
	"call": {"id": null, "session": null, "transport": null, "time": "2026-01-01T00:00:00Z", "responses": {}},
}

strict := object.union(data.settings, {
	"paths": {"roots": ["/srv/data", "/srv/repos", "C:\\work"], "extra_dirs": ["/srv/data/vault"], "extra_segments": ["private"], "extra_names": ["plan.docx"]},
	"urls": {"allow_hosts": ["localhost", ".corp.example.com"]},
	"commands": {"operators": ["|"], "substitution": false, "allow": ["git", "ls", "cat", "echo", "psql -c 'SELECT"], "extra_programs": ["ls-all"]},
	"sql": {"write_tools": ["etl_*"], "verbs": ["call"], "relations": ["integration_tokens", "vault.*"]},
	"git": {"protected": ["main", "release/*"], "direct_writes": false},
	"repos": {"allow": ["example-org/app", "example-org/docs-*"]},
	"mail": {"internal_domains": ["example.com", ".example.net"], "allow": ["friend@example.org"], "max_recipients": 3},
	"recipients": {"allow": ["+10000000002", "DE89 3704 0044 0532 0130 00"]},
	"secrets": {"ignore_tools": ["vault_*"], "extra": ["ACME-[0-9]{8}"]},
	"money": {"max_amount": 50000, "currencies": ["usd", "eur"]},
	"ranges": {"max_limit": 500, "max_days": 31},
	"bulk": {"max_items": 5},
	"environments": {"writable": ["test", "staging"]},
})
