# URLs.
#
# Stops: schemes that aren't in settings.urls.schemes (file:, javascript:, gopher:, …),
# however they are spelt; hosts on private, link-local, loopback and carrier networks,
# cloud metadata services, internal names and names without a dot; addresses written
# as one number, in hexadecimal, octal or short; user names and passwords; hosts in
# other alphabets; `..` in the path.
#
# Doesn't stop: a public name that resolves to a private address, or a redirect to one:
# only the client that connects can see that. A URL in free text.
#
# Incidents: https://github.com/modelcontextprotocol/servers/issues/4492 (metadata
# service), https://github.com/egoist/fetch-mcp/issues/3 (loopback),
# https://github.com/jae-jae/fetcher-mcp/issues/37 (second URL of a list),
# https://github.com/merajmehrabi/puppeteer-mcp-server/issues/22 (intranet by browser),
# https://github.com/microsoft/playwright-mcp/issues/1205 (file:),
# https://github.com/awslabs/mcp/pull/1390 (file:// in a command), CVE-2026-11720 (dot segments leave the configured path).
package starter.urls

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
relevant if count(lib.urls) > 0

relevant if "host" in lib.present

relevant if {
	count(lib.present & {"command", "argv", "code"}) > 0
	contains(lib.document, "://")
}

findings contains lib.finding("urls.scheme", u.entry, "the URL's scheme is not allowed: use one of settings.urls.schemes") if {
	some u in lib.urls
	u.scheme != ""
	not allowed_scheme(u)
}

allowed_scheme(u) if {
	u.scheme in data.settings.urls.schemes
	not u.scheme in {"file", "fileb", "about"}
}

# A browser's own pages are its settings; two of them are empty.
allowed_scheme(u) if {
	"about" in data.settings.urls.schemes
	u.text in {"about:blank", "about:srcdoc"}
}

# A file: URL, where the scheme is allowed, is still a path.
allowed_scheme(u) if {
	u.scheme in {"file", "fileb"}
	u.scheme in data.settings.urls.schemes
	p := lib.path(object.union(u.entry, {"value": regex.replace(u.entry.value, `^\s*[A-Za-z]+:(//(localhost)?)?`, "")}))
	lib.within(p)
	not lib.goes_up(p)
}

# What a program calls its own resources is no business of this check.
allowed_scheme(u) if {
	u.entry.kind != "url"
	not u.scheme in dangerous_schemes
}

allowed_scheme(u) if {
	regex.match(`(?i)uris?$`, u.entry.name)
	not u.scheme in dangerous_schemes
}

dangerous_schemes := {
	"file", "fileb", "javascript", "vbscript", "data", "gopher", "dict", "ldap", "ldaps", "jar", "netdoc", "php", "phar",
	"expect", "ext", "smb", "tftp", "chrome", "about", "ogg", "zip", "glob", "rar", "ssh2", "compress.zlib",
}

findings contains lib.finding("urls.private", u.entry, "the URL's host is internal: settings.urls.allow_hosts names exceptions") if {
	some u in lib.urls
	connects(u)
	lib.private(u)
	not excepted(u)
}

# Where a host comes without a URL, metadata services are never meant, and private
# hosts not by what fetches.
findings contains lib.about("urls.private", at, "the host is internal: settings.urls.allow_hosts names exceptions") if {
	some [at, host] in lib.hosts
	not matches(host, data.settings.urls.allow_hosts)
	metadata(host)
}

findings contains lib.about("urls.private", at, "the host is internal: settings.urls.allow_hosts names exceptions") if {
	count(lib.tool_words & {"fetch", "http", "https", "request", "url", "browse", "scrape", "crawl", "proxy", "webhook", "curl", "download", "api"}) > 0
	some [at, host] in lib.hosts
	not matches(host, data.settings.urls.allow_hosts)
	regex.match(`[.:]|^localhost$|^[0-9]+$`, host)
	u := lib.url({"kind": "url", "name": "host", "value": concat("", ["http://", host, "/"])})
	inside(u)
}

