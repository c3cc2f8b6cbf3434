package tests.starter.secrets

import data.starter.secrets
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := secrets.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_secrets_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"add_comment: code host": {"tool": "add_comment", "arguments": {"body": "token ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"}, "rules": {"secrets.value"}},
	"create_gist: private key": {"tool": "create_gist", "arguments": {"files": {"a.txt": {"content": "-----BEGIN RSA PRIVATE KEY-----\nMIIE"}}}, "rules": {"secrets.value"}},
	"send_message: chat": {"tool": "send_message", "arguments": {"text": "xoxb-1234567890-abcdefghij"}, "rules": {"secrets.value"}},
	"save: in a name": {"tool": "save", "arguments": {"data": {"AKIAA1B2C3D4E5F6G7H8": 1}}, "rules": {"secrets.name"}},
	"save_comment: prefixes only": {"tool": "save_comment", "arguments": {"body": "use AKIA… keys; ghp_ tokens; sk-… and -----BEGIN CERTIFICATE-----"}, "rules": set()},
	"save_comment: a hash and a word": {"tool": "save_comment", "arguments": {"body": "commit 3f786850e387550fdab836ed7e6dc881de23001b task-abcdefghijklmnopqrstuvwxyz"}, "rules": set()},
	"note: form of the settings": {"tool": "note", "arguments": {"text": "ACME-12345678"}, "rules": {"secrets.value"}},
	"vault_write: tool of the settings": {"tool": "vault_write", "arguments": {"value": "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2"}, "rules": set()},
}
