# A path as programs read it, whatever way it was written.
package starter.lib

import rego.v2

# path is {"entry", "text", "lower"}: decoded, with forward slashes, without empty and
# "." segments; lower is the same in lower case.
path(e) := {"entry": e, "text": text, "lower": lower(text)} if {
	text := regex.replace(decoded(e.value), `/(?:\.?/)+`, "/")
}

# Escapes are decoded three times: what is decoded twice on its way still shows.
decoded(s) := s if {
	not regex.match(`[%\\]|[^\x00-\x7f]`, s)
} else := strings.replace_n(escapes, strings.replace_n(escapes, strings.replace_n(escapes, s)))

escapes := {
	"\\": "/", "%25": "%", "%2e": ".", "%2E": ".", "%2f": "/", "%2F": "/", "%5c": "/", "%5C": "/", "%7e": "~", "%7E": "~",
	"%c0%ae": ".", "%C0%AE": ".", "%c0%af": "/", "%C0%AF": "/", "%00": "\u0000", "%u002e": ".", "%u2215": "/",
	"\uff0e": ".", "\u2024": ".", "\u2025": "..", "\uff0f": "/", "\uff3c": "/", "\u2215": "/", "\u2044": "/", "\uff5e": "~",
}

# path_suspects are the paths that need a closer look: most need none.
path_suspects := array.concat(array.concat(named_paths_odd, path_keys), array.concat(shaped_paths, [p |
	count(data.settings.paths.extra_names) + count(data.settings.paths.extra_segments) > 0
	some e in entries
	e.kind == "path"
	p := path(e)
	suspect_path(p)
]))

# Strings that are paths by their name. An ordinary relative one is left out: its
# segments begin with a letter or digit, and its last one says nothing of keys.
named_paths_odd := [p |
	"path" in present
	some e in entries
	e.kind == "path"
	regex.match(`^[^\w@+=]|/[^\w@+=(\[]|[^\w@+=,./ ()\[\]#!&'~-]|^[A-Za-z]:|(?i:\.(p12|pfx|ppk|jks|keystore|kdbx|keychain|keychain-db|ovpn|tfstate|key|pem|backup|ps1|json|ya?ml|toml|ini|xml|db|sqlite|dat|csv|old|bak|env)$|(^|/)[^./]*$|\.$|(^|/)(con|nul|aux|prn|com[0-9]|lpt[0-9])\.)`, e.value)
	p := path(e)
	suspect_path(p)
]

# The names of members below a name like files.
path_keys := [p |
	"path" in present
	some [at, o] in objects
	count(at) > 0
	kinds[at[count(at) - 1]] == "path"
	some key, _ in o
	contains(key, "/")
	p := path({"kind": "path", "name": key, "value": key, "at": at, "key": key})
	suspect_path(p)
]

# Strings that look like paths.
shaped_paths := [p |
	regex.match(`[%~$\\．／]|/\.|\.\./|" *[./]|" *[A-Za-z]:/`, document)
	some e in entries
	not e.kind in never_a_path
	regex.match(`^\s*([/~\\]|\.\.?([/\\%]|$)|%2[ef]|%5c|%7e|[A-Za-z]:[/\\]|\$\{?[A-Z]+\}?[/\\]|%[A-Za-z]+%)|[/\\]\.|\.\.[/\\]|%2[eE]|%5[cC]|[．／]`, e.value)
	p := path(e)
	suspect_path(p)
]

never_a_path := {"path", "url", "command", "sql", "cypher", "query", "pattern", "fragment", "mount", "limit", "page", "amount"}

suspect_path(p) if goes_up(p)

suspect_path(p) if {
	not part_of_url(p.entry)
	odd_path(p)
}

odd_path(p) if regex.match(bad_path, p.lower)

odd_path(p) if regex.match(network_path, p.entry.value)

odd_path(p) if outside(p)

odd_path(p) if {
	count(data.settings.paths.extra_dirs) > 0
	system(p)
}

odd_path(p) if named_in_settings(p)

named_in_settings(p) if base(p) in extra_names

