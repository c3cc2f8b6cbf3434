# Command lines and argument vectors.
#
# Stops, in a tool that runs one program: everything that would run a second one
# (; & | newline, $(…), backquotes, redirection). In a tool that runs a shell: the
# operators that settings.commands.operators doesn't list, and per program, whatever
# quotes, paths, wrappers or assignments it hides behind: programs that no agent
# should start, or all but those of settings.commands.allow; interpreters with inline
# code or a program from a pipe; options that load code or redirect the program;
# deletion of whole trees, histories, databases and clusters; secret and system paths;
# files sent away. A program whose name is only known to the shell is refused.
#
# Doesn't stop: what an allowed program does by itself (a build script, a Makefile);
# code in a file that is run later; an alias or function of the user's shell.
#
# Incidents: GHSA-hjm5-xgj8-vwj6, CVE-2025-59377, GHSA-94gr-w3q5-rfqr (second command
# for kubectl), GHSA-fgmx-xfp3-w28p (aws), CVE-2025-11490 and CVE-2025-11491 and
# https://github.com/wonderwhy-er/DesktopCommanderMCP/issues/423 and /555 (deny list
# evaded by path, substitution, quotes, expansion), GHSA-6mx4-4h42-r8vh (--server),
# https://github.com/blazickjp/shell-mcp-server/issues/6 (only cwd checked),
# CVE-2025-66032 (options of harmless programs),
# https://github.com/awslabs/mcp/pull/1390 (file:// read),
# https://github.com/anthropics/claude-code/issues/10077 (home deleted).
package starter.commands

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
relevant if count(lib.present & {"command", "argv", "code"}) > 0

relevant if contains(lib.name_text, " env")

findings contains lib.finding("commands.operators", l.entry, "the command runs more than one program, or redirects: make one call for each program, or list the operator in settings.commands.operators if the tool runs a shell") if {
	some o in operators
	contains(lib.marked, concat("", ["\u0000", o, "\u0000"]))
	some l in lib.lines
	o in l.tokens
}

# A tool that runs one program has no use for operators.
operators := lib.separators | {"<", ">", ">>", "<<", "<<<"} if not lib.runs_shell

operators := (lib.separators | {"<", ">", ">>", "<<", "<<<"}) - ({o | some o in data.settings.commands.operators} | {"(", ")"}) if lib.runs_shell

findings contains lib.finding("commands.substitution", l.entry, "the command contains another one, in $(…), backquotes or <(…): run it on its own") if {
	some l in lib.lines
	substitutes(l)
}

# $(…) in a shell tool is looked into, unless it has parentheses itself.
substitutes(l) if regex.match(substitution, lib.expanded(l.text))

substitution := "[$<>]\\(|`" if not lib.runs_shell

substitution := "[$<>]\\(|`" if {
	lib.runs_shell
	not data.settings.commands.substitution
}

substitution := "[<>]\\(|\\$\\([^()]*(\\(|$)" if {
	lib.runs_shell
	data.settings.commands.substitution
}

findings contains lib.finding("commands.hidden", s.entry, "which program the command runs is only known to the shell: write its name literally") if {
	not lib.plain_lines
	some s in lib.segments
	s.shell
	not s.raw[0] in {"[", "[["}
	regex.match("[$`*?\\[{]|^['\"\\\\]+$", regex.replace(s.raw[0], `^'[^']*'$`, ""))
}

findings contains lib.finding("commands.allow", s.entry, "the program is none of those in settings.commands.allow") if {
	count(data.settings.commands.allow) > 0
	lib.runs_shell
	some s in lib.segments
	not allowed(s)
}

# An entry allows a program, or the command lines that begin with its words.
allowed(s) if {
	some a in data.settings.commands.allow
	startswith(concat(" ", [s.line, ""]), concat(" ", [lower(lib.bare(a)), ""]))
}

allowed(s) if {
	some a in data.settings.commands.allow
	contains(a, "'") # a quoted argument that begins so
	startswith(s.line, lower(lib.bare(a)))
}

