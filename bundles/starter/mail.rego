# E-mail, invitations and sharing.
#
# Stops: line breaks in addresses, subjects and other header values; addresses that
# mail programs read in two ways; sharing with anybody; too many recipients; once
# settings.mail.internal_domains is filled in, recipients, copies, forwards,
# invitations and shares outside.
#
# Doesn't stop: a copy that the server itself adds; an address inside a text; a list
# address behind which there are many.
#
# Incidents: postmark-mcp 1.0.16 (a hidden copy of every mail),
# https://github.com/j3k0/mcp-google-workspace/pull/10 (a line break in "to").
package starter.mail

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
relevant if "address" in lib.present

relevant if count(lib.tool_words & {"share", "sharing", "permission", "permissions", "grant", "publish", "access"}) > 0

relevant if regex.match(`header|from|sender|subject|reply|name|mail|references| cc | bcc | to `, lib.name_text)

mail_tool if count(lib.tool_words & {"mail", "email", "emails", "mails", "gmail", "outlook", "smtp", "imap", "send", "draft", "reply", "forward", "newsletter", "message", "messages", "calendar", "event", "invite"}) > 0

# To share is to send.
gives if count(lib.tool_words & {"send", "mail", "email", "share", "invite", "forward", "grant", "permission", "permissions", "collaborator", "collaborators", "member", "members", "schedule", "reply", "draft", "sendmail", "notify", "add"}) > 0

findings contains lib.about("mail.header", array.concat(at, [name]), "the value has a line break, which would begin another header: put it on one line") if {
	some name in header_names
	some [at, o] in lib.objects
	value := o[name]
	is_string(value)
	header_like(name, value)
	regex.match(`[\r\n\x00\x{85}\x{2028}\x{2029}]|(?i:%0[ad])|\\r\\n|\\n\s*(?i:bcc|cc|to|from|subject|reply-to|content-type)\s*:`, value)
}

findings contains lib.finding("mail.header", e, "the address has a line break, which would begin another header: put it on one line") if {
	"address" in lib.present
	some e in lib.entries
	e.kind == "address"
	header_like(e.name, e.value)
	regex.match(`[\r\n\x00\x{85}\x{2028}\x{2029}]|(?i:%0[ad])|\\r\\n`, e.value)
}

findings contains lib.about("mail.header", array.concat(at, [name]), "the header's value has a line break, which would begin another header: put it on one line") if {
	contains(lib.name_text, "header")
	some [at, o] in lib.objects
	count(at) > 0
	at[count(at) - 1] in {"headers", "header", "custom_headers", "customHeaders", "extra_headers", "extraHeaders"}
	some name, value in o
	is_string(value)
	regex.match(`[\r\n\x00]|(?i:%0d%0a)`, concat("", [name, value]))
}

header_names := {name | regex.match(` to|cc |from|sender|subject|reply|recipient|name|mail|references`, lib.name_text); some name, _ in lib.kinds; regex.match(`(?i)^(to|cc|bcc|from|sender|subject|reply[_-]?to|recipients?|from_?name|sender_?name|display_?name|to_?address|from_?address|email|to_?email|in_?reply_?to|references)$`, name)}

header_like(_, _) if mail_tool

header_like(_, value) if contains(value, "@")

# Who gets something: [entry, address].
recipients contains [e, lower(address)] if {
	"address" in lib.present
	not lib.tool_reads
	some e in lib.entries
	e.kind == "address"
	receives(e)
	some address in regex.find_n(`[^\s<>,;()\[\]{}]+@[^\s<>,;()\[\]{}"]*`, e.value, -1)
	not regex.match(`^[0-9-]+@(s\.whatsapp\.net|c\.us|g\.us|lid|broadcast)$`, address)
}

receives(e) if regex.match(receiving, e.name)

receives(e) if {
	some k in e.at
	is_string(k)
	regex.match(receiving, k)
}

receives(e) if {
	gives
	not regex.match(`(?i)^(from|sender|.*_from|from_.*|.*sender.*|organi[sz]er)$`, e.name)
}

receiving := `(?i)^(to|cc|bcc)$|(^|_)(to|cc|bcc)_|recipient|forward|attendee|invitee|guest|share|reply_?to|redirect|(to|cc|bcc)(recipients|address|addresses|emails?)$|participants?$`

findings contains lib.finding("mail.outside", e, "the recipient is outside the organisation: settings.mail.internal_domains") if {
	count(data.settings.mail.internal_domains) > 0
	some [e, address] in recipients
	not inside(address)
}

inside(address) if {
	domain := trim_right(regex.replace(address, `^.*@`, ""), ".'>")
	some d in data.settings.mail.internal_domains
	lower(d) == domain
}

inside(address) if {
	domain := trim_right(regex.replace(address, `^.*@`, ""), ".'>")
	some d in data.settings.mail.internal_domains
	startswith(d, ".")
	endswith(domain, lower(d))
}

inside(address) if lower(address) in {lower(a) | some a in data.settings.mail.allow}

findings contains lib.finding("mail.address", e, "the address can be read in two ways: write one plain address") if {
	some [e, address] in recipients
	regex.match(`@.*@|[%!"\\|\x60]|[^\x00-\x7f]`, address)
}

# An encoded word is another address once it is decoded.
findings contains lib.finding("mail.address", e, "the address can be read in two ways: write one plain address") if {
	"address" in lib.present
	some e in lib.entries
	e.kind == "address"
	regex.match(`=\?[\w-]+\?[bBqQ]\?`, e.value)
}

findings contains lib.about("mail.public", array.concat(at, [name]), "this shares with anybody who has the link: name who shall see it") if {
	not lib.tool_reads
	count(lib.tool_words & {"share", "sharing", "permission", "permissions", "grant", "publish", "access"}) > 0
	some [at, o] in lib.objects
	some name, value in o
	public(name, value)
}

public(_, value) if value in {"anyone", "anyoneWithLink", "anyone_with_link", "anonymous", "public", "world", "everyone", "allUsers", "allAuthenticatedUsers"}

public(name, true) if name in {"public", "is_public", "isPublic", "anyone", "anyone_with_link", "anonymous"}

findings contains lib.about("mail.bulk", [], "too many recipients in one call: settings.mail.max_recipients") if {
	count({address | some [_, address] in recipients}) > data.settings.mail.max_recipients
}