named_in_settings(p) if {
	count(extra_segments) > 0
	count(extra_segments & {s | some s in split(p.lower, "/")}) > 0
}

extra_names := {lower(n) | some n in data.settings.paths.extra_names}

bad_path := concat("|", [up, home, system_paths, reserved_names, secret_paths, agent_paths, written_paths, unseen])

network_path := `^\s*(\\\\|//[^/\\s]+/)`

# outside says that an absolute path is under none of the roots, if there are any.
outside(p) if {
	count(roots) > 0
	absolute(p)
	names_a_place(p.entry)
	not within(p)
	p.lower != "/dev/null"
}

names_a_place(e) if {
	e.kind in {"path", "place", "table"}
	not in_repository(e)
	not of_site(e)
}

# A path beside a repository's owner, or a project of a code host, is one inside it.
in_repository(e) if {
	regex.match(` (owner|project_?id|workspace_?slug) `, name_text)
	not regex.match(`(?i)local|output|save|dest|repo_?path|^cwd$`, e.name)
}

# Which pages of a site are meant, by the beginning of their path.
of_site(e) if {
	"url" in present
	regex.match(`(?i)^(select|include|exclude|allow|skip|ignore)d?_?paths?$`, e.name)
}

# "from" and "to" are places where files are copied.
names_a_place(e) if {
	e.kind == "address"
	count(tool_words & {"archive", "copy", "cp", "download", "export", "extract", "file", "files", "folder", "move", "mv", "rename", "save", "unzip", "zip"}) > 0
}

# The path of a URL comes in parts to tools that make requests.
part_of_url(e) if {
	e.name in {"path", "pathname", "Path"}
	count(tool_words & {"file", "files", "read", "write", "directory", "folder"}) == 0
	speaks_http
}

speaks_http if count(tool_words & {"http", "https", "request", "rest", "api"}) > 0

speaks_http if regex.match(` (method|host|hostname|base_?url) `, name_text)

absolute(p) if regex.match(`^(/|[a-z]:)`, p.lower)

# within says that a path is one of the configured roots or below one.
within(p) if strings.any_prefix_match(concat("", [p.text, "/"]), roots)

within(p) if {
	regex.match(`^[a-z]:/`, p.lower) # case doesn't matter there
	strings.any_prefix_match(concat("", [p.lower, "/"]), {lower(r) | some r in roots})
}

