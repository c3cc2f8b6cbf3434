# A command behind a separator or in a substitution, wherever it stands.
package starter.lib

import rego.v2

runs_program := concat("", [
	"(?i)(?:[;&|\\n\\r]|\\$\\(|`|%0[ad]|%3b|%7c|%26)\\s*(?:sudo\\s+)?(?:[./~]?[\\w./\\\\-]*[/\\\\])?(?:", program_names, ")(?:\\.exe)?(?:$|[\\s;&|)`\"'$<>(])",
])

# The same with words that are hardly ever anything else, for text that people read.
runs_command := concat("", [
	"(?i)(?:[;&|\\n\\r]|\\$\\(|`|%0[ad]|%3b|%7c|%26)\\s*(?:sudo\\s+)?(?:[./~]?[\\w./\\\\-]*[/\\\\])?(?:",
	"echo|id|whoami|uname|touch|cat|ls|dir|rm|cp|mv|mkdir|rmdir|chmod|chown|curl|wget|nc|ncat|netcat|bash|sh|zsh|ksh|cmd|powershell|pwsh|python[0-9.]*|perl|ruby|php|printenv|",
	"sleep|ping|nslookup|dig|kill|pkill|killall|reboot|shutdown|calc|notepad|base64|xxd|scp|ssh|sudo|osascript|printf|iptables|kubectl|docker|npm|npx|pip|tee|xargs|mkfifo|eval|exec|open\\s+-|node\\s+-|git\\s+[a-z]|set\\s+/a|start\\s+/",
	")(?:\\.exe)?(?:$|[\\s;&|)`\"'$<>(])",
])

program_names := concat("|", [
	"echo|id|whoami|uname|hostname|touch|cat|ls|dir|rm|cp|mv|mkdir|rmdir|chmod|chown|ln|curl|wget|nc|ncat|netcat|bash|sh|zsh|ksh|dash|cmd|powershell|pwsh",
	"python[0-9.]*|perl|ruby|node|php|lua|env|printenv|set|export|sleep|ping|nslookup|dig|host|kill|pkill|killall|reboot|shutdown|open|xdg-open|calc|notepad",
	"ps|top|pwd|cd|tee|head|tail|grep|awk|sed|find|xargs|base64|xxd|tar|zip|scp|ssh|git|npm|npx|pip|kubectl|docker|aws|osascript|start|type|del|copy|net|reg|mkfifo|sudo|su|eval|exec|source|printf|true|false|test|date|iptables|service|systemctl|crontab|passwd|useradd",
])
