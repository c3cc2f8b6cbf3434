# Git references and branches.
#
# Stops: reference names with characters that git or a shell reads as something else;
# forced pushes to protected branches; deleting protected branches and branch
# protection; throwing away work (reset --hard, clean, stash drop); with
# settings.git.direct_writes false, pushing files straight to a protected branch.
# A leading dash is stopped by starter.arguments, git's own options by
# starter.commands.
#
# Doesn't stop: a merge of a bad pull request; a push that a hook of the repository
# turns into something else.
#
# Incidents: CVE-2025-68144 and https://github.com/modelcontextprotocol/servers/issues/3545
# (a ref that is an option), https://github.com/modelcontextprotocol/servers/issues/3751
# (files pushed to main), the histories lost to forced pushes and hard resets by
# coding agents in 2025.
package starter.git

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
relevant if "ref" in lib.present

relevant if count(lib.tool_words & {"push", "delete", "remove", "disable", "update", "unprotect", "git", "reset", "clean", "stash", "checkout", "restore"}) > 0

relevant if "push" in lib.does

relevant if not data.settings.git.direct_writes

findings contains lib.finding("git.ref", e, "the value is not the name of a branch, tag or revision") if {
	"ref" in lib.present
	some e in lib.entries
	e.kind == "ref"
	not_a_ref(e.value)
}

not_a_ref(value) if regex.match(`(?i)^\s*ext::`, value)

# What is to be created has to be a name: no range, no way to another revision.
findings contains lib.about("git.ref", array.concat(at, [name]), "the value is not the name of a branch, tag or revision") if {
	count(lib.does & {"create", "rename"}) > 0
	count(lib.tool_words & {"branch", "branches", "tag", "tags"}) > 0
	some name, "ref" in lib.kinds
	regex.match(`(?i)^(new_?)?(branch|branch_?name|tag|tag_?name)$`, name)
	some [at, o] in lib.objects
	is_string(o[name])
	regex.match(`\.\.|@\{|\.lock(/|$)|[~^:\s]|^\.|/\.|\.$`, o[name])
}

# What git allows in a revision beside a name is taken out first. A sentence is no
# reference: the name means something else there.
not_a_ref(value) if {
	regex.match(`[\\?*\[\x00-\x1f\x7f]|^/|//|/$|^@$`, regex.replace(value, `@\{[^}]*\}|:.*$|\^\{.*\}`, ""))
	not regex.match(`\s\S+\s|^[^:]+: `, value)
}

findings contains lib.about("git.force", ["force"], "a forced push to a protected branch rewrites what others have: push without force, or to another branch") if {
	pushes
	some [_, o] in lib.objects
	some name in {"force", "force_push", "forcePush", "forced"}
	o[name] in {true, "true", "yes", 1}
	not elsewhere(o)
}

pushes if "push" in lib.does

pushes if {
	count(lib.tool_words & {"update", "set", "edit", "move"}) > 0
	count(lib.tool_words & {"ref", "refs", "reference"}) > 0
}

# A push that names only branches that aren't protected.
elsewhere(o) if {
	named := {v | some name in branch_names; v := o[name]; is_string(v)}
	count(named) > 0
	count({b | some b in named; protected(b)}) == 0
}

branch_names := {name | regex.match(`branch|ref|tag`, lib.name_text); some name, _ in lib.kinds; regex.match(`(?i)^(target_?|remote_?|base_?|head_?)?(branch|branch_?name|ref|refspec|tag)$`, name)}

protected(branch) if {
	some pattern in data.settings.git.protected
	glob.match(lower(pattern), [], regex.replace(lower(branch), `^(\+|refs/heads/|origin/|heads/|[^:]*:)+`, ""))
}

findings contains lib.about("git.delete", array.concat(at, [name]), "the branch is protected: it is not to be deleted") if {
	count(lib.does & {"delete", "remove", "d"}) > 0
	count(lib.tool_words & {"branch", "branches", "ref", "tag"}) > 0
	some [at, o] in lib.objects
	some name, value in o
	is_string(value)
	protected(value)
}

findings contains lib.about("git.protection", [], "branch protection is not an agent's to remove") if {
	count(lib.tool_words & {"delete", "remove", "disable", "update", "unprotect"}) > 0
	count(lib.tool_words & {"protection", "protections", "ruleset", "rulesets", "unprotect"}) > 0
}

findings contains lib.about("git.direct", array.concat(at, [name]), "the branch is protected: write to another one and open a pull request") if {
	not data.settings.git.direct_writes
	not lib.tool_reads
	count(lib.tool_words & {"push", "write", "upload", "commit", "put", "edit", "update", "create", "delete", "merge"}) > 0
	count(lib.tool_words & {"branch", "pull", "pr", "mr", "request", "issue", "release", "tag", "workflow", "run"}) == 0
	some name in branch_names
	some [at, o] in lib.objects
	value := o[name]
	is_string(value)
	protected(value)
}

findings contains lib.about("git.discard", array.concat(at, [name]), "this throws away work that git can't bring back: commit or stash it first") if {
	count(lib.does & {"git", "reset", "clean", "stash", "checkout", "restore"}) > 1
	some [at, o] in lib.objects
	some name, value in o
	discards(name, value)
}

findings contains lib.about("git.config", array.concat(at, [name]), "this setting makes git run another program or speak to another host") if {
	"git" in lib.tool_words
	some [at, o] in lib.objects
	some name, value in o
	is_string(value)
	some text in [value, concat("=", [name, value])]
	runs_programs(text)
}

runs_programs(value) if {
	is_string(value)
	regex.match(
		concat("", [
			`(?i)^\s*(core\.(sshcommand|fsmonitor|hookspath|pager|editor|gitproxy|askpass|attributesfile|worktree)|alias\.\S+|credential\.(\S*\.)?helper|protocol\.\S*\.allow|include(if)?\.\S*path|`,
			`(filter|diff|merge|difftool|mergetool)\.\S+\.(clean|smudge|process|command|textconv|driver|cmd)|diff\.external|gpg\.(\S*\.)?program|sequence\.editor|uploadpack\.\S*hook|url\.\S+\.(push)?insteadof|http\.(\S*\.)?(proxy|sslverify|sslcainfo)|remote\.\S+\.(proxy|uploadpack|receivepack|vcs))\s*(=|$)`,
		]),
		value,
	)
}

discards("mode", "hard") if "reset" in lib.does

discards("hard", true) if "reset" in lib.does

discards("force", true) if {
	"clean" in lib.does
	not object.get(input.arguments, "dryRun", object.get(input.arguments, "dry_run", false)) == true
}

discards("force", true) if count(lib.tool_words & {"checkout", "restore"}) > 0

discards(name, value) if {
	"stash" in lib.tool_words
	name in {"mode", "action", "operation", "subcommand"}
	value in {"drop", "clear"}
}
