package tools.send_mail

import rego.v2

deny contains {"msg": "mail to people outside example.com needs a ticket", "rule": "outside-needs-ticket", "location": "/to"} if {
	some to in input.arguments.to
	not endswith(to, "@example.com")
	not input.arguments.ticket
}

warn contains "mail without a subject line" if input.arguments.subject == ""
