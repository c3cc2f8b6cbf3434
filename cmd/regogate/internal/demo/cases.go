package demo

import "github.com/regogate/regogate/policy"

// A Case is one call and what must become of it.
type Case struct {
	Tool      string
	Arguments string // exact bytes
	// Want is the code that the call is refused with, "" when it is allowed.
	Want policy.Code
	Why  string // what the case shows
}

// Cases are the calls of the demonstration, in order. There is one for each way in
// which a call can come out that an agent causes.
func Cases() []Case {
	return []Case{
		{"read_file", `{"path": "notes/today.md"}`, "", "an everyday call"},
		{"read_file", `{"path": "../../etc/shadow"}`, policy.Denied, "a path that leaves the working directory: a rule of the starter bundle"},
		{"read_file", `{"file": "notes/today.md"}`, policy.SchemaViolation, "arguments that the tool doesn't have"},
		{"read_file", `{"path": "notes/today.md", "path": "/etc/shadow"}`, policy.Malformed, "one name twice: two readers would see two different calls"},
		{"send_mail", `{"to": ["ann@example.com"], "subject": "Lunch?"}`, "", "an everyday call"},
		{"send_mail", `{"to": ["eve@example.net"], "subject": "The figures"}`, policy.Denied, "a rule of one's own: outside the company only with a ticket"},
		{"send_mail", `{"to": ["eve@example.net"], "subject": "The figures", "ticket": "OPS-7"}`, "", "the same with a ticket"},
		{"send_mail", `{"to": "ann@example.com", "subject": "Lunch?"}`, policy.SchemaViolation, "a string where the schema has a list"},
		{"open_page", `{"url": "http://169.254.169.254/latest/meta-data/"}`, policy.Denied, "the cloud's metadata service: a rule of the starter bundle"},
		{"book_room", `{"room": "Ada", "start": "2026-12-01T09:00:00Z"}`, "", "an everyday call"},
		{"book_room", `{"room": "Ada", "start": "tomorrow"}`, policy.Undecided, "a rule that fails: what can't be decided is refused"},
		{"delete_all", `{}`, policy.UnknownTool, "a tool that the server doesn't have"},
	}
}
