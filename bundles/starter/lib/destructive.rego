# Command lines that delete what can't be brought back, send files away, or change
# what programs load.
package starter.lib

import rego.v2

# command_forms are the line, and the line behind wrappers and with the program that
# the tool implies, each beginning with a program's name, in lower case.
command_forms(s) := ({s.line} | {concat(" ", [p, s.line]) | some p in implied; p != s.name}) | {concat(" ", array.slice(ws, i, count(ws))) |
	s.name in wrappers
	ws := split(s.line, " ")
	some i, _ in ws
}

destructive := concat("|", [
	`^rm\s(.*\s)?(-[a-z]*[rf][a-z]*|--recursive|--force|--no-preserve-root)\s(.*\s)?(--no-preserve-root|~\S*|\$\S*|\.\.?/?|\*|\./\*|/\*?|/[^/\s]*/?\*?|[a-z]:[/\\]*\S{0,3})(\s|$)`,
	`^find\s.*\s-delete\b`, `^find\s.*-exec(dir)?\s+(rm|shred|unlink)\b`, `^xargs\s.*\brm\b.*\s-[a-z]*r`,
	`^(rd|rmdir|del|erase)\s(.*\s)?/[sq]\b`, `^remove-item\s.*-recurse`, `^ri\s.*-r`, `^clear-(disk|content)\b`, `^format-volume\b`,
	`^(chmod|chown|chgrp)\s(.*\s)?-[a-z]*r[a-z]*\s.*\s(/|~)\s*$`, `^kill\s+-9\s+-1\b`, `^history\s+-c\b`, `^truncate\s`,
	# git
	`^git\s(.*\s)?push\s(.*\s)?(-f|--force|--mirror|--delete|-d|--prune|\+\S+|:\S+)(\s|$)`, `^git\s(.*\s)?reset\s(.*\s)?--hard\b`,
	`^git\s(.*\s)?clean\s(.*\s)?-[a-z]*f`, `^git\s(.*\s)?(checkout|restore)\s(.*\s)?(\.|:/|\*)(\s|$)`, `^git\s(.*\s)?checkout\s(.*\s)?(-f|--force)(\s|$)`,
	`^git\s(.*\s)?stash\s+(drop|clear)`, `^git\s(.*\s)?(filter-branch|filter-repo)\b`, `^git\s(.*\s)?reflog\s+(expire|delete)`,
	`^git\s(.*\s)?branch\s(.*\s)?(-d|--delete)\s(.*\s)?(main|master|production|develop|release\S*)(\s|$)`, `^git\s(.*\s)?gc\s.*--prune=(now|all)`, `^git\s(.*\s)?update-ref\s+-d`, `^git\s(.*\s)?config\s(.*\s)?(core\.(sshcommand|hookspath|fsmonitor|editor|pager)|alias\.|credential\.)`,
	`^(gh|glab)\s+(repo|release|secret|codespace|project|run|cache)\s+delete\b`, `^gh\s+api\s(.*\s)?(-x\s*|--method[ =])delete\b`,
	# infrastructure
	`^(kubectl|oc)\s(.*\s)?(delete|drain|replace\s(.*\s)?--force)\s(.*\s)?(--all|-a|--all-namespaces|ns|namespaces?|nodes?|pvc?|persistentvolume\S*|crds?|customresourcedefinitions?\S*|clusterrole\S*|all)(/\S+)?(\s|$)`,
	`^helm\s(.*\s)?(uninstall|delete|del|un)\b`, `^(terraform|tofu|terragrunt|pulumi|cdk|sst|serverless|sls)\s(.*\s)?(destroy|remove|down)\b`,
	`^(terraform|tofu|terragrunt)\s(.*\s)?(apply\s.*-destroy|state\s+rm|workspace\s+delete|force-unlock)\b`, `^(terraform|tofu|terragrunt|pulumi)\s(.*\s)?(apply|up)\s(.*\s)?(-auto-approve|--auto-approve|--yes|-y|--skip-preview)(\s|$)`,
	`^aws\s.*\s(rb|delete\S*|terminate\S*|remove\S*|purge\S*|deregister\S*|destroy\S*|disable\S*|schedule-key-deletion|detach\S*|revoke\S*)(\s|$)`, `^aws\s+s3\s+(rm|mv|sync)\s(.*\s)?(--recursive|--delete)(\s|$)`,
	`^(gcloud|az|doctl|ibmcloud|oci|linode-cli|hcloud|scw|aliyun|yc|bq|gsutil)\s.*\b(delete|destroy|purge|remove|terminate|rb|deprovision|rm\s.*-r)\b`,
	`^(heroku|fly|flyctl|railway|render|vercel|netlify|firebase|supabase|wrangler|eb|cf|neonctl|planetscale|pscale|turso)\s.*\b(destroy|delete|rm|remove|reset|drop|down|purge|\S*:(destroy|delete|reset))\b`,
	`^docker\s+(system|volume|image|container|network|builder)\s+prune\b`, `^docker\s+volume\s+(rm|remove)\b`, `^docker(\s+|-)compose\s(.*\s)?down\s(.*\s)?(-v|--volumes|--rmi)\b`,
	`^docker\s+(rm|rmi)\s(.*\s)?-[a-z]*f.*\$`, `^vagrant\s+destroy\b`, `^(apt|apt-get|yum|dnf|brew|pacman|snap)\s(.*\s)?(remove|purge|autoremove|uninstall|-rns?)\b`,
	`^systemctl\s(.*\s)?(stop|disable|mask|kill|poweroff|reboot|halt|isolate)\b`, `^npm\s+(unpublish|deprecate|owner|access)\b`, `^cargo\s+yank\b`,
	# databases
	`^dropdb\b`, `^dropuser\b`, `^mysqladmin\s(.*\s)?drop\b`, `\b(db|database|schema|migrate|migration|migrations)[ :](.*\s)?(drop|reset|wipe|flush|fresh|purge|truncate|clean|refresh|undo:all|nuke|erase)\b`,
	`--(force-reset|accept-data-loss)\b`, `^(python[0-9.]*\s+)?\S*manage\.py\s+(flush|reset_db|sqlflush)\b`, `^redis(-cli)?\s(.*\s)?(flushall|flushdb|config\s+set|shutdown|debug|eval)\b`,
	`^(mongo|mongosh)\s.*(dropdatabase|\.drop\(|deletemany\(\s*\{\s*\}|\.remove\(\s*\{\s*\})`, `^(alembic|flask\s+db)\s+downgrade\s+(base|-)`, `^(flyway|liquibase)\s(.*\s)?(clean|drop-?all)\b`,
	`^(etcdctl)\s(.*\s)?del\b`, `^(consul|vault)\s(.*\s)?(delete|destroy)\b`, `^kafka-topics\S*\s(.*\s)?--delete\b`, `^curl\s(.*\s)?(-x\s*|--request[ =])delete\b`,
])

