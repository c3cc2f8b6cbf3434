# What an argument is, told from its name. A name is split into words
# ("gitRemoteURL", "git-remote-url" and "git_remote_url" are the same three), and the
# last one decides: "repo_path" is a path, "path_id" an id. The tables are in
# starter/kinds/data.json.
#
# A kind says which checks a string gets:
#
#   free      text for people, code to be written: nothing but the search for secrets
#   data      a value that may be JSON in a string; the values in it are looked at
#   path      a file or directory
#   place     a file or directory, when it looks like one
#   mount     what is mounted into a container
#   url       a URL, or the path part of one
#   host      a host name or address
#   command   a command line, or an argument vector when it is a list
#   argv      arguments of a command
#   code      a script: a command line for a tool that runs a shell, else free
#   sql, cypher, query, fragment   database languages; query can also be a search
#   ref       a git branch, tag or revision
#   id        a name that programs read
#   table     a table, column or index
#   label     a name that people read
#   address   who gets something
#   limit, page, amount   numbers
#   other     nothing is known: the value's own shape is all there is
package starter.lib

import rego.v2

# words splits a name into lower-case words.
words(name) := split(trim(joined, "_"), "_") if {
	spaced := regex.replace(name, `([a-z0-9])([A-Z])`, "${1}_${2}")
	joined := regex.replace(lower(spaced), `[\s_.:/()\[\]$@-]+`, "_")
}

# kind tells the kind of an argument by its name; every name has one. $ref and its like
# are JSON's own words for a place in a document, and no git refs.
kind(name) := "other" if {
	regex.match(`^\$([a-z]+R|r)ef$`, name)
} else := k if {
	k := data.starter.kinds.words[name]
} else := k if {
	k := data.starter.kinds.pairs[name]
} else := last_kind(name) if {
	regex.match(`^[a-z0-9]*$`, name)
} else := pair_kind(regex.replace(lower(regex.replace(name, `([a-z0-9])([A-Z])`, "${1}_${2}")), `[^a-z0-9]+`, "_"))

# pair_kind asks the last two words together, then what it is the name of, then the
# last word alone.
pair_kind(name) := k if {
	k := data.starter.kinds.pairs[regex.replace(name, `^.*_([^_]+_[^_]+)$`, "$1")]
} else := named_kind(object.get(data.starter.kinds.words, regex.replace(name, `^(.*_)?([^_]+)_[^_]+$`, "$2"), "other")) if {
	regex.match(`_(names?|list|string|str|arg)$`, name)
} else := k if {
	k := data.starter.kinds.words[regex.replace(name, `^.*_`, "")]
} else := last_kind(regex.replace(name, `^.*_`, ""))

# last_kind knows words that are written together: "repopath", "imageurl".
last_kind(word) := "path" if {
	regex.match(`(path|file|dir|folder)s?$`, word)
	not regex.match(`(profile|classpath|xpath|jsonpath)s?$`, word)
} else := "url" if {
	regex.match(`(url|uri|href)s?$`, word)
} else := "other"

# named_kind is the kind of "x_name" for an x: the name of a path is a path, the name
# of a message is a label.
named_kind(k) := k if {
	k in {"path", "place", "url", "host", "ref", "id", "table"}
} else := "label"

# The tool's name, split. What a tool does is read from it alone: titles, descriptions
# and annotations are the server's to choose freely.
tool_words := {w | some w in words(input.tool.name)}

# The tool says of itself that it only reads.
tool_reads if {
	count(tool_words & read_words) > 0
	count(tool_words & write_words) == 0
}

read_words := {
	"check", "compare", "count", "describe", "diff", "exists", "explain", "fetch", "find", "get", "grep", "inspect",
	"list", "lookup", "ls", "open", "preview", "query", "read", "retrieve", "search", "show", "stat", "status",
	"summarize", "tail", "tree", "validate", "view",
}

write_words := {
	"add", "append", "apply", "approve", "assign", "cancel", "clear", "close", "comment", "commit", "copy", "create",
	"delete", "deploy", "destroy", "download", "drop", "edit", "erase", "execute", "fork", "import", "insert",
	"install", "invite", "lock", "merge", "modify", "move", "patch", "post", "publish", "purge", "push", "put",
	"rebase", "remove", "rename", "reopen", "replace", "reset", "restore", "rm", "run", "save", "send", "set",
	"share", "submit", "sync", "transfer", "trash", "truncate", "update", "upload", "upsert", "wipe", "write",
}

# What a call does is said by the tool's name, or by an argument like "action".
does := tool_words | stated_words

stated_words := {w |
	regex.match(` (action|mode|operation|op|verb|method|sub_?command|command|action_?type|operation_?type) `, name_text)
	some [_, o] in objects
	some name, value in o
	regex.match(`(?i)^(action|mode|operation|op|verb|method|sub_?command|command|action_?type|operation_?type)$`, name)
	is_string(value)
	regex.match(`^\s*-{0,2}[A-Za-z][\w-]*\s*$`, value)
	some w in words(value)
}
