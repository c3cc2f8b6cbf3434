package tests.starter.containers

import data.starter.containers
import data.tests.starter as helper
import rego.v2

# Call by call, the rules of this kind that refuse it. In parts, because each test has
# five seconds.
found(c) := {f.rule | some f in denied} if {
	denied := containers.deny with input as helper.call(c.tool, c.arguments) with data.settings as helper.strict
}

test_containers_1[name] if {
	some name, c in cases_1
	found(c) == c.rules
}

cases_1 := {
	"run_container: the host's root": {"tool": "run_container", "arguments": {"image": "alpine", "volumes": ["/:/host"]}, "rules": {"containers.mount"}},
	"run_container: socket, list form": {"tool": "run_container", "arguments": {"image": "alpine", "volumes": ["/var/run/docker.sock:/s"]}, "rules": {"containers.mount", "containers.privileged"}},
	"create_container: bind mount of /etc": {"tool": "create_container", "arguments": {"image": "alpine", "mounts": [{"type": "bind", "source": "/etc", "target": "/x"}]}, "rules": {"containers.mount"}},
	"create_container: keys": {"tool": "create_container", "arguments": {"image": "alpine", "host_config": {"binds": ["/home/user/.ssh:/k:ro"]}}, "rules": {"containers.mount"}},
	"docker_run: privileged": {"tool": "docker_run", "arguments": {"image": "alpine", "privileged": true}, "rules": {"containers.privileged"}},
	"docker_run: host network": {"tool": "docker_run", "arguments": {"image": "alpine", "network_mode": "host"}, "rules": {"containers.privileged"}},
	"docker_run: capability": {"tool": "docker_run", "arguments": {"image": "a", "cap_add": ["SYS_ADMIN"]}, "rules": {"containers.privileged"}},
	"docker_run: profile off": {"tool": "docker_run", "arguments": {"image": "a", "security_opt": ["seccomp=unconfined"]}, "rules": {"containers.privileged"}},
	"docker_run: device": {"tool": "docker_run", "arguments": {"image": "a", "devices": ["/dev/kmsg"]}, "rules": {"containers.privileged"}},
	"docker_run: outside the roots": {"tool": "docker_run", "arguments": {"image": "a", "volumes": ["/projects/x:/x"]}, "rules": {"containers.mount"}},
	"docker_run: agent settings": {"tool": "docker_run", "arguments": {"image": "a", "volumes": ["/srv/data/.claude:/x"]}, "rules": {"containers.mount"}},
	"docker_run: dot segments": {"tool": "docker_run", "arguments": {"image": "a", "volumes": ["./../x:/x"]}, "rules": {"containers.mount"}},
	"bash: mount option": {"tool": "bash", "arguments": {"command": "docker run --mount type=bind,source=/etc,target=/x a"}, "rules": {"containers.mount"}},
	"bash: joined option": {"tool": "bash", "arguments": {"command": "docker run -v/etc:/x a"}, "rules": {"containers.mount"}},
	"compose_up: compose file": {"tool": "compose_up", "arguments": {"file_content": "services: {a: {privileged: true}}"}, "rules": {"containers.privileged"}},
}
