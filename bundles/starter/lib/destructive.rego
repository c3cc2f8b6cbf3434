# Command lines that delete what can't be brought back, send files away, or change
# what programs load.
package starter.lib

import rego.v2

# command_forms are the line, and the line behind wrappers and with the program that
# the tool implies, each beginning with a program's name, in lower case.
command_forms(s) := (({s.line} | subcommands(s)) | {concat(" ", [p, s.line]) | some p in implied; p != s.name}) | {concat(" ", array.slice(ws, i, count(ws))) |
	s.name in object.keys(wrappers)
	ws := split(s.line, " ")
	some i, _ in ws
}

# A tool that is called after a subcommand runs that.
subcommands(s) := {concat(" ", [p, sub, s.line]) |
	some p in implied
	ws := words(input.tool.name)
	count(ws) == 2
	ws[0] == p
	sub := ws[1]
}

destroys(line) if regex.match(destructive, line)

destroys(line) if regex.match(git_destroys, line)

# Words that mean the same to many programs, but nothing in a text that is only shown,
# searched or committed.
destroys(line) if {
	regex.match(destructive_words, line)
	not regex.match(`^(git|echo|printf|grep|rg|ag|cat|ls|less|more|head|tail|sed|awk|jq|curl|gh|glab|find|vim?|nano|code|touch|mkdir|cp|mv|psql|mysql|sqlite3)\b`, line)
}

destructive_words := `\b(db|database|schema|migrate|migration|migrations)[ :](.*\s)?(drop|reset|wipe|flush|fresh|purge|truncate|clean|refresh|undo:all|nuke|erase)\b|--(force-reset|accept-data-loss)\b`

destructive := concat("|", [
	`^rm\s(.*\s)?(-[a-z]*[rf][a-z]*|--recursive|--force|--no-preserve-root)\s(.*\s)?(--no-preserve-root|~\S*|\$\S*|\.\.?/?|\*|\./\*|/\*?|/[^/\s]*/?\*?|[a-z]:[/\\]*\S{0,3})(\s|$)`,
	`^find\s+(/|~|\.\.|\$)\S*\s(.*\s)?(-delete\b|-exec(dir)?\s+(rm|shred|unlink)\b)`, `^xargs\s.*\brm\b.*\s-[a-z]*r`,
	`^(rd|rmdir|del|erase)\s(.*\s)?/[sq]\b`, `^remove-item\s.*-recurse`, `^ri\s.*-r`, `^clear-(disk|content)\b`, `^format-volume\b`,
	`^(chmod|chown|chgrp)\s(.*\s)?-[a-z]*r[a-z]*\s.*\s(/|~)\s*$`, `^kill\s+-9\s+-1\b`, `^history\s+-c\b`, `^truncate\s`,
	`^(gh|glab)\s+(repo|release|secret|codespace|project|run|cache)\s+delete\b`, `^gh\s+api\s(.*\s)?(-x\s*|--method[ =])delete\b`,
	# infrastructure
	`^(kubectl|oc)\s(.*\s)?(delete|drain|replace\s(.*\s)?--force)\s(.*\s)?(--all|-a|--all-namespaces|ns|namespaces?|nodes?|pvc?|persistentvolume\S*|crds?|customresourcedefinitions?\S*|clusterrole\S*|all)(/\S+)?(\s|$)`,
	`^helm(\s+--?\S+)*\s+(uninstall|delete|del|un)\b`, `^(terraform|tofu|terragrunt|pulumi|cdk|sst|serverless|sls)(\s+-\S+)*\s+(destroy|remove|down)\b`,
	`^(terraform|tofu|terragrunt)\s(.*\s)?(apply\s.*-destroy|state\s+rm|workspace\s+delete|force-unlock)\b`, `^(terraform|tofu|terragrunt|pulumi)\s(.*\s)?(apply|up)\s(.*\s)?(-auto-approve|--auto-approve|--yes|-y|--skip-preview)(\s|$)`,
	`^aws\s+(--\S+\s+([^-\s]\S*\s+)?)*[a-z0-9-]+\s+(rb|delete\S*|terminate\S*|remove\S*|purge\S*|deregister\S*|destroy\S*|disable\S*|schedule-key-deletion|detach\S*|revoke\S*)(\s|$)`, `^aws\s+s3\s+(rm|mv|sync)\s(.*\s)?(--recursive|--delete)(\s|$)`,
	`^(gcloud|az|doctl|ibmcloud|oci|linode-cli|hcloud|scw|aliyun|yc|bq|gsutil)(\s+[\w-]+)*\s+(delete|destroy|purge|remove|terminate|rb|deprovision|rm\s.*-r)\b`,
	`^(heroku|fly|flyctl|railway|render|vercel|netlify|firebase|supabase|wrangler|eb|cf|neonctl|planetscale|pscale|turso)(\s+[\w:-]+)*[\s:](destroy|delete|rm|remove|reset|drop|down|purge)\b`,
	`^docker\s+(system|volume|image|container|network|builder)\s+prune\b`, `^docker\s+volume\s+(rm|remove)\b`, `^docker(\s+|-)compose\s(.*\s)?down\s(.*\s)?(-v|--volumes|--rmi)\b`,
	`^vagrant\s+destroy\b`, `^npm\s+(unpublish|deprecate|owner|access)\b`, `^cargo\s+yank\b`,
	# databases
	`^dropdb\b`, `^dropuser\b`, `^mysqladmin\s(.*\s)?drop\b`, `^(python[0-9.]*\s+)?\S*manage\.py\s+(flush|reset_db|sqlflush)\b`,
	`^redis(-cli)?\s(.*\s)?(flushall|flushdb|config\s+set|shutdown|debug|eval)\b`, `^(mongo|mongosh)\s.*(dropdatabase|\.drop\(|deletemany\(\s*\{\s*\}|\.remove\(\s*\{\s*\})`,
	`^(alembic|flask\s+db)\s+downgrade\s+(base|-)`, `^(flyway|liquibase)\s(.*\s)?(clean|drop-?all)\b`, `^(etcdctl)\s(.*\s)?del\b`, `^(consul|vault)\s(.*\s)?(delete|destroy)\b`,
	`^kafka-topics\S*\s(.*\s)?--delete\b`, `^curl\s(.*\s)?(-x\s*|--request[ =])delete\b`,
])

