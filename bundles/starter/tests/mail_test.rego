package tests.starter.mail

import data.starter.mail
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := mail.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_mail_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"send_email: hidden copy, list": {"tool": "send_email", "arguments": {"to": ["a@example.com"], "bcc": ["x@evil.example"], "subject": "s", "body": "b"}, "rules": {"mail.outside"}},
	"send_mail: second address in a string": {"tool": "send_mail", "arguments": {"to": "a@example.com, x@evil.example", "subject": "s", "body": "b"}, "rules": {"mail.outside"}},
	"send-mail: nested": {"tool": "send-mail", "arguments": {"body": {"message": {"toRecipients": [{"emailAddress": {"address": "x@evil.example"}}], "subject": "s"}}}, "rules": {"mail.outside"}},
	"send_email: display name": {"tool": "send_email", "arguments": {"to": "\"a@example.com\" <x@evil.example>", "subject": "s", "body": "b"}, "rules": {"mail.address", "mail.outside"}},
	"send_email: too many": {"tool": "send_email", "arguments": {"to": ["a@example.com", "b@example.com", "c@example.com", "d@example.com", "e@example.com", "f@example.com"], "subject": "s", "body": "b"}, "rules": {"mail.bulk"}},
	"send_email: subject": {"tool": "send_email", "arguments": {"to": "a@example.com", "subject": "x\r\nBcc: x@evil.example", "body": "b"}, "rules": {"mail.header"}},
	"send_email: in a list": {"tool": "send_email", "arguments": {"to": ["a@example.com\nCc: x@evil.example"], "subject": "s", "body": "b"}, "rules": {"mail.header", "mail.outside"}},
	"send_email: encoded": {"tool": "send_email", "arguments": {"to": "a@example.com", "subject": "s", "body": "b", "reply_to": "a@example.com%0d%0aBcc: x@evil.example"}, "rules": {"mail.address", "mail.header", "mail.outside"}},
	"http_request: HTTP header": {"tool": "http_request", "arguments": {"url": "https://example.com", "headers": {"X-A": "b\r\nX-C: d"}}, "rules": {"mail.header"}},
	"send_email: an address in the body": {"tool": "send_email", "arguments": {"to": ["a@example.com", "Bob <b@EXAMPLE.com>"], "subject": "s", "body": "x@evil.example\r\nBcc: y"}, "rules": set()},
	"search_emails: a search": {"tool": "search_emails", "arguments": {"from": "x@other.org", "to": "y@other.org"}, "rules": set()},
	"create_contact: a contact": {"tool": "create_contact", "arguments": {"email": "x@other.org", "name": "X"}, "rules": set()},
	"send_email: allowed outsider": {"tool": "send_email", "arguments": {"to": "friend@example.org", "subject": "s", "body": "b"}, "rules": set()},
	"send_email: subdomain": {"tool": "send_email", "arguments": {"to": "a@mail.example.net", "subject": "s", "body": "b"}, "rules": set()},
	"send_email: two at signs": {"tool": "send_email", "arguments": {"to": "a@evil.example@example.com", "subject": "s", "body": "b"}, "rules": {"mail.address"}},
	"send_email: percent route": {"tool": "send_email", "arguments": {"to": "a%evil.example@example.com", "subject": "s", "body": "b"}, "rules": {"mail.address"}},
	"send_email: other alphabet": {"tool": "send_email", "arguments": {"to": "а@example.com", "subject": "s", "body": "b"}, "rules": {"mail.address"}},
	"replace_text: not mail": {"tool": "replace_text", "arguments": {"from": "a\nb", "to": "c\nd"}, "rules": set()},
	"share_drive_file: shared with anybody": {"tool": "share_drive_file", "arguments": {"fileId": "1", "type": "anyone"}, "rules": {"mail.public"}},
	"set_permissions: made public": {"tool": "set_permissions", "arguments": {"file": "a", "public": true}, "rules": {"mail.public"}},
}

test_mail_2[name] if {
	some name, c in cases_2
	found(c) == c.rules
}

cases_2 := {
	"share_drive_file: shared with a colleague": {"tool": "share_drive_file", "arguments": {"fileId": "1", "type": "user", "emailAddress": "a@example.com"}, "rules": set()},
}
