# Settings of URLs that the other tests leave as they are.
package tests.starter.urls_settings

import data.starter.urls
import data.tests.starter as helper
import rego.v2

found(arguments, over) := {f.rule | some f in denied} if {
	settings := object.union(helper.strict, {"urls": object.union(data.settings.urls, over)})
	denied := urls.deny with input as helper.call("fetch", arguments) with data.settings as settings
}

test_only_hosts if {
	found({"url": "https://example.com/a"}, {"only_hosts": ["example.com"]}) == set()
	found({"url": "https://a.example.com/a"}, {"only_hosts": ["example.com"]}) == {"urls.outside"}
	found({"url": "https://a.example.com/a"}, {"only_hosts": [".example.com"]}) == set()
	found({"url": "https://example.com.evil.example/"}, {"only_hosts": ["example.com", ".example.com"]}) == {"urls.outside"}
}

test_file_urls_are_still_paths if {
	found({"url": "file:///srv/data/a.txt"}, {"schemes": ["file"]}) == set()
	found({"url": "file:///srv/data/../a.txt"}, {"schemes": ["file"]}) == {"urls.scheme", "urls.traversal"}
	found({"url": "file:///etc/hosts"}, {"schemes": ["file"]}) == {"urls.scheme"}
	found({"url": "https://example.com/"}, {"schemes": ["file"]}) == set() # ordinary URLs are not asked
}

test_allow_hosts if {
	found({"url": "http://10.0.0.1/"}, {"allow_hosts": ["10.0.0.1"]}) == set()
	found({"url": "http://10.0.0.2/"}, {"allow_hosts": ["10.0.0.1"]}) == {"urls.private"}
	found({"url": "http://xn--mnchen-3ya.de/"}, {"allow_hosts": ["xn--mnchen-3ya.de"]}) == set()
}
