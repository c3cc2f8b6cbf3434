# Kubernetes.
#
# Stops: reading or changing secrets, on every tool and in every spelling of the kind;
# speaking to another API server or as somebody else; deleting namespaces, nodes,
# volumes, definitions, or everything; privileged pods, host namespaces and host paths
# in manifests, overrides and command lines; the cluster-admin role; manifests from the
# network.
#
# Doesn't stop: a secret read through a pod that has it mounted, or by exec; what an
# allowed verb does in an allowed namespace.
#
# Incidents: https://github.com/awslabs/mcp/issues/2942 and /2588 (secrets listed and
# decoded), https://github.com/kubestellar/console/issues/9481, GHSA-6mx4-4h42-r8vh
# (--server and credentials redirected), https://github.com/containers/kubernetes-mcp-server/issues/407
# (the shell used where the tool was switched off).
package starter.kubernetes

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
relevant if cluster_tool

relevant if regex.match(` kind | apiversion `, lib.name_text)

relevant if regex.match(` kind|resource|object|impersonate`, lib.name_text)

relevant if count(lib.present & {"command", "argv", "code"}) > 0

cluster_tool if count(lib.tool_words & {"kubectl", "kube", "k8s", "kubernetes", "pod", "pods", "helm", "openshift", "oc", "eks", "gke", "aks", "deployment", "configmap", "namespace", "manifest", "manifests"}) > 0

cluster_tool if count(lib.tool_words & {"apply", "yaml"}) == 2

cluster_tool if count(lib.tool_words & {"port", "forward"}) == 2

# Arguments that are a manifest.
cluster_tool if regex.match(` apiversion `, lib.name_text)

cluster_tool if {
	contains(lib.name_text, " kind ")
	contains(lib.name_text, " spec ")
}

findings contains lib.about("kubernetes.secrets", array.concat(at, [name]), "secrets are not an agent's to read or change") if {
	some name in kind_names
	some [at, o] in lib.objects
	some value in [x | some x in as_list(o[name]); is_string(x)]
	is_secret(value)
}

is_secret(value) if regex.match(secret_kind, lower(value))

kind_names := {name | regex.match(` kind|resource|object|type| name`, lib.name_text); some name, _ in lib.kinds; says_kind(name)}

says_kind(name) if regex.match(kind_name, name)

# "type" says the kind of a resource in tools for clusters only.
kind_name := `(?i)^(kinds?|resources?|resource_?types?|resource_?kinds?|object_?kinds?|object_?types?|types?|name)$` if cluster_tool

kind_name := `(?i)^(kind|resource_?type|resource_?kind|object_?kind)$` if not cluster_tool

as_list(x) := x if is_array(x)

as_list(x) := [x] if is_string(x)

secret_kind := `^(secrets?|(.*,\s*)(secrets?)(,.*)?|secrets?\s*,.*|(v1/|core/v1/)?secrets?(\.v1.*|\.core.*)?|secrets?/.*|sealedsecrets?|externalsecrets?)$`

findings contains lib.finding("kubernetes.secrets", s.entry, "secrets are not an agent's to read or change") if {
	count(lib.running & {"kubectl", "oc"}) > 0
	some s in lib.segments
	count(s.ran & {"kubectl", "oc"}) > 0
	some i, w in s.words
	not names_something(i, s.words)
	reads_secret(w)
}

# A namespace, label or container may be called so.
names_something(i, words) if words[i - 1] in {"-n", "--namespace", "-l", "--selector", "-c", "--container", "--context"}

reads_secret(w) if {
	not regex.match(`^(v1/|secrets?/?$)`, w) == null # every word is looked at
	regex.match(`^([a-z.,/0-9]*,)?secrets?(\.v1[a-z.]*)?([,/].*)?$|/secrets(/|$|\?)|/var/run/secrets|serviceaccount/token|^token$`, lower(w))
}

findings contains lib.about("kubernetes.target", array.concat(at, [name]), "which cluster is spoken to, and as whom, is the server's to configure") if {
	cluster_tool
	some [at, o] in lib.objects
	some name, value in o
	lib.option_word(name) in {
		"server", "apiserver", "master", "kubeconfig", "kubeconfigpath", "token", "bearertoken", "as", "asuser", "asgroup", "asgroups", "asuid",
		"impersonate", "impersonateuser", "impersonategroup", "impersonategroups", "impersonateas", "clientcertificate", "clientkey", "certificateauthority",
		"insecureskiptlsverify", "skiptlsverify", "insecure", "tlsservername", "proxyurl",
	}
	not value in {null, false, ""}
	not value in [[], {}]
}

