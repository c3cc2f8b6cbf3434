# Secrets inside any string.
#
# Stops: keys and tokens with a recognisable form (cloud providers, code hosts, chat,
# payment, model providers, private keys, signed tokens) in any value or name, free
# text included.
#
# Doesn't stop: passwords and keys without a form of their own; a secret that is
# encoded or cut into pieces.
#
# Incidents: https://github.com/danielmiessler/LifeOS/issues/1275
# (outgoing text of tools not looked at), and the injected issues and tickets of 2025
# that made agents paste keys into comments.
package starter.secrets

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
relevant if count(present) > 0

# The forms that the call as a whole has in it: one look for a few characters for each,
# a second one when they are there.
present contains form if {
	some mark, form in forms
	contains(lib.document, mark)
	holds(form, lib.document)
	not exempt
}

present contains form if {
	some form in data.settings.secrets.extra
	regex.match(form, lib.document)
	not exempt
}

exempt if {
	some tool in data.settings.secrets.ignore_tools
	glob.match(tool, [], input.tool.name)
}

findings contains lib.about("secrets.value", at, "the value holds a key or token: leave it out, or name the place where it is kept") if {
	some form in present
	walk(input.arguments, [at, value])
	is_string(value)
	holds(form, value)
}

findings contains lib.about("secrets.name", at, "the name of an argument is a key or token: leave it out") if {
	some form in present
	some [at, o] in lib.objects
	some name, _ in o
	holds(form, name)
}

# A form that shows only in the whole.
findings contains lib.about("secrets.value", [], "the call holds a key or token: leave it out, or name the place where it is kept") if {
	some form in present
	count({at | walk(input.arguments, [at, value]); is_string(value); holds(form, value)}) == 0
	count({name | some [_, o] in lib.objects; some name, _ in o; holds(form, name)}) == 0
}

# A row of crosses or stars stands for a secret.
holds(form, text) if {
	some found in regex.find_n(form, text, -1)
	not regex.match(`[xX]{6}|\*{4}`, found)
}

# By the characters that each form begins with.
forms := {
	"k_live_": `[sr]k_live_[A-Za-z0-9]{16}`,
	"hv": `hv[sb]\.[A-Za-z0-9_-]{24}`,
	"gl": `gl(pat|dt|rt)-[A-Za-z0-9_-]{20}|glptt-[A-Za-z0-9]{40}|glsa_[A-Za-z0-9]{32}`,
	"gh": `gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22}`,
	"://": `(?i)\b(postgres(ql)?|mysql|mariadb|mongodb(\+srv)?|rediss?|amqps?|mssql|sqlserver)(\+\w+)?://[^\s:/@"\\]{1,64}:[^\s:/@"\\{}$<>]*[0-9][^\s/@"\\{}$<>]*@[a-z0-9-]+(\.[a-z0-9-]+)+`,
	"AKIA": `AKIA[0-9A-Z]{16}`, "ASIA": `ASIA[0-9A-Z]{16}`, "ABIA": `ABIA[0-9A-Z]{16}`, "ACCA": `ACCA[0-9A-Z]{16}`,
	"ecret": `(?i)(aws_?)?secret_?(access_?)?key["'\\]*\s*[=:]\s*["'\\]*[A-Za-z0-9/+]{40}`, "ECRET": `(?i)(aws_?)?secret_?(access_?)?key["'\\]*\s*[=:]\s*["'\\]*[A-Za-z0-9/+]{40}`,
	"xox": `xox[abeoprs]-[A-Za-z0-9-]{10}`, "xapp-": `xapp-[0-9]-[A-Za-z0-9-]{10}`, "hooks.slack.com": `hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]{16}`,
	"/api/webhooks/": `discord(app)?\.com/api/webhooks/[0-9]{16,}/[A-Za-z0-9_-]{50}`,
	"sk-": `(^|[^A-Za-z0-9]|\\[nrt])sk-(proj-|svcacct-|admin-|or-v1-|ant-[a-z0-9]+-)?[A-Za-z0-9_]{20}`, "sk-ant-": `sk-ant-[A-Za-z0-9_-]{24}`,
	"whsec_": `whsec_[A-Za-z0-9+/]{24}`,
	"AIza": `AIza[0-9A-Za-z_-]{35}`, "ya29.": `ya29\.[A-Za-z0-9_-]{20}`, "GOCSPX-": `GOCSPX-[A-Za-z0-9_-]{24}`, "PRIVATE KEY": `-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----`,
	"eyJ": `eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8}`, "npm_": `npm_[A-Za-z0-9]{36}`, "pypi-": `pypi-AgE[A-Za-z0-9_-]{40}`, "SG.": `SG\.[A-Za-z0-9_-]{20,24}\.[A-Za-z0-9_-]{39}`,
	"hf_": `hf_[A-Za-z]{34}`, "_v1_": `do[opr]_v1_[0-9a-f]{64}`, "dapi": `dapi[0-9a-f]{32}`, "shp": `shp(at|ca|pa|ss)_[0-9a-fA-F]{32}`, "lin_": `lin_(api|oauth)_[A-Za-z0-9]{32}`,
	"ATATT": `ATATT3[A-Za-z0-9_=-]{40}`, "dckr_pat_": `dckr_pat_[A-Za-z0-9_-]{20}`, "figd_": `figd_[A-Za-z0-9_-]{20}`, "sbp_": `sbp_[0-9a-f]{40}`,
	"AGE-SECRET": `AGE-SECRET-KEY-1[0-9A-Z]{40}`, "sq0": `sq0(atp|csp)-[A-Za-z0-9_-]{22}`, "key-": `(^|[^A-Za-z0-9])key-[0-9a-f]{32}`,
	"xkeysib-": `xkeysib-[0-9a-f]{40}`, "Key=": `(Account|SharedAccess)Key=[A-Za-z0-9+/]{40,}=`, ":AA": `[0-9]{8,10}:AA[A-Za-z0-9_-]{33}`, "ntn_": `ntn_[A-Za-z0-9]{40}`,
	"PMAK-": `PMAK-[0-9a-f]{24}-[0-9a-f]{30}`, "sntry": `sntry[su]_[A-Za-z0-9_=+/-]{40}`,
}
