# A URL as browsers and HTTP clients read it, which is more than the standard allows.
package starter.lib

import rego.v2

# urls are the entries that are URLs by name, and those that look like one, as
# {"entry", "text", "scheme", "user", "host"}. scheme, user and host are "" when there
# is none; what stands in a URL's place and has no scheme may begin with a host.
#
# An ordinary one, with a public host name and nothing odd in its path, is left out
# unless only some hosts are allowed.
urls := array.concat(
	[url(e) |
		"url" in present
		some e in entries
		e.kind == "url"
		not ordinary_url(e.value)
	],
	[url(e) |
		some e in entries
		not e.kind in {"url", "command", "sql", "cypher", "query", "pattern", "fragment", "code", "mount", "limit", "page", "amount"}
		regex.match(`(?i)^[\x00-\x20]*([a-z][a-z0-9+.-]*:[\\/]{2}|(file|fileb|javascript|vbscript|jar|netdoc|php|phar|expect|gopher|dict|ext|view-source|url|blob):|data:text/(html|javascript))`, e.value)
		not ordinary_url(e.value)
	],
)

ordinary_url(v) if {
	regex.match(`^https?://([a-z0-9-]+\.)+[a-z]{2,}(:[0-9]{1,5})?([/?#][^\\\x00-\x20"<>]*)?$`, v)
	not regex.match(`\.\.|%2[eEfF]|%5[cC]|[/?#].*(\$[({]|&&)|^https?://[^/?#]*(local|internal|intranet|\.(lan|home|corp|private|arpa|svc|consul)(:|[/?#]|$)|metadata|instance|kubernetes|xn--|lvh\.me|vcap\.me|lacolhost|rbndr|1u\.ms|(nip|sslip|xip)\.io|traefik\.me)`, v)
	count(data.settings.urls.only_hosts) == 0
}

url(e) := {"entry": e, "text": text, "scheme": scheme, "user": parts[1], "host": regex.replace(parts[2], `[.。．｡]+$`, "")} if {
	# White space and control characters go, as in browsers; so does what may precede a scheme.
	text := regex.replace(lower(regex.replace(e.value, `[\x00-\x20\x7f]+`, "")), `^(url:|feed:|view-source:|blob:)+`, "")
	scheme := url_scheme(text)
	parts := regex.find_all_string_submatch_n(`^(?:([^\\/?#]*)@)?(\[[^\]]*\]|[^\\/?#:]*)`, authority(scheme, text), 1)[0]
}

# A colon that a digit follows ends a host, unless the scheme is a known one.
url_scheme(text) := trim_right(m[0], ":0123456789") if {
	m := regex.find_n(`^(https?|wss?|ftps?|file|fileb|javascript|vbscript|data|mailto|tel):`, text, 1)
	count(m) == 1
} else := regex.replace(m[0], `:.*$`, "") if {
	m := regex.find_n(`^[a-z][a-z0-9+.-]*:([^0-9]|$)`, text, 1)
	count(m) == 1
} else := ""

# authority is the rest of a URL from its authority on, "" when there is none.
authority(scheme, text) := rest if {
	rest := regex.replace(text, `^([a-z][a-z0-9+.-]*:[\\/]{2,}|(https?|wss?|ftps?):[\\/]*|[\\/]{2,})[\\/]*`, "")
	opaque := {rest == text, scheme != ""}
	opaque != {true}
} else := ""

# What stands where a host is expected, without being a URL: [place, host].
hosts contains [array.concat(at, [name]), lower(host)] if {
	"host" in present
	some [at, o] in objects
	some name, value in o
	kinds[name] == "host"
	some host in strings_of(value)
}

strings_of(x) := [x] if is_string(x)

strings_of(x) := [s | some s in x; is_string(s)] if is_array(x)

web := {"http", "https", "ws", "wss", "ftp", "ftps"}

# private says that a host is on an internal network or the machine itself.
private(u) if regex.match(private_names, u.host)

private(u) if {
	u.scheme in web
	regex.match(`^[^.\[\]%]+$`, u.host)
}

private(u) if {
	ipv4(u.host)
	some block in private_nets
	net.cidr_contains(block, u.host)
}

private(u) if {
	startswith(u.host, "[")
	not regex.match(`^\[[23][0-9a-f]{3}:[0-9a-f:]+\]$`, u.host)
}

private(u) if regex.match(`^\[(2002:|2001:(0{1,4})?:)`, u.host)

ipv4(host) if regex.match(`^((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])$`, host)

# odd_number says that a host is an address in a spelling that some programs accept:
# one number, hexadecimal, octal, fewer than four parts.
odd_number(u) if {
	regex.match(`^(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*$`, u.host)
	not ipv4(u.host)
}

private_nets := [
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
	"192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4",
]

# Names that are the machine itself or its network by convention, and public names
# whose address is written into the name.
private_names := concat("", [
	`^(localhost|(.*\.)?localhost|(.*\.)?localdomain|.*\.(local|internal|intranet|lan|home|corp|private|home\.arpa|svc|consul)|`,
	`metadata|metadata\.(google|azure|tencentyun|platformequinix|packet)\..*|instance-data(\..*)?|kubernetes(\.default.*)?|`,
	`(.*\.)?(nip\.io|sslip\.io|xip\.io|localtest\.me|lvh\.me|vcap\.me|lacolhost\.com|rbndr\.us|1u\.ms|traefik\.me|readme\.localtest\.me))$`,
])
