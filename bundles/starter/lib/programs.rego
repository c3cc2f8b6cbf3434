# What programs can be made to do by their options. Each table names a program's own
# options; nothing in them is about a single incident.
package starter.lib

import rego.v2

# Options that load code, run another program, or send what the program knows to
# another place than the one it is configured for.
unsafe_options := {
	"kubectl": kubernetes_options,
	"oc": kubernetes_options,
	"helm": ((kubernetes_options - {"-s"}) | {"--kube-apiserver", "--kube-token", "--kube-as-user", "--kube-as-group", "--kube-ca-file", "--kube-insecure-skip-tls-verify", "--post-renderer"}),
	"git": {"--upload-pack", "--receive-pack", "--exec", "--exec-path", "--output", "--open-files-in-pager", "-O", "--ext-diff", "--config-env", "--template", "--extcmd"},
	"aws": {"--endpoint-url", "--no-verify-ssl", "--ca-bundle"},
	"gcloud": {"--impersonate-service-account", "--access-token-file", "--flags-file"},
	"docker": container_options,
	"podman": container_options,
	"tar": {"--checkpoint-action", "--to-command", "--use-compress-program", "-I", "--info-script", "--new-volume-script", "--rsh-command", "-F"},
	"sort": {"--compress-program"},
	"rg": {"--pre", "--hostname-bin"},
	"man": {"-P", "--pager", "-H", "--html"},
	"ssh": {"-F", "-E"},
	"scp": {"-S"},
	"rsync": {"--rsync-path"},
	"curl": {"-K", "--config", "--unix-socket", "--abstract-unix-socket"},
	"wget": {"-e", "--execute", "--use-askpass", "--config", "--post-file", "--body-file"},
	"zip": {"-T", "-TT", "--unzip-command"},
	"find": {"-fprintf", "-fprint", "-fls", "-ok", "-okdir"},
	"tcpdump": {"-z"},
	"tshark": {"-X"},
	"nmap": {"--script", "-iL"},
	"npm": {"--script-shell", "--node-options", "--git"},
	"npx": {"-c", "--call"},
	"pip": {"--index-url", "-i", "--extra-index-url", "--trusted-host"},
	"uv": {"--index-url", "--extra-index-url", "--allow-insecure-host"},
	"make": {"--eval"},
	"go": {"-toolexec", "-exec", "-overlay"},
	"cargo": {"--config"},
	"env": {"-S", "--split-string"},
	"ffmpeg": {"-filter_complex_script", "-attach"},
	"less": {"-k", "--lesskey-file"},
	"sqlite3": {"-cmd", "-init"},
	"xargs": {"--process-slot-var"},
	"terraform": {"-plugin-dir"},
	"chrome": browser_options,
}

# Whom kubectl speaks to and as whom.
kubernetes_options := {
	"--server", "-s", "--kubeconfig", "--token", "--as", "--as-group", "--as-uid", "--as-user-extra", "--user", "--cluster", "--username",
	"--password", "--client-certificate", "--client-key", "--certificate-authority", "--insecure-skip-tls-verify",
	"--tls-server-name", "--proxy-url", "--cache-dir", "--profile-output", "--raw",
}

container_options := {
	"--privileged", "--pid", "--ipc", "--uts", "--userns", "--cap-add", "--security-opt", "--device", "--cgroupns",
	"--device-cgroup-rule", "--group-add", "-H", "--host", "--config",
}

browser_options := {
	"--no-sandbox", "--disable-setuid-sandbox", "--single-process", "--disable-web-security", "--renderer-cmd-prefix",
	"--utility-cmd-prefix", "--gpu-launcher", "--ppapi-plugin-launcher", "--load-extension", "--remote-debugging-address",
	"--disable-site-isolation-trials", "--allow-file-access-from-files", "--ignore-certificate-errors", "--host-rules",
	"--host-resolver-rules", "--proxy-server", "--user-data-dir",
}