sends_file := concat("|", [
	`^curl\s(.*\s)?(-t|--upload-file)[ =]?\S`, `^curl\s(.*\s)?(-d|--data|--data-binary|--data-raw|--data-urlencode|--json|-f|--form)[ =]?(\S*=)?[@<]`,
	`^wget\s(.*\s)?--(post|body)-(file|data)`, `^(scp|rsync|sftp)\s.*\s\S+@\S+:`, `^(scp|rsync)\s.*\s[\w.-]+\.[\w.-]+:`, `^(ftp|tftp|lftp|croc|magic-wormhole|wormhole|ngrok|cloudflared|rclone|mail|mailx|sendmail|mutt)\b`,
	`^(nslookup|dig|host)\s.*\$`, `^invoke-(webrequest|restmethod)\s.*-infile`, `^gh\s+gist\s+create\b`,
])

loading_variables := concat("", [
	`^(LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|BASH_ENV|ENV|PROMPT_COMMAND|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|PROXY_COMMAND|CONFIG\w*|TEMPLATE_DIR|EXEC_PATH)|`,
	`PAGER|MANPAGER|LESSOPEN|LESSCLOSE|EDITOR|VISUAL|BROWSER|IFS|SHELLOPTS|BASHOPTS|PS4|PERL5(OPT|LIB|DB)|RUBY(OPT|LIB)|PYTHON(STARTUP|HOME|INSPECT|WARNINGS|BREAKPOINT)|`,
	`(JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS|GCONV_PATH|OPENSSL_CONF|KUBECONFIG|AWS_ENDPOINT_URL\w*|DOCKER_HOST|SSH_ASKPASS|SUDO_ASKPASS|npm_config_\w+)=`,
	`|^NODE_OPTIONS=.*(--require|-r\b|--import|--loader|--experimental-loader|--inspect)|^PATH=[^$]*$`,
])

# named_paths are the words of a segment that may be paths, less what an option or an
# "@" puts before them. The program itself may be anywhere.
named_paths(s) := {path(object.union(s.entry, {"value": v})) |
	some i, w in s.words
	i > 0
	v := regex.replace(w, `^(-{1,2}[\w-]*=?|@|\w+=@?)?(fileb?:(//(localhost)?)?)?`, "")
	regex.match(`[/\\~.]|credentials|^id_`, v)
	not regex.match(`^[a-z][a-z0-9+.-]*://|\s`, v)
}
