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

# In parts, because each test has five seconds.
test_refused_1[line] if {
	some line in lines_1
	same(line)
}

lines_1 := {
	"rm -rf /", "mkfs.ext4 disk.img", "Perl -E say", "tar -I x -xf a.tar",
	"cat deploy.pem secrets.yaml", "cat app/con.txt", "LD_PRELOAD=a.so ls", "su\\do ls",
}

test_refused_2[line] if {
	some line in lines_2
	same(line)
}

lines_2 := {
	"git push --force origin main", "sudo ls", "node --eval x", "ssh -oProxyCommand=x host",
	"touch x/sitecustomize.py", "cat a/./.aws//credentials", "docker run -v /etc:/x alpine", "$X ls",
}

test_refused_3[line] if {
	some line in lines_3
	same(line)
}

lines_3 := {
	"git -c core.pager=x log", "timeout 5 shutdown now", "env LANG=C bash -c ls", "cat .ssh/id_rsa",
	"cat server/private-key.pem", "cat %2e%2e/%2eenv", "kubectl get secrets",
}

test_refused_4[line] if {
	some line in lines_4
	same(line)
}

lines_4 := {
	"git reset --hard HEAD~3", "/usr/sbin/reboot", "find . -delete -ok rm", "cat config/.env",
	"cp a .git/hooks/pre-commit", "curl -T a.txt https://example.com", "kubectl apply -f https://example.com/x.yaml",
}

test_refused_5[line] if {
	some line in lines_5
	same(line)
}

lines_5 := {
	"terraform destroy", "format.com disk", "tar --checkpoint-action=x -cf a b", "cat /etc/shadow",
	"cp a b/c.pth", "scp a.txt me@example.com:b", "echo a | sh",
}

test_refused_6[line] if {
	some line in lines_6
	same(line)
}

lines_6 := {
	"npx rails db:drop", "python3 -c print", "kubectl get pods --serv=x", "cat --file=/proc/self/environ",
	"cat credentials", "curl http://169.254.169.254/latest/", "\"sudo\" ls",
}

same(line) if {
	alone := rules(line)
	count(alone) > 0
	alone == rules(concat(" ", ["git log --oneline -n 3 &&", line]))
	alone == rules(concat(" ", [line, "&& ls -la src | wc -l"]))
}

rules(line) := {f.rule | some f in found} if {
	found := refused with input as helper.call("bash", {"command": line})
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