findings contains lib.finding("commands.program", s.entry, "the program is one that no agent should start: settings.commands.allow_programs exempts one") if {
	count(lib.running & denied_programs) > 0
	some s in lib.segments
	count((s.ran & denied_programs) - {p | some p in data.settings.commands.allow_programs}) > 0
}

denied_programs := lib.denied_programs | {p | some p in data.settings.commands.extra_programs}

findings contains lib.finding("commands.program", s.entry, "the program destroys file systems") if {
	lib.may_match(`^mkfs|^newfs|^format\.com`)
	some s in lib.segments
	regex.match(`^mkfs|^newfs|^format\.com`, s.name)
}

findings contains lib.finding("commands.inline", s.entry, "the command gives an interpreter its program: put it into a file that can be looked at") if {
	may_be_inline
	some s in lib.segments
	some name in s.ran
	pattern := lib.inline_code[regex.replace(name, `[0-9.]+$`, "")]
	some i, w in s.words
	i > 0
	regex.match(pattern, w)
	not belongs_to_script(array.slice(s.words, 1, i))
}

may_be_inline if {
	some name in lib.running
	lib.may_have(lib.inline_code[regex.replace(name, `[0-9.]+$`, "")])
}

# Behind a script's name or a module's, options are the script's own.
belongs_to_script(before) if {
	some w in before
	regex.match(`^-m|\.(py|js|mjs|cjs|ts|tsx|rb|pl|php|sh|bash|zsh|lua|r|jl)$`, w)
}

# What awk runs stands in quotes of its own.
findings contains lib.finding("commands.inline", s.entry, "the command gives an interpreter its program: put it into a file that can be looked at") if {
	count(lib.running & {"awk", "gawk", "mawk", "nawk"}) > 0
	some s in lib.segments
	count(s.ran & {"awk", "gawk", "mawk", "nawk"}) > 0
	some w in s.raw
	regex.match(`\|\s*"`, w)
}

# A shell with a command line of its own, as an argument of any program.
findings contains lib.finding("commands.inline", s.entry, "the command gives an interpreter its program: put it into a file that can be looked at") if {
	lib.may_match(`sh -[a-z-]*c`)
	some s in lib.segments
	regex.match(`sh -[a-z-]*c`, s.line)
	not regex.match(`^(echo|printf|grep|egrep|rg|ag|git (commit|log|grep|tag|notes)|gh|glab)\b`, s.line)
	some i, w in s.words
	i > 0
	runs_line(w, array.slice(s.words, i + 1, i + 2))
}

runs_line(w, _) if regex.match(`^(/(usr/)?bin/)?(ba|z|da|k|c|tc|fi|a)?sh\s+-[a-z]*c\s`, w)

runs_line(w, behind) if {
	regex.match(`^(/(usr/)?bin/)?(ba|z|da|k|c|tc|fi|a)?sh$`, w)
	some option in behind
	regex.match(lib.shell_inline, option)
}

# What git runs for each step, file or module.
findings contains lib.finding("commands.option", s.entry, "the command has an option that makes the program run other code, or speak to another place or as another user, than it is set up for") if {
	"git" in lib.running
	lib.may_match(git_runs)
	some s in lib.segments
	"git" in s.ran
	some line in lib.command_forms(s)
	regex.match(git_runs, line)
}

git_runs := `^git(\s+(-c\s+\S+|--?\S+))*\s+(clone\s(.*\s)?-u|bisect\s+run\b|rebase\s(.*\s)?-x|submodule\s(.*\s)?foreach\b|difftool\s(.*\s)?-x|archive\s(.*\s)?--remote|hook\s+run\b|daemon\b|instaweb\b|credential\s+fill\b|send-email\s(.*\s)?--(sendmail-cmd|smtp-server|to-cmd|cc-cmd)|remote-ext\b|for-each-repo\b|maintenance\s(start|register)\b)`

findings contains lib.finding("commands.inline", s.entry, "the command pipes a program into an interpreter: put it into a file that can be looked at") if {
	count(lib.running & lib.reads_program) > 0
	some s in lib.segments
	s.name in lib.reads_program
	takes_input(s)
}

