package tests.starter.git

import data.starter.git
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := git.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_git_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"git_reset: hard reset": {"tool": "git_reset", "arguments": {"mode": "hard"}, "rules": {"git.discard"}},
	"git_reset: hard reset, flag": {"tool": "git_reset", "arguments": {"hard": true}, "rules": {"git.discard"}},
	"git_clean: clean": {"tool": "git_clean", "arguments": {"force": true}, "rules": {"git.discard"}},
	"git_clean: clean, dry run": {"tool": "git_clean", "arguments": {"force": true, "dryRun": true}, "rules": set()},
	"git_stash: stash dropped": {"tool": "git_stash", "arguments": {"mode": "drop"}, "rules": {"git.discard"}},
	"git_checkout: forced checkout": {"tool": "git_checkout", "arguments": {"force": true, "branch": "x"}, "rules": {"git.discard"}},
	"git_push: forced push of another branch": {"tool": "git_push", "arguments": {"branch": "feature/x", "force": true}, "rules": set()},
	"git_push: forced push of nothing named": {"tool": "git_push", "arguments": {"force": true}, "rules": {"git.force"}},
	"delete_branch_protection: protection removed": {"tool": "delete_branch_protection", "arguments": {"branch": "x"}, "rules": {"git.protection"}},
	"record: sentence for a commit": {"tool": "record", "arguments": {"commit": "fix: a * b"}, "rules": set()},
	"delete_branch: release branch deleted": {"tool": "delete_branch", "arguments": {"branch": "release/1"}, "rules": {"git.delete"}},
	"git_checkout: glob for a branch": {"tool": "git_checkout", "arguments": {"branch": "feature/*"}, "rules": {"git.ref"}},
	"git_checkout: backslash": {"tool": "git_checkout", "arguments": {"branch": "a\\b"}, "rules": {"git.ref"}},
	"git_show: revisions": {"tool": "git_show", "arguments": {"revision": "main@{yesterday}:src/[a].go"}, "rules": set()},
	"git_fetch: transport in a remote": {"tool": "git_fetch", "arguments": {"remote": "ext::sh -c x"}, "rules": {"git.ref"}},
	"push_files: protected by a pattern": {"tool": "push_files", "arguments": {"branch": "release/2", "files": []}, "rules": {"git.direct"}},
	"git_restore_files: restored by force": {"tool": "git_restore_files", "arguments": {"force": true}, "rules": {"git.discard"}},
	"git_config: setting that runs a program": {"tool": "git_config", "arguments": {"key": "core.sshCommand", "value": "x"}, "rules": {"git.config"}},
	"git_config: setting of a name": {"tool": "git_config", "arguments": {"key": "user.name", "value": "x"}, "rules": set()},
}
