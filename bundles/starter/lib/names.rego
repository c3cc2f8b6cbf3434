# What an argument is, told from its name. A name is split into words
# ("gitRemoteURL", "git-remote-url" and "git_remote_url" are the same three); the
# last word that means something decides: "repo_path" is a path, "path_id" an id.
#
# A kind says which checks a string gets:
#
#   free      text for people or code to be written: no check but for secrets
#   path      a file or directory
#   place     may be a file or directory, when it looks like one
#   url       a URL, or the path part of one
#   host      a host name or address
#   command   a command line, or an argument vector when it is a list
#   argv      the arguments of a command
#   sql, cypher, query, fragment   database languages; query is any of them, or a search
#   ref       a git branch, tag or revision
#   id        a name that programs read: strict characters
#   table     the name of a table, column, label
#   label     a name that people read
#   address   who gets something
#   other     nothing is known
package starter.lib

import rego.v2

# words splits a name. Letters and digits other than ASCII stay within a word.
words(name) := split(trim(joined, "_"), "_") if {
	spaced := regex.replace(name, `([a-z0-9])([A-Z])`, "${1}_${2}")
	joined := regex.replace(lower(spaced), `[\s_.:/()\[\]-]+`, "_")
}

# kind tells the kind of an argument by its name. It has a value for every string.
kind(name) := k if {
	ws := words(name)
	n := count(ws)
	k := kind_of_words(concat("_", array.slice(ws, n - 2, n)), ws[n - 1], array.slice(ws, n - 2, n - 1))
}

kind_of_words(pair, _, _) := pair_kinds[pair]

else := head_kinds[head] if {
	some head in [head_word]
	some head_word in []
}

else := "other"
