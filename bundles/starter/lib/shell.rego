# Command lines, split as a shell splits them, and argument vectors.
#
# A segment is one program with its arguments: {"entry", "words", "raw", "shell"}:
# words without quotes, raw as written, shell is true when a shell splits it. A
# command line has a segment for each pipeline element and each part of a list.
package starter.lib

import rego.v2

# A tool whose purpose is to run any command line in a shell.
runs_shell if {
	count(tool_words & {
		"bash", "cmd", "command", "commands", "console", "powershell", "process", "pwsh", "sh", "shell", "ssh",
		"terminal", "zsh",
	}) > 0
	count(implied) == 0
}

# The program that a tool runs by its name: its command line may leave it out.
# What it executes in a container or pod is another one.
implied := {object.get({"k8s": "kubectl", "kube": "kubectl", "kubernetes": "kubectl"}, w, w) |
	not "exec" in tool_words
	some w in (tool_words & programs)
}

programs := {
	"adb", "ansible", "aws", "az", "bun", "cargo", "curl", "deno", "docker", "ffmpeg", "gcloud", "gh", "git", "glab",
	"helm", "heroku", "k8s", "kube", "kubectl", "kubernetes", "mongosh", "mysql", "nmap", "node", "npm", "npx", "oc",
	"perl", "php", "pip", "pnpm", "podman", "poetry", "prisma", "psql", "pulumi", "python", "python3", "railway",
	"redis", "rg", "ruby", "sqlite3", "supabase", "systemctl", "tcpdump", "terraform", "tofu", "tshark", "uv", "vercel",
	"wget", "xcrun", "yarn",
}

# The strings that are command lines.
command_lines := [e |
	count(present & {"command", "argv", "code"}) > 0
	some e in entries
	is_command_line(e)
]

is_command_line(e) if {
	e.kind in {"command", "argv"}
	is_string(e.key)
}

is_command_line(e) if {
	e.kind == "command"
	is_number(e.key)
	not is_vector(e.at)
}

is_command_line(e) if {
	e.kind == "command"
	is_number(e.key)
	regex.match(`(?i)(commands|cmds|lines)$`, e.name)
}

is_command_line(e) if {
	e.kind == "code"
	runs_shell
}

# A list of strings is one argument vector, unless each of its elements is a line.
is_vector(at) if {
	v := object.get(input.arguments, at, [])
	words := [w | some w in v; is_string(w); not regex.match(`\s`, w)]
	2 * count(words) >= count(v)
}

# Arguments of a program that is named beside them.
is_vector(at) if {
	count(at) > 0
	name := at[count(at) - 1]
	kinds[name] == "argv"
	count(beside({"kind": "argv", "name": name, "at": array.slice(at, 0, count(at) - 1)})) > 0
}

# A document between << 'EOF' and EOF is only text, and so is a comment.
command_text(e) := trim_space(e.value) if {
	not regex.match(`<<|\\\r?\n`, e.value)
} else := regex.replace(regex.replace(trim_space(e.value), here_document, " <<HERE "), `\\\r?\n`, " ")

here_document := concat("|", [$"<<-?[ \\t]*['\"]{tag}['\"](?s:.*?)\\n[ \\t]*{tag}\\b" |
	some tag in ["EOF", "EOT", "END", "HEREDOC", "COMMIT", "MSG", "PY", "PYTHON", "SQL", "JSON", "YAML", "SCRIPT"]
])

tokens(text) := regex.find_n(shell_tokens, text, -1)

# Comments, words with quoted parts, and operators. A quote without its partner is a word.
shell_tokens := `(?m:#[^\n;&|<>$]*$)|(?:'[^']*'|"(?:\\(?s:.)|[^"\\])*"|\\(?s:.)|[^\s'"\\;&|<>()])+|&&|\|\||[;&|()\n]|<<<?|>>|[<>]|['"\\]`

separators := {";", "&", "&&", "|", "||", "\n", "(", ")"}

lines := array.concat(
	[{"entry": e, "text": t, "tokens": array.concat(beside(e), tokens(t))} |
		some e in command_lines
		t := command_text(e)
	],
	[{"entry": e, "text": t, "tokens": tokens(t)} |
		some e in command_lines
		some [_, a, b] in regex.find_all_string_submatch_n("\\$\\(([^()]*)\\)|`([^`]*)`", expanded(command_text(e)), -1)
		t := concat("", [a, b])
	],
)

