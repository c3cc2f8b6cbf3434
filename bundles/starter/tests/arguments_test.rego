package tests.starter.arguments

import data.starter.arguments
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := arguments.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_arguments_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"capture_packets: program right behind the separator": {"tool": "capture_packets", "arguments": {"interface": "any;id"}, "rules": {"arguments.shell"}},
	"capture_packets: pipe": {"tool": "capture_packets", "arguments": {"device": "eth0 | tee /x"}, "rules": {"arguments.shell"}},
	"capture_packets: backquotes": {"tool": "capture_packets", "arguments": {"interface": "eth0`id`"}, "rules": {"arguments.shell"}},
	"open_app: second command": {"tool": "open_app", "arguments": {"app_name": "Safari; open -a Calculator"}, "rules": {"arguments.option", "arguments.shell"}},
	"git_log: a date that is an option": {"tool": "git_log", "arguments": {"repo_path": "/srv/repos/app", "since": "--output=/x"}, "rules": {"arguments.option"}},
	"git_diff: short option": {"tool": "git_diff", "arguments": {"repo_path": "/srv/repos/app", "base": "-O/x", "head": "main"}, "rules": {"arguments.option"}},
	"git_fetch: remote that is an option": {"tool": "git_fetch", "arguments": {"remote": "--upload-pack=id"}, "rules": {"arguments.option"}},
	"f: unreadable number": {"tool": "f", "arguments": {"payload": "{\"a\": 1e99999}"}, "rules": {"arguments.json"}},
	"f: long number": {"tool": "f", "arguments": {"payload": "[9999999999999999999999999999999999999999999999999999999999999999999999]"}, "rules": {"arguments.json"}},
	"kubectl_generic: second option for a program": {"tool": "kubectl_generic", "arguments": {"resourceType": "pods", "name": "x -n y"}, "rules": {"arguments.option"}},
	"list_rows: SQL in a limit": {"tool": "list_rows", "arguments": {"limit": "1; DROP TABLE x"}, "rules": {"arguments.shell", "arguments.sql"}},
	"grep_search: option in a pattern": {"tool": "grep_search", "arguments": {"pattern": "--pre=sh"}, "rules": {"arguments.option"}},
}
