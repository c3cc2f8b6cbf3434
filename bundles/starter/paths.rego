# File paths.
#
# Stops: `..` segments, also percent-encoded (up to three times), with backslashes or
# look-alike characters; absolute paths outside the configured roots, compared by
# segments; `~`, $HOME and %APPDATA%; /proc, /sys, /dev, /etc and sockets; keys,
# credentials, .env files, shell start-up files and the configuration of agents,
# editors and git; control and invisible characters.
#
# Doesn't stop: a symbolic link inside a root, or a file that becomes one later; a
# relative path, whose start only the server knows, to a file that isn't named above;
# a path in free text.
#
# Incidents: CVE-2025-53110 and CVE-2025-53109 (a root compared as a prefix; a link),
# CVE-2025-68145 and CVE-2025-68143 (git server outside its repository),
# CVE-2026-27735 (`..` in a list of files), GHSA-g5r6-gv6m-f5jv (/proc uploaded),
# CVE-2025-54135 and CVE-2025-53773 (agent and editor settings rewritten),
# CVE-2025-59944 (upper case), https://github.com/j3k0/mcp-google-workspace/issues/19
# (attachment saved over a start-up file), OSV-MCPS-2025-EB70F912 (.env read).
package starter.paths

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
relevant if count(lib.path_suspects) > 0

findings contains lib.finding("paths.traversal", p.entry, "the path goes up with a `..` segment: give a path without one") if {
	some p in lib.path_suspects
	lib.goes_up(p)
}

findings contains lib.finding("paths.root", p.entry, "the path is outside the directories that are allowed: use one of those in settings.paths.roots") if {
	some p in lib.path_suspects
	lib.outside(p)
}

findings contains lib.finding("paths.home", p.entry, "the path begins at a home directory or an environment variable, which expand to somewhere else: write it out") if {
	some p in lib.path_suspects
	regex.match(lib.home, p.text)
}

findings contains lib.finding("paths.system", p.entry, "the path is the operating system's (devices, processes, sockets, configuration): add its directory to settings.paths.roots if it is meant") if {
	some p in lib.path_suspects
	lib.system(p)
}

findings contains lib.finding("paths.secret", p.entry, "the path is one where keys, credentials or shell start-up files are: settings.paths.allow_names exempts a file name") if {
	some p in lib.path_suspects
	lib.secret(p)
}

findings contains lib.finding("paths.steering", p.entry, "the path is configuration of an agent, an editor or git, which decides what runs next") if {
	some p in lib.path_suspects
	lib.steers(p)
}

findings contains lib.finding("paths.network", p.entry, "the path is on another machine: give a local one") if {
	some p in lib.path_suspects
	regex.match(lib.network_path, p.entry.value)
}

findings contains lib.finding("paths.characters", p.entry, "the path has control or invisible characters") if {
	some p in lib.path_suspects
	p.entry.kind in {"path", "place"}
	regex.match(lib.unseen, p.text)
}