# expanded is what a shell expands: all but what is in single quotes, and "" when
# there is nothing to expand.
expanded(text) := concat("", [part |
	some part in regex.find_n(`'[^']*'|"(?:\\(?s:.)|[^"\\])*"|\\(?s:.)|[^'"\\]+|['"]`, text, -1)
	not startswith(part, "'")
]) if {
	regex.match("[$<>]\\(|`", text)
} else := ""

line_segments := [{"entry": l.entry, "raw": raw, "shell": true, "piped": array.slice(l.tokens, start - 1, start) == ["|"]} |
	some l in lines
	ends := array.concat([i | some i, t in l.tokens; t in separators], [count(l.tokens)])
	starts := array.concat([0], [j | some i in ends; j := i + 1])
	some k, end in ends
	start := starts[k]
	raw := strip_prefix(array.slice(l.tokens, start, end))
	count(raw) > 0
]

bare(w) := strings.replace_n({"'": "", `"`: "", `\`: ""}, w)

# Assignments and reserved words stand before the program.
strip_prefix(ws) := array.slice(ws, min({i | some i, w in ws; not before_program(w)} | {count(ws)}), count(ws))

before_program(w) if regex.match(`^[A-Za-z_][A-Za-z0-9_]*\+?=|^#|^(!|\{|\}|if|then|elif|else|fi|while|until|do|done)$`, w)

# Argument vectors: lists under a name like args, with the program from a member
# beside it, and lists under a name like command.
vector_segments := [{"entry": e, "raw": words, "shell": false, "piped": false} |
	count(present & {"argv", "command"}) > 0
	some [at, name, a] in arrays
	kinds[name] in {"argv", "command"}
	is_vector(at)
	parent := array.slice(at, 0, count(at) - 1)
	e := {"kind": "argv", "name": name, "value": "", "at": parent, "key": at[count(at) - 1]}
	words := array.concat(beside(e), [w | some w in a; is_string(w)])
	count(words) > 0
]

# beside is the program that a member beside the arguments names.
beside(e) := [w |
	e.kind == "argv"
	kinds[e.name] == "argv"
	some member, value in object.get(input.arguments, e.at, {})
	kinds[member] == "command"
	is_string(value)
	some w in split(trim_space(value), " ")
]

segments := [{"entry": s.entry, "raw": s.raw, "shell": s.shell, "piped": s.piped, "name": name, "words": words, "line": line, "ran": ran(name, words)} |
	some s in array.concat(line_segments, vector_segments)
	words := [bare(w) | some w in s.raw]
	name := program_name(words[0])
	line := concat(" ", array.concat([name], [lower(w) | some w in array.slice(words, 1, count(words))]))
]

program_name(w) := regex.replace(lower(regex.replace(w, `^.*[/\\]`, "")), `\.(exe|cmd|bat|ps1|com)$`, "")

# ran are the programs of a segment: the one it names, the one that the tool's name
# implies, and what a wrapper runs.
ran(name, words) := {name} | implied if {
	not name in object.keys(wrappers)
} else := ({name} | implied) | {program_name(w) | some w in array.slice(behind, 0, wrappers[name])} if {
	name != "find"
	behind := [w | some i, w in words; i > 0; regex.match(`^[A-Za-z./~][^=]*$`, w)]
} else := ({name} | implied) | {program_name(words[j]) | some i, w in words; regex.match(`^-(exec|execdir|ok|okdir)$`, w); j := i + 1}

# Programs that run another one, and how many words behind them may be it: some take a
# word or two before.
wrappers := {
	"busybox": 1, "builtin": 1, "chroot": 2, "command": 1, "doas": 2, "env": 1, "exec": 2, "find": 0, "flock": 2, "ionice": 1, "nice": 1,
	"nohup": 1, "parallel": 1, "script": 2, "setsid": 1, "stdbuf": 1, "strace": 2, "su": 3, "sudo": 2, "time": 1, "timeout": 1, "unshare": 2,
	"watch": 1, "xargs": 1,
}
