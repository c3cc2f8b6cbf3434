# All programs of plain command lines as one text, one program a row, so that one match
# says of all of them that a check finds nothing. Looking at each is only for those
# checks that might.
#
# A plain line is split by a shell, hides no program's name behind quotes, expansion,
# wrappers or a tool's name, and has no line break in a quoted part. In a row are the
# program's name and its words without quotes, in lower case, single spaces between
# them. Everything else than a plain line is looked at program by program.
package starter.lib

import rego.v2

# Tokens stand between zero bytes, so that a quoted space is none between words.
marked := concat("\u0001", [concat("", ["\u0000", concat("\u0000\u0000", l.tokens), "\u0000"]) | some l in lines])

# Each part of a list or pipeline begins with \u0001, and then with its program.
parts := regex.replace(
	regex.replace(marked, "\\x00(?:&&|\\|\\||[;&|()\\n])\\x00", "\u0001"),
	"(^|\\x01)(?:\\x00(?:[A-Za-z_][A-Za-z0-9_]*\\+?=[^\\x00]*|#[^\\x00]*|!|\\{|\\}|if|then|elif|else|fi|while|until|do|done)\\x00)+", "$1",
)

rows := regex.replace(
	strings.replace_n({"'": "", `"`: "", `\`: "", "\u0000": "", "\u0001": "\n"}, lower(replace(parts, "\u0000\u0000", " "))),
	`(?m)^[^ \n]*/`, "",
)

plain_lines if {
	count(lines) > 0
	count(implied) == 0
	count([t | some t in lines; regex.match(`[\x00\x01]`, t.text)]) == 0
	not regex.match("\\n|(?:^|\\x01)\\x00[^\\x00]*[\\s$`*?\\[{'\"\\\\]", parts)
	not regex.match(wrapper_row, rows)
	count(vector_segments) == 0
}

wrapper_row := concat("", [`(?m)^(?:`, concat("|", object.keys(wrappers)), `)(?: |$)|^[^ \n]*\.(?:exe|cmd|bat|ps1|com)(?: |$)`])

# may_match is false when no row can match what is asked of each line.
may_match(_) if not plain_lines

may_match(pattern) if {
	plain_lines
	regex.match(concat("", ["(?m)", pattern]), rows)
}

# running are all programs that the call's command lines run.
running := {name | some name in regex.find_n(`(?m)^[^ \n]+`, rows, -1)} if {
	plain_lines
} else := {name | some s in segments; some name in s.ran}

# The words of all rows, one a line.
row_words := replace(rows, " ", "\n")

# may_have is false when no word can match what is asked of each word.
may_have(_) if not plain_lines

may_have(pattern) if {
	plain_lines
	regex.match(concat("", ["(?ims)", pattern]), row_words)
}

# may_destroy is false when no line can destroy anything.
may_destroy if {
	others_run
	may_match(destructive)
}

may_destroy if {
	others_run
	may_match(destructive_words)
}

may_destroy if {
	"git" in running
	may_match(git_destroys)
}

# What most lines run deletes and sends nothing by the patterns for all programs:
# destructive, destructive_words and sends_file.
others_run if count(running - harmless_programs) > 0

harmless_programs := {
	"ag", "awk", "cat", "code", "cp", "echo", "git", "grep", "head", "jq", "less", "ls", "mkdir", "more", "mv", "mysql", "nano", "printf",
	"psql", "rg", "sed", "sqlite3", "tail", "touch", "vi", "vim",
}

# may_name_paths is false when no word can be a path that a command is refused for.
may_name_paths if not plain_lines

may_name_paths if ((count(roots) + count(extra_names)) + count(extra_segments)) + count(data.settings.paths.extra_dirs) > 0

may_name_paths if regex.match(`[%]|[^\x00-\x7f]|credentials`, row_words)

may_name_paths if regex.match(concat("|", [concat("", ["(?m)", secret_paths]), agent_paths, written_paths, system_paths, reserved_names]), row_paths)

# The words that named_paths takes for paths, less what it takes off them.
row_paths := regex.replace(
	regex.replace(
		regex.replace(row_words, `(?m)^(-{1,2}[\w-]*=?|@|\w+=@?)?(fileb?:(//(localhost)?)?)?`, ""),
		`(?m)^[a-z0-9@:,+=-]*\n`, "",
	),
	`/(?:\.?/)+`, "/",
)