# Of git, whose subcommand comes first.
git_destroys := concat("", [
	`^git(\s+(-c\s+\S+|--?\S+))*\s+(`, concat("|", [
		`push\s(.*\s)?(-f|--force|--mirror|--delete|-d|--prune|\+\S+|:\S+)(\s|$)`, `reset\s(.*\s)?--hard\b`, `clean\s(.*\s)?-[a-z]*f`,
		`(checkout\s(.*\s)?|restore\s+((-s|--source)[ =]\S+\s+|(-w|--worktree|--)\s+)*)(\.|:/|\*)(\s|$)`, `checkout\s(.*\s)?(-f|--force)(\s|$)`, `stash\s+(drop|clear)`,
		`(filter-branch|filter-repo)\b`, `reflog\s+(expire|delete)`, `gc\s.*--prune=(now|all)`, `update-ref\s+-d`,
		`branch\s(.*\s)?(-d|--delete)\s(.*\s)?(main|master|production|develop|release\S*)(\s|$)`,
		`config\s(.*\s)?(core\.(sshcommand|hookspath|fsmonitor|editor|pager)|alias\.|credential\.)`,
	]),
	`)`,
])

sends_file := concat("|", [
	`^curl\s(.*\s)?(-t|--upload-file)[ =]?\S`, `^curl\s(.*\s)?(-d|--data|--data-binary|--data-raw|--data-urlencode|--json|-f|--form)[ =]?(\S*=)?[@<]`,
	`^wget\s(.*\s)?--(post|body)-(file|data)`, `^(scp|rsync|sftp)\s.*\s\S+@\S+:`, `^(scp|rsync)\s.*\s[\w.-]+\.[\w.-]+:`, `^(ftp|tftp|lftp|croc|magic-wormhole|wormhole|ngrok|cloudflared|rclone|mail|mailx|sendmail|mutt)\b`,
	`^(nslookup|dig|host)\s.*\$`, `^invoke-(webrequest|restmethod)\s.*-infile`, `^gh\s+gist\s+create\b`,
])

loading_variables := concat("", [
	`^(LD_(PRELOAD|LIBRARY_PATH|AUDIT)|DYLD_\w+|BASH_ENV|PROMPT_COMMAND|GIT_(SSH|SSH_COMMAND|EXTERNAL_DIFF|PAGER|EDITOR|SEQUENCE_EDITOR|ASKPASS|PROXY_COMMAND|CONFIG\w*|TEMPLATE_DIR|EXEC_PATH)|`,
	`PAGER|MANPAGER|LESSOPEN|LESSCLOSE|EDITOR|VISUAL|IFS|SHELLOPTS|BASHOPTS|PS4|PERL5(OPT|LIB|DB)|RUBY(OPT|LIB)|PYTHON(STARTUP|HOME|INSPECT|WARNINGS|BREAKPOINT)|`,
	`(JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS|GCONV_PATH|OPENSSL_CONF|KUBECONFIG|AWS_ENDPOINT_URL\w*|DOCKER_HOST|SSH_ASKPASS|SUDO_ASKPASS|npm_config_\w+)=`,
	`|^NODE_OPTIONS=.*(--require|-r\b|--import|--loader|--experimental-loader|--inspect)`,
])

harmless_variables := `^(GIT_)?(PAGER|MANPAGER|EDITOR|VISUAL|SEQUENCE_EDITOR)=(cat|less|more|true|:|none|vi|vim|nano)?$`

# named_paths are the words of a segment that may be paths, less what an option or an
# "@" puts before them. The program itself may be anywhere.
named_paths(s) := {path(object.union(s.entry, {"value": v})) |
	some i, w in s.words
	i > 0
	regex.match(`[/\\~.]|credentials|id_`, w)
	v := regex.replace(w, `^(-{1,2}[\w-]*=?|@|\w+=@?)?(fileb?:(//(localhost)?)?)?`, "")
	regex.match(`[/\\~.]|credentials|^id_`, v)
	not regex.match(`^[a-z][a-z0-9+.-]*://|\s`, v)
}
