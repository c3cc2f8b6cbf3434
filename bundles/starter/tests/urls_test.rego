package tests.starter.urls

import data.starter.urls
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := urls.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_urls_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"convert_to_markdown: file URL": {"tool": "convert_to_markdown", "arguments": {"uri": "file:///etc/hosts"}, "rules": {"urls.scheme"}},
	"browser_navigate: upper case": {"tool": "browser_navigate", "arguments": {"url": "FILE:///C:/x"}, "rules": {"urls.scheme"}},
	"browser_navigate: white space before": {"tool": "browser_navigate", "arguments": {"url": " \tfile:///etc/hosts"}, "rules": {"urls.scheme"}},
	"fetch: IPv6 loopback": {"tool": "fetch", "arguments": {"url": "http://[::1]/"}, "rules": {"urls.private"}},
	"fetch: mapped": {"tool": "fetch", "arguments": {"url": "http://[::ffff:169.254.169.254]/"}, "rules": {"urls.private"}},
	"fetch: mapped, hexadecimal": {"tool": "fetch", "arguments": {"url": "http://[::ffff:a9fe:a9fe]/"}, "rules": {"urls.private"}},
	"fetch: link-local": {"tool": "fetch", "arguments": {"url": "http://[fe80::1%25eth0]/"}, "rules": {"urls.host", "urls.private"}},
	"fetch: zero": {"tool": "fetch", "arguments": {"url": "http://0/"}, "rules": {"urls.host", "urls.private"}},
	"fetch: short": {"tool": "fetch", "arguments": {"url": "http://127.1/"}, "rules": {"urls.host"}},
	"fetch: hexadecimal": {"tool": "fetch", "arguments": {"url": "http://0x7f000001/"}, "rules": {"urls.host", "urls.private"}},
}

test_urls_2[name] if {
	some name, c in cases_2
	found(c) == c.rules
}

cases_2 := {
	"fetch: hexadecimal part": {"tool": "fetch", "arguments": {"url": "http://0x7f.0.0.1/"}, "rules": {"urls.host"}},
	"fetch: octal": {"tool": "fetch", "arguments": {"url": "http://0177.0.0.1/"}, "rules": {"urls.host"}},
	"fetch: upper case": {"tool": "fetch", "arguments": {"url": "http://LOCALHOST/"}, "rules": set()},
	"fetch: trailing dot": {"tool": "fetch", "arguments": {"url": "http://localhost./"}, "rules": set()},
	"fetch: credentials": {"tool": "fetch", "arguments": {"url": "http://user:pw@example.com/"}, "rules": {"urls.credentials"}},
	"fetch: user part hides the host": {"tool": "fetch", "arguments": {"url": "http://example.com@127.0.0.1/"}, "rules": {"urls.credentials", "urls.private"}},
	"fetch: other digits": {"tool": "fetch", "arguments": {"url": "http://①②⑦.0.0.1/"}, "rules": {"urls.idn"}},
	"fetch: other dots": {"tool": "fetch", "arguments": {"url": "http://169。254。169。254/"}, "rules": {"urls.idn", "urls.private"}},
	"fetch: ftp to a private host": {"tool": "fetch", "arguments": {"url": "ftp://10.0.0.1/"}, "rules": {"urls.private", "urls.scheme"}},
	"fetch: look-alike name": {"tool": "fetch", "arguments": {"url": "https://xn--pple-43d.com/"}, "rules": {"urls.idn"}},
}

test_urls_3[name] if {
	some name, c in cases_3
	found(c) == c.rules
}

cases_3 := {
	"fetch: look-alike letters": {"tool": "fetch", "arguments": {"url": "https://аpple.com/"}, "rules": {"urls.idn"}},
	"create_hook: nested": {"tool": "create_hook", "arguments": {"config": {"webhook": "http://localhost/x"}}, "rules": set()},
	"fetch: public": {"tool": "fetch", "arguments": {"url": "https://example.com/10.0.0.1"}, "rules": set()},
	"fetch: public (2)": {"tool": "fetch", "arguments": {"url": "https://10.example.com/"}, "rules": set()},
	"fetch: host of the settings": {"tool": "fetch", "arguments": {"url": "http://localhost:3000/"}, "rules": set()},
	"fetch: suffix of the settings": {"tool": "fetch", "arguments": {"url": "http://api.corp.example.com/"}, "rules": set()},
	"fetch: empty host": {"tool": "fetch", "arguments": {"url": "http:///"}, "rules": {"urls.host"}},
	"fetch: path only": {"tool": "fetch", "arguments": {"url": "/a/b"}, "rules": set()},
	"fetch: Teredo": {"tool": "fetch", "arguments": {"url": "http://[2001:0:1::1]/"}, "rules": {"urls.private"}},
	"fetch: 6to4": {"tool": "fetch", "arguments": {"url": "http://[2002:7f00:1::]/"}, "rules": {"urls.private"}},
}

test_urls_4[name] if {
	some name, c in cases_4
	found(c) == c.rules
}

cases_4 := {
	"read_resource: resource of a server": {"tool": "read_resource", "arguments": {"uri": "memo://insights"}, "rules": set()},
	"fetch: scheme of nobody": {"tool": "fetch", "arguments": {"url": "foo://bar"}, "rules": {"urls.scheme"}},
	"load: data URL": {"tool": "load", "arguments": {"source": "data:text/html,<script>"}, "rules": {"urls.scheme"}},
	"fetch: encoded colon": {"tool": "fetch", "arguments": {"url": "http:2130706433"}, "rules": {"urls.host", "urls.private"}},
	"connect: metadata service as a host": {"tool": "connect", "arguments": {"host": "169.254.169.254"}, "rules": {"urls.private"}},
	"http_request: private host of a request": {"tool": "http_request", "arguments": {"host": "10.0.0.4"}, "rules": {"urls.private"}},
	"ping: private host of a ping": {"tool": "ping", "arguments": {"host": "10.0.0.4"}, "rules": set()},
	"http_request: hosts in a list": {"tool": "http_request", "arguments": {"hosts": ["a.example.com", "127.0.0.1"]}, "rules": {"urls.private"}},
	"http_request: host of the settings as a host": {"tool": "http_request", "arguments": {"host": "localhost"}, "rules": set()},
}
