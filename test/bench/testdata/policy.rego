package tools.upload_report

import rego.v2

args := input.arguments

deny contains "reports live below /reports/" if not startswith(args.target, "/reports/")

deny contains "no parent directories" if contains(args.target, "/..")

deny contains "no hidden names" if regex.match("/\\.", args.target)

deny contains "a report is pdf, csv or html" if not regex.match("\\.(pdf|csv|html)$", args.target)

deny contains "public reports need a reviewer" if {
	args.visibility == "public"
	not args.reviewer
}

deny contains "drafts stay in staging" if {
	args.state == "draft"
	args.stage == "production"
}

deny contains "the period ends before it begins" if {
	time.parse_rfc3339_ns(args.period.to) <= time.parse_rfc3339_ns(args.period.from)
}

deny contains "a period has at most a quarter" if {
	time.parse_rfc3339_ns(args.period.to) - time.parse_rfc3339_ns(args.period.from) > 8035200000000000
}

deny contains "that host is in a closed network" if {
	some network in data.settings.closed
	net.cidr_contains(network, args.mirror)
}

deny contains "unknown author" if not data.settings.authors[args.author]

deny contains "unknown department" if not args.department in data.settings.departments

deny contains "too many pages" if args.pages > data.settings.pages[args.stage]

deny contains "too many readers" if count(args.readers) > 12

deny contains $"{reader} is no address of ours" if {
	some reader in args.readers
	not regex.match("^[a-z.]+@ours\\.example$", reader)
}

deny contains "answers go to us" if not endswith(args.reply_to, "@ours.example")

deny contains "links are https" if not startswith(lower(args.link), "https://")