takes_input(s) if {
	s.piped
	count([w | some w in array.slice(s.words, 1, count(s.words)); not startswith(w, "-")]) == 0
}

takes_input(s) if "<<" in {regex.replace(w, `HERE$`, "") | some w in s.words}

takes_input(s) if count({"<<", "<<<"} & {w | some w in s.words}) > 0

findings contains lib.finding("commands.option", e, "the command has an option that makes the program run other code, or speak to another place or as another user, than it is set up for") if {
	some [e, _] in lib.written
}

findings contains lib.finding("commands.destructive", s.entry, "the command deletes more than can be brought back: name exactly what shall go, or do it by hand") if {
	lib.may_destroy
	some s in lib.segments
	some line in lib.command_forms(s)
	lib.destroys(line)
}

# A function that calls itself twice, in the background.
findings contains lib.finding("commands.destructive", l.entry, "the command starts itself without end") if {
	some l in lib.lines
	regex.match(`\(\)\s*\{[^}]*\|[^}]*&\s*;?\s*\}`, l.text)
}

findings contains lib.finding("commands.upload", s.entry, "the command sends a file to another machine") if {
	lib.others_run
	lib.may_match(lib.sends_file)
	some s in lib.segments
	some line in lib.command_forms(s)
	regex.match(lib.sends_file, line)
}

findings contains lib.finding("commands.upload", s.entry, "the command sends a file to another machine") if {
	"ssh" in lib.running
	some s in lib.segments
	s.piped
	s.name == "ssh"
}

findings contains lib.finding("commands.environment", l.entry, "the command sets a variable that makes programs load other code") if {
	some l in lib.lines
	contains(l.text, "=")
	some t in l.tokens
	contains(t, "=")
	regex.match(loading, lib.bare(t))
	not regex.match(lib.harmless_variables, lib.bare(t))
}

findings contains lib.about("commands.environment", array.concat(at, [name]), "the environment has a variable that makes programs load other code") if {
	contains(lib.name_text, " env")
	some [at, o] in lib.objects
	count(at) > 0
	at[count(at) - 1] in {"env", "environment", "envs", "environment_variables", "environmentVariables", "env_vars", "envVars"}
	some name, value in o
	is_string(value)
	loads(concat("=", [name, value]))
}

findings contains lib.about("commands.environment", array.concat(at, [i]), "the environment has a variable that makes programs load other code") if {
	contains(lib.name_text, " env")
	some [at, name, list] in lib.arrays
	name in {"env", "environment", "envs", "environment_variables", "environmentVariables", "env_vars", "envVars"}
	some i, value in list
	is_string(value)
	loads(value)
}

loading := concat("|", [lib.loading_variables, `^PATH=[^$]*$|^PATH=(.*:)?\.(:|$)`, for_everybody])

# Directories that anybody on the machine may write to.
for_everybody := `^(PATH|SHELL|PYTHONPATH|NODE_PATH|CLASSPATH)=(.*:)?/(tmp|var/tmp|dev/shm)(/|:|$)`

loads(assignment) if {
	regex.match(concat("|", [lib.loading_variables, for_everybody]), assignment)
	not regex.match(lib.harmless_variables, assignment)
}

findings contains lib.finding("commands.path", s.entry, "the command names a path that is the system's, or where keys and credentials are, or that is outside settings.paths.roots") if {
	lib.may_name_paths
	some s in lib.segments
	some p in lib.named_paths(s)
	forbidden(p)
}

forbidden(p) if lib.secret(p)

forbidden(p) if lib.steers(p)

forbidden(p) if lib.system(p)

forbidden(p) if {
	confined
	lib.goes_up(p)
}

forbidden(p) if {
	confined
	regex.match(`^(~[\w.-]*(/|$)|/[\w./@+-]*$)`, p.text)
	not lib.within(p)
	p.text != "/dev/null"
}

# Paths elsewhere than on this machine are not under the roots.
confined if {
	count(lib.roots) > 0
	lib.runs_shell
}