# A command may speak to the machine itself, never to a metadata service.
findings contains lib.finding("urls.private", s.entry, "the host is internal: settings.urls.allow_hosts names exceptions") if {
	contains(lib.document, "://")
	lib.may_have(`^(-[\w-]*=?)?(https?|ftp|wss?)://`)
	some s in lib.segments
	some w in s.words
	regex.match(`(?i)^(-[\w-]*=?)?(https?|ftp|wss?)://`, w)
	u := lib.url(object.union(s.entry, {"kind": "url", "value": regex.replace(w, `^-[\w-]*=?`, "")}))
	not excepted(u)
	never_meant(u)
}

never_meant(u) if metadata(u.host)

never_meant(u) if regex.match(`^(\[fe80:|\[::ffff:a9fe|169\.254\.|instance-data)`, u.host)

never_meant(u) if {
	lib.odd_number(u)
	not u.host in {"0", "127.1"}
}

metadata(host) if regex.match(`^\[?(169\.254\.169\.254|169\.254\.170\.2|fd00:ec2::|100\.100\.100\.200$|192\.0\.0\.192$|168\.63\.129\.16$|metadata($|\.(google|azure|tencentyun|platformequinix|packet)\.))`, host)

inside(u) if lib.private(u)

inside(u) if lib.odd_number(u)

findings contains lib.finding("urls.host", u.entry, "the URL's host is not a plain host name or address") if {
	some u in lib.urls
	connects(u)
	odd(u)
	not excepted(u)
}

# A backslash is a slash to browsers and part of a user's name to others; control
# characters end a text in some programs and are skipped by others.
odd(u) if {
	u.entry.kind == "url"
	regex.match("[\\x00-\\x1f\\x7f]|^[a-z]+:[/\\\\]*[^/?#]*\\\\", trim_space(lower(u.entry.value)))
}

odd(u) if lib.odd_number(u)

odd(u) if {
	u.scheme != ""
	regex.match(`[^a-z0-9.\-_\[\]:\x{80}-\x{10ffff}]|^$|\.\.`, u.host)
}

findings contains lib.finding("urls.idn", u.entry, "the URL's host is written in another alphabet, which can look like a name it isn't: settings.urls.allow_hosts names exceptions") if {
	some u in lib.urls
	connects(u)
	regex.match(`[^\x00-\x7f]|(^|\.)xn--`, u.host)
	not excepted(u)
}

findings contains lib.finding("urls.outside", u.entry, "the URL's host is none of settings.urls.only_hosts") if {
	count(data.settings.urls.only_hosts) > 0
	some u in lib.urls
	u.entry.kind == "url"
	u.host != ""
	not matches(u.host, data.settings.urls.only_hosts)
	not excepted(u)
}

findings contains lib.finding("urls.credentials", u.entry, "the URL holds a user name or password: leave them out") if {
	some u in lib.urls
	u.scheme in lib.web
	u.user != ""
}

findings contains lib.finding("urls.traversal", u.entry, "the URL's path goes up with a `..` segment") if {
	some u in lib.urls
	regex.match(`(^|[/\\]|%2f|%5c)(\.|%2e){2}([/\\?#;]|%2f|%5c|$)`, regex.replace(u.text, `[?#].*$`, ""))
}

# Only schemes of the web are held to public hosts, and what has no scheme yet.
connects(u) if u.scheme in lib.web

connects(u) if {
	u.scheme == ""
	u.host != ""
}

excepted(u) if matches(u.host, data.settings.urls.allow_hosts)

# A host matches a pattern that is the same, or begins with a dot and ends it.
matches(host, patterns) if {
	some p in patterns
	lower(p) == host
}

matches(host, patterns) if {
	some p in patterns
	startswith(p, ".")
	endswith(host, lower(p))
}
