# Containers.
#
# Stops: directories of the host mounted into a container that are the system's, hold
# keys or credentials, or are outside the configured roots; the sockets of container
# runtimes; privileged containers, host namespaces, devices, added capabilities and
# switched off profiles; in calls and in command lines.
#
# Doesn't stop: what an image does; a named volume that is such a directory.
#
# Incidents: https://github.com/ckreiling/mcp-server-docker/pull/49 (the runtime's
# socket mounted).
package starter.containers

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
relevant if container_tool

relevant if mounting

relevant if count(lib.present & {"mount", "command", "argv", "code"}) > 0

container_tool if count(lib.tool_words & {"docker", "container", "containers", "podman", "compose", "image", "sandbox", "nerdctl"}) > 0

findings contains lib.about("containers.mount", array.concat(s.at, [s.key]), "the container would get a directory of the host that is the system's, holds keys, or is outside settings.paths.roots") if {
	some s in sources
	forbidden(lib.path(s))
}

forbidden(p) if lib.system(p)

forbidden(p) if lib.secret(p)

forbidden(p) if lib.steers(p)

forbidden(p) if lib.goes_up(p)

forbidden(p) if {
	not regex.match(`^\$\{?(pwd|cwd|workspace)\}?(/|$)`, p.lower)
	regex.match(`^(/|~/?.*|\$\{?\w+\}?.*|/(home|root|usr|var|opt|lib|lib64|bin|sbin|users|host|mnt|media|srv|tmp|private|volumes|library|applications)/?|/(home|users)/[^/]+/?|[a-z]:/?(users(/[^/]+)?/?)?)$`, p.lower)
	not lib.within(p)
}

forbidden(p) if {
	count(lib.roots) > 0
	lib.absolute(p)
	not lib.within(p)
}

# What is mounted: the keys of an object, the strings "source:target" of a list, the
# source in an object, and the options of a command.
sources contains {"kind": "path", "name": key, "value": key, "at": at, "key": key} if {
	mounting
	some [at, o] in lib.objects
	count(at) > 0
	mounts(at[count(at) - 1])
	some key, _ in o
	regex.match(`^([/~\\.$]|[A-Za-z]:)`, key)
}

sources contains object.union(e, {"kind": "path", "value": source(e.value)}) if {
	"mount" in lib.present
	some e in lib.entries
	mounts(e.name)
}

sources contains {"kind": "path", "name": name, "value": value, "at": at, "key": name} if {
	mounting
	some [at, o] in lib.objects
	some member in at
	mounts(member)
	some name in {"source", "src", "Source", "host", "host_path", "hostPath", "device", "path"}
	value := o[name]
	is_string(value)
}

sources contains {"kind": "path", "name": "", "value": source(regex.replace(w, `^(-v|--volume|--mount)=?|^.*\b(source|src)=|,(target|dst|destination|readonly|ro).*$`, "")), "at": s.entry.at, "key": s.entry.key} if {
	count(lib.running & container_programs) > 0
	some s in lib.segments
	count(s.ran & container_programs) > 0
	some i, w in s.words
	i > 0
	mount_word(w, s.words[i - 1])
}

container_programs := {"docker", "podman", "nerdctl"}

mounting if regex.match(`mount|volume|bind|host_?config`, lib.name_text)

mount_word(w, _) if regex.match(`^(-v|--volume|--mount)=?.`, w)

mount_word(_, before) if before in {"-v", "--volume", "--mount"}

mounts(name) if {
	is_string(name)
	regex.match(`(?i)^(host_?)?(volumes?|mounts?|binds?|bind_?mounts?|volume_?mounts?|host_?config)$`, name)
}

# source is what is before the colon that isn't a drive's.
source(s) := regex.replace(s, `^((?:[A-Za-z]:[\\/])?[^:]*):.*$`, "$1")

# Compose files come as text.
findings contains lib.about("containers.privileged", [], "this gives a container the rights of its host") if {
	container_tool
	not lib.tool_reads
	regex.match(`(?i)\bprivileged["'\\]*\s*:\s*["'\\]*true\b|\b(network_mode|pid|ipc|userns_mode)["'\\]*\s*:\s*["'\\]*host\b|/(docker|containerd|crio|podman)\.sock\b`, lib.document)
}

findings contains lib.about("containers.privileged", array.concat(at, [name]), "this gives the container the rights of its host") if {
	container_tool
	some [at, o] in lib.objects
	some name, value in o
	frees(lib.option_word(name), value)
}

frees("privileged", value) if value in {true, "true"}

frees(name, value) if {
	name in {"network", "networkmode", "pid", "pidmode", "ipc", "ipcmode", "userns", "usernsmode", "uts", "utsmode", "cgroupns", "cgroupnsmode", "net"}
	is_string(value)
	regex.match(`(?i)^(host|container:.*)$`, value)
}

frees(name, value) if {
	name in {"capadd", "capabilities", "capabilitiesadd"}
	regex.match(`(?i)(ALL|SYS_ADMIN|SYS_PTRACE|SYS_MODULE|SYS_RAWIO|NET_ADMIN|DAC_READ_SEARCH|DAC_OVERRIDE|BPF|PERFMON)\b`, json.marshal(value))
}

frees(name, value) if {
	name in {"securityopt", "securityopts"}
	regex.match(`(?i)unconfined|disable|no-new-privileges[:=]false`, json.marshal(value))
}

frees(name, value) if {
	name in {"devices", "device", "devicecgrouprules"}
	regex.match(`/dev/|^\["[^"]`, json.marshal(value))
}
