# Writes to repositories.
#
# Stops, once settings.repos.allow is filled in: a write to any other repository,
# whether owner and name come apart or as one; always: making a repository public.
#
# Doesn't stop: reading another repository; what was read in a private one and is now
# written into an allowed one.
#
# Incidents: https://github.com/github/github-mcp-server/issues/844 (private data put
# into a public repository by an injected issue),
# https://github.com/github/github-mcp-server/issues/1694 (owner guessed),
# https://github.com/modelcontextprotocol/servers/issues/3751.
package starter.repos

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
relevant if "push" in lib.does

relevant if regex.match(`repo|project|name|visibility|access|public|private`, lib.name_text)

findings contains lib.about("repos.outside", at, "the repository is none of those that may be written to: settings.repos.allow") if {
	count(data.settings.repos.allow) > 0
	not lib.tool_reads
	some [at, repository] in named
	not allowed(repository)
}

allowed(repository) if {
	some pattern in data.settings.repos.allow
	glob.match(lower(pattern), ["/"], repository)
}

# named are [place, "owner/name"] of the repositories that a call names.
named contains [array.concat(at, [name]), lower(concat("/", [owner, value]))] if {
	some name in repository_names
	some [at, o] in lib.objects
	value := o[name]
	is_string(value)
	not contains(value, "/")
	some owner_name in owner_names
	owner := o[owner_name]
	is_string(owner)
}

named contains [at, lower(concat("/", [owner, o.name]))] if {
	some [at, o] in lib.objects
	count(at) > 0
	at[count(at) - 1] in repository_names
	is_string(o.name)
	some owner_name in owner_names
	owner := o[owner_name]
	is_string(owner)
}

named contains [array.concat(at, [name]), trim(regex.replace(lower(value), `^(https?://|git@|ssh://git@)[^/:]+[/:]|^(gh|bb|gl|github|gitlab|bitbucket)/|\.git$|%2f`, "/"), "/")] if {
	some name in (repository_names | project_names)
	some [at, o] in lib.objects
	value := o[name]
	is_string(value)
	regex.match(`/|%2[fF]`, value)
	not regex.match(`^([/~.]|[A-Za-z]:\\)`, value)
}

# Where a repository is to go, or where it is pushed to.
named contains [array.concat(at, [name]), lower(concat("/", [o[name], value]))] if {
	count(lib.tool_words & {"transfer", "move", "migrate"}) > 0
	some [at, o] in lib.objects
	some name in {"new_owner", "newOwner", "new_namespace", "newNamespace", "target_owner", "targetOwner"}
	is_string(o[name])
	some repository in repository_names
	value := regex.replace(o[repository], `^.*/`, "")
}

named contains [array.concat(at, [name]), trim(regex.replace(lower(value), `^(https?://|ssh://|git://)([^/@]*@)?[^/]+/|^[^/@]+@[^/:]+:|\.git/?$`, "/"), "/")] if {
	"push" in lib.does
	some [at, o] in lib.objects
	some name in {"remote", "remote_url", "remoteUrl", "repository", "url", "push_url", "pushUrl"}
	value := o[name]
	is_string(value)
	regex.match(`^(https?|ssh|git)://|^[^/@\s]+@[^/:]+:`, value)
}

repository_names := {name | regex.match(`repo|full_?name|namespace`, lib.name_text); some name, _ in lib.kinds; regex.match(`(?i)^(target_?|base_?|dest(ination)?_?)?(repo|repository|repo_?name|repository_?name|repo_?full_?name|repository_?full_?name|full_?name|repo_?slug|repo_?url|repository_?url|path_?with_?namespace|repositories|repo_?id)$`, name)}

project_names := {name | contains(lib.name_text, " project"); some name, _ in lib.kinds; regex.match(`(?i)^(project_?id|project_?path|project_?slug|project)$`, name)}

owner_names := {name | some name, _ in lib.kinds; regex.match(`(?i)^(target_?|base_?|repo_?|repository_?)?(owner|org|organization|organisation|owner_?name|workspace|user|username)$`, name)}

findings contains lib.about("repos.public", array.concat(at, [name]), "a repository is not made public by an agent") if {
	count(lib.tool_words & {"update", "edit", "set", "change", "patch", "modify"}) > 0
	count(lib.tool_words & {"repo", "repository", "project", "visibility"}) > 0
	some [at, o] in lib.objects
	some name, value in o
	makes_public(name, value)
}

# With a list of repositories to keep to, nothing new is made for everybody to read.
findings contains lib.about("repos.public", array.concat(at, [name]), "a repository or snippet is not made public by an agent") if {
	count(data.settings.repos.allow) > 0
	"create" in lib.does
	count(lib.tool_words & {"repo", "repository", "project", "gist", "snippet"}) > 0
	some [at, o] in lib.objects
	some name, value in o
	makes_public(name, value)
}

makes_public(name, value) if {
	name in {"visibility", "repo_visibility", "access_level"}
	is_string(value)
	lower(value) == "public"
}

makes_public("private", false)

makes_public("public", true)
