package tests.starter.settings

import data.starter.settings
import data.tests.starter as helper
import rego.v2

test_defaults_have_no_problem if {
	found := settings.problems
	count(found) == 0
}

test_filled_in_settings_have_no_problem if {
	found := settings.problems with data.settings as helper.strict
	count(found) == 0
}

# Settings laid over the defaults, with a part of what is said about them.
test_wrong_settings[name] if {
	some name, c in {
		"unknown group": {"over": {"path": {}}, "says": "settings.path is not a setting"},
		"unknown setting": {"over": {"paths": {"root": []}}, "says": "settings.paths.root is not a setting"},
		"group that is no object": {"over": {"paths": 5}, "says": "settings.paths is not an object"},
		"string for a list": {"over": {"paths": {"roots": "/srv"}}, "says": "settings.paths.roots is not a list of absolute directories"},
		"relative root": {"over": {"paths": {"roots": ["srv"]}}, "says": "settings.paths.roots is not a list of absolute directories"},
		"number in a list": {"over": {"urls": {"schemes": [5]}}, "says": "settings.urls.schemes is not a list of non-empty strings"},
		"glob with classes": {"over": {"repos": {"allow": ["a/[b]"]}}, "says": "settings.repos.allow is not a list of names"},
		"relation": {"over": {"sql": {"relations": ["a b"]}}, "says": "settings.sql.relations is not a list of relation names"},
		"verb": {"over": {"sql": {"verbs": ["a|b"]}}, "says": "settings.sql.verbs is not a list of SQL verbs"},
		"expression": {"over": {"secrets": {"extra": ["("]}}, "says": "settings.secrets.extra is not a list of regular expressions"},
		"operator": {"over": {"commands": {"operators": ["||", "?"]}}, "says": "settings.commands.operators is not a list of shell operators"},
		"string for a number": {"over": {"bulk": {"max_items": "5"}}, "says": "settings.bulk.max_items is not a number"},
		"string for a boolean": {"over": {"git": {"direct_writes": "no"}}, "says": "settings.git.direct_writes is not true or false"},
		"rule that is none": {"over": {"rules": {"a.b": "off"}}, "says": "settings.rules has no rule a.b"},
		"mode that is none": {"over": {"rules": {"paths.root": "on"}}, "says": "settings.rules: paths.root is neither"},
	}
	found := settings.problems with data.settings as object.union(data.settings, c.over)
	some problem in found
	startswith(problem, c.says)
}

test_missing_settings_are_named if {
	found := settings.problems with data.settings as object.remove(data.settings, ["money"])
	"settings.money is missing" in found
}

test_missing_members_are_named if {
	found := settings.problems with data.settings as object.union(object.remove(data.settings, ["money"]), {"money": {"max_amount": 5}})
	"settings.money.currencies is missing" in found
}