findings contains lib.about("kubernetes.target", at, "which cluster is spoken to, and as whom, is the server's to configure") if {
	contains(lib.name_text, " impersonate-")
	some [at, o] in lib.objects
	some name, _ in o
	startswith(lower(name), "impersonate-")
}

findings contains lib.about("kubernetes.delete", array.concat(at, [name]), "this deletes a namespace, node, volume or definition, with everything that is in it") if {
	cluster_tool
	deletes
	some name in kind_names
	some [at, o] in lib.objects
	some value in [x | some x in as_list(o[name]); is_string(x)]
	name != "name"
	regex.match(`^(ns|namespaces?|no|nodes?|pv|pvc|persistentvolumes?|persistentvolumeclaims?|crds?|customresourcedefinitions?(\..*)?|clusterroles?|clusterrolebindings?|storageclass(es)?|apiservices?|all)$`, lower(value))
}

findings contains lib.about("kubernetes.delete", array.concat(at, [name]), "this deletes in every namespace, or everything of a kind") if {
	cluster_tool
	deletes
	some [at, o] in lib.objects
	some name, value in o
	lib.option_word(name) in {"all", "allnamespaces", "deleteall", "a"}
	value in {true, "true"}
}

findings contains lib.about("kubernetes.delete", [], "this deletes a namespace with everything that is in it") if {
	count(lib.tool_words & {"delete", "remove"}) > 0
	count(lib.tool_words & {"namespace", "namespaces"}) > 0
}

deletes if count(lib.does & {"delete", "remove", "destroy", "cleanup", "clean", "prune", "purge", "evict", "drain"}) > 0

deletes if {
	some [_, o] in lib.objects
	some name in {"operation", "action", "verb", "command", "subcommand", "method"}
	value := o[name]
	is_string(value)
	regex.match(`(?i)^(delete|remove|destroy)`, value)
}

# Manifests, overrides and specifications are looked at as text: YAML and JSON in
# strings say the same as an object.
texts contains [[], json.marshal(input.arguments)] if cluster_tool

texts contains [array.concat(s.entry.at, [s.entry.key]), concat(" ", s.raw)] if {
	count(lib.running & {"kubectl", "oc", "helm"}) > 0
	some s in lib.segments
	count(s.ran & {"kubectl", "oc", "helm"}) > 0
}

findings contains lib.about("kubernetes.privileged", at, "this gives a pod the rights of its node, or somebody those of the cluster") if {
	some [at, text] in texts
	regex.match(
		concat("|", [
			`(?i)\b(privileged|hostNetwork|hostPID|hostIPC|allowPrivilegeEscalation)["'\\]*\s*[:=]\s*["'\\]*true\b`,
			`(?i)\bhostPath["'\\]*\s*[:=]`, `\b(CAP_)?(SYS_ADMIN|SYS_PTRACE|SYS_MODULE|NET_ADMIN|DAC_READ_SEARCH)\b`, `\bcluster-admin\b`, `\bsystem:masters\b`,
			`(?i)procMount["'\\]*\s*:\s*["'\\]*unmasked`,
		]),
		text,
	)
}

findings contains lib.about("kubernetes.remote", at, "the manifest comes from the network: look at it first and apply the file") if {
	some [at, text] in texts
	regex.match(`(?i)\b(apply|create|replace|patch)\b.*\s(-f|-k|--filename|--kustomize)[= ]?["'\\]*https?:`, text)
}

findings contains lib.about("kubernetes.remote", array.concat(at, [name]), "the manifest comes from the network: look at it first and apply the file") if {
	cluster_tool
	count(lib.does & {"apply", "create", "replace", "patch", "install", "upgrade"}) > 0
	some [at, o] in lib.objects
	some name, value in o
	is_string(value)
	from_network(name, value)
}

from_network(name, value) if {
	lib.option_word(name) in {"filename", "filenames", "file", "files", "filepath", "url", "manifest", "manifests", "manifesturl", "kustomize", "kustomization", "source"}
	regex.match(`(?i)^\s*https?:`, value)
}

from_network(name, value) if {
	lib.option_word(name) in {"chart", "charturl", "chartpath"}
	regex.match(`(?i)^\s*(http:|https:.*\.(tgz|tar\.gz)$)`, value)
}

findings contains lib.about("kubernetes.exposed", array.concat(at, [name]), "the port is opened to the whole network: forward it to localhost") if {
	cluster_tool
	some [at, o] in lib.objects
	some name, value in o
	lib.option_word(name) in {"address", "bindaddress", "listenaddress", "bind"}
	value in {"0.0.0.0", "::", "*", "[::]"}
}
