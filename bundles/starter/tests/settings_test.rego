package tests.starter.settings

import data.starter.settings
import rego.v2

test_defaults_are_well_formed if {
	problems := settings.problems
	count(problems) == 0
}