# How interpreters take their program from the command line.
inline_code := {
	"python": `^-[bBdEhiIOPqsSuvVxc]*c`, "node": `^(-e|-p|-pe|--eval|--print|-r|--require|--import)`, "bun": `^(-e|-p|--eval|--print)`,
	"deno": `^eval$`, "ruby": `^-[acglnpswW0-9]*e`, "perl": `^-[acFgilnpsStTuUwWX0-9]*[eE]`, "php": `^-[rRBE]`, "lua": `^-e`,
	"sh": shell_inline, "bash": shell_inline, "zsh": shell_inline, "dash": shell_inline, "ksh": shell_inline, "fish": shell_inline,
	"csh": shell_inline, "tcsh": shell_inline, "ash": shell_inline,
	"pwsh": powershell_inline, "powershell": powershell_inline, "cmd": `^/[ckr]`, "osascript": `^-e`, "wscript": `^`, "cscript": `^`, "mshta": `^`,
	"rundll32": `^`, "regsvr32": `^`, "awk": `system\s*\(|\|\s*getline|\|\s*"|^-f`, "gawk": `system\s*\(|\|\s*getline|\|\s*"|^-f`, "sed": `^[0-9,$]*e(\s|$)|/[gpIi0-9]*e[gpIi0-9]*$|(^|;)\s*[0-9,$]*[wWrR]\s*/`,
	"vim": `^(-c|--cmd|\+.*!|-es?$)`, "vi": `^(-c|\+.*!)`, "ex": `^-c`, "emacs": `^--(eval|execute)`, "rscript": `^-e`, "r": `^-e`, "julia": `^(-e|-E|--eval)`,
	"eval": `^`, "source": `^<`, "expect": `^-c`, "tclsh": `^-$`, "irb": `^-e`, "groovy": `^-e`, "scala": `^-e`, "jshell": `^`, "ghc": `^-e`,
	"sqlite": `^\.(shell|system|load|import|output|once)|\s\.(shell|system)`, "psql": `\\!|\\o\s*\|`, "ssh": `(?i)(proxy|local)command`, "scp": `(?i)(proxy|local)command`, "rsync": `^(-e|--rsh=)\s*["']?(sh|bash|/)`,
	"git": `(?i)^ext::|^(-c)?(core\.(sshcommand|fsmonitor|hookspath|pager|editor|gitproxy|askpass)|alias\..*|credential\.(.*\.)?helper|protocol\.ext\.allow|include\.path|(filter|diff|merge|difftool|mergetool)\..*|gpg\.(.*\.)?program|sequence\.editor|uploadpack\..*hook)=`,
}

shell_inline := `^-[a-z]*c[a-z]*$|^--(command|init-file|rcfile)`

powershell_inline := `(?i)^[-/](c|co|com|comm|comma|comman|command|e|ec|en|enc|enco|encod|encode|encoded|encodedcommand)$`

# Interpreters that read a program from a pipe or a here-document.
reads_program := {
	"sh", "bash", "zsh", "dash", "ksh", "fish", "csh", "tcsh", "ash", "python", "python2", "python3", "node", "bun",
	"ruby", "perl", "php", "pwsh", "powershell", "iex", "invoke-expression", "osascript", "source", "eval",
}

# Programs that no agent should start, whatever their arguments.
denied_programs := {
	"sudo", "su", "doas", "pkexec", "runas", "dd", "fdisk", "sfdisk", "parted", "wipefs", "shred", "blkdiscard", "diskpart", "diskutil",
	"shutdown", "reboot", "halt", "poweroff", "init", "telinit", "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "pfctl",
	"nc", "ncat", "netcat", "socat", "telnet", "useradd", "usermod", "userdel", "groupadd", "passwd", "chpasswd", "visudo", "adduser",
	"crontab", "at", "batch", "insmod", "modprobe", "rmmod", "mount", "umount", "chroot", "nsenter", "unshare", "setcap", "capsh",
	"launchctl", "schtasks", "reg", "regedit", "bcdedit", "vssadmin", "wbadmin", "cipher", "certutil", "bitsadmin", "takeown", "icacls",
	"iex", "invoke-expression", "security", "secret-tool", "keyctl", "kexec", "sysctl", "eval", "ld.so", "msfconsole", "hydra", "sqlmap",
	"format", "sc", "net", "wmic", "debugfs", "mkswap", "swapoff", "update-rc.d", "chkconfig", "auditctl", "setenforce",
}