roots := {concat("", [trim_right(replace(r, `\`, "/"), "/"), "/"]) | some r in data.settings.paths.roots}

goes_up(p) if regex.match(up, p.text)

up := `(^|/)\.\.([ ;.\x{a0}\x{2000}-\x{200f}\x{202f}\x{3000}]*/|[ ;\x{a0}\x{2000}-\x{200f}\x{202f}\x{3000}]*$)`

home := `^\s*(~[\w.-]*(/|$)|\$\{?[a-zA-Z_]+\}?(/|$)|%[A-Za-z][A-Za-z_()]{2,}%|\$env:)|\$\{?(?i:HOME|PWD|USER)\b`

unseen := `[\x00-\x1f\x7f\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2060}-\x{2069}\x{feff}]`

# system says that a path is of the operating system: devices, processes, sockets.
# A configured root exempts what is below it.
system(p) if {
	regex.match(system_paths, p.lower)
	not regex.match(harmless, p.lower)
	not within(p)
}

system(p) if regex.match(reserved_names, p.lower)

system(p) if {
	count(data.settings.paths.extra_dirs) > 0
	strings.any_prefix_match(concat("", [p.text, "/"]), {concat("", [trim_right(d, "/"), "/"]) | some d in data.settings.paths.extra_dirs})
}

harmless := `^/dev/(null|zero|u?random|stdin|stdout|stderr)$|^/etc/(os-release|lsb-release|alpine-release|debian_version|timezone|localtime)$|^/proc/(cpuinfo|meminfo|version|loadavg|uptime)$`

system_paths := concat("", [
	`^(/host|/rootfs|/private|/mnt/[a-z])?([a-z]:)?/(proc|sys|dev|etc|boot|run|var/run|var/lib/(docker|containerd|kubelet|etcd)|`,
	`var/spool/cron|windows|winnt|system volume information)(/|$)|\.sock$|^//?[.?]/`,
])

# Names with a meaning of their own on Windows.
reserved_names := `/\$(mft|boot)|:\$(data|i30|index_allocation)|(^|/)(con|nul|aux|prn|com[0-9]|lpt[0-9]|conin\$|conout\$)(\.[a-z0-9]*)?$`

# secret says that a path is one of keys, credentials or shell start-up files.
secret(p) if {
	regex.match(secret_paths, p.lower)
	not base(p) in data.settings.paths.allow_names
}

secret(p) if named_in_settings(p)

extra_segments := {lower(s) | some s in data.settings.paths.extra_segments}

base(p) := trim_right(regex.replace(p.lower, `^.*/`, ""), " .")

secret_paths := concat("", [
	`(^|/)(`,
	`\.(ssh|aws|azure|gnupg|kube|docker|oci|password-store|thunderbird|mozilla|terraform\.d|minikube)(/|$)|`,
	`\.config/(gcloud|gh|hub|op|doctl|rclone|fish|autostart|systemd|chromium|google-chrome)(/|$)|\.local/share/keyrings|`,
	`library/(keychains|launchagents|launchdaemons)|start menu/programs/startup|appdata/(local|roaming)/(google|microsoft/(credentials|protect)|mozilla)|`,
	`\.git/(config|credentials)|\.m2/settings\.xml|`,
	`(\.env\.[^/]*|\.envrc|\.(bash|zsh|ksh|csh|tcsh)(rc|env|_?profile|_?login|_?logout|_?history|_?aliases)|`,
	`\.(profile|login|inputrc|pam_environment|xinitrc|xprofile|xsessionrc|rhosts|netrc|npmrc|pypirc|pgpass|my\.cnf|git-credentials|gitconfig|`,
	`htpasswd|dockercfg|dockerconfigjson|boto|s3cfg|vault-token)|_netrc|\.yarnrc(\.yml)?|\.(mysql|psql|python|sqlite|rediscli|node_repl)_history|`,
	`(microsoft\.powershell_)?profile\.ps1|id_(rsa|dsa|ecdsa|ed25519)(_sk)?(\.(pem|key|old|bak|ppk))?|authorized_keys2?|`,
	`credentials(\.(json|db|xml|ini|ya?ml|toml|csv))?|secrets\.(json|ya?ml|toml|env)|kubeconfig|\.?service[-_]account[^/]*\.json|`,
	`application_default_credentials\.json|client_secrets?[^/]*\.json|`,
	`login data|cookies\.sqlite|key[34]\.db|logins\.json|wallet\.dat|shadow|gshadow|sudoers|master\.passwd)`,
	`[ .]*$)`,
	`|(\.(env|p12|pfx|ppk|jks|keystore|kdbx|keychain|keychain-db|ovpn|tfstate|key)|\.tfstate\.backup|(priv|key)[^/]*\.pem)[ .]*$`,
])

# steers says that a path is the configuration of an agent, an editor or git: who
# writes there decides what runs next.
steers(p) if regex.match(agent_paths, p.lower)

steers(p) if {
	not tool_reads
	regex.match(written_paths, p.lower)
}

written_paths := `(^|/)(\.git/.|\.(husky|githooks)/.|\.github/(copilot-instructions\.md$|(instructions|prompts|chatmodes|agents|skills)/.)|(site|user)customize\.py$|\.(vscode|idea|zed|fleet)/(.*/)?(settings|tasks|launch|mcp|workspace|keymap)\.(json|xml)|\.(cursorrules|windsurfrules|clinerules)$)|\.pth$`

agent_paths := concat("", [
	`(^|/)(\.(claude|cursor|codex|gemini|windsurf|codeium|continue|roo|cline|kiro|amazonq|copilot|junie|augment|goose|opencode|regogate)(/|$)|`,
	`\.claude\.json$|\.?mcp\.json$|claude_desktop_config\.json$|(cline_)?mcp[-_](settings|config)\.json$|\.aider\.conf\.ya?ml$)`,
])
