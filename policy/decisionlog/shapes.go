package decisionlog

import (
	"regexp"
	"strings"
)

// A shape is what some kind of secret looks like. hints are texts without any of which
// there is none, so that most texts cost no regular expression.
type shape struct {
	hints []string
	re    *regexp.Regexp
	// group is the part that is the secret; 0 is all of it.
	group int
}

// newShape makes a shape; hints are separated by |.
func newShape(hints, expression string, group int) shape {
	return shape{strings.Split(hints, "|"), regexp.MustCompile(expression), group}
}

// possible reports whether there may be one in a text.
func (sh shape) possible(s string) bool {
	for _, h := range sh.hints {
		if strings.Contains(s, h) {
			return true
		}
	}
	return false
}

// shapes are those of well-known issuers, and of texts that carry secrets. None is
// anchored: a secret is as secret in the middle of a text.
var shapes = []shape{
	newShape("-----BEGIN", `(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]*-----|$)`, 0),
	newShape("LS0tLS1CRUdJTi", `LS0tLS1CRUdJTi[A-Za-z0-9+/=\s]+`, 0), // the same in base64
	newShape("PuTTY-User-Key-File", `(?s)PuTTY-User-Key-File.*`, 0),
	newShape("AGE-SECRET-KEY-", `AGE-SECRET-KEY-1[0-9A-Za-z]+`, 0),
	newShape("eyJ", `eyJ[A-Za-z0-9_-]{5,}(?:\.[A-Za-z0-9_-]*){1,4}`, 0),
	newShape("A3T|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA", `(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA|AGPA|AIDA|AROA|AIPA|ANPA|ANVA)[A-Z0-9]{12,}`, 0),
	newShape("ghp_|gho_|ghu_|ghs_|ghr_", `gh[pousr]_[A-Za-z0-9]{16,}`, 0),
	newShape("github_pat_", `github_pat_[A-Za-z0-9_]{16,}`, 0),
	newShape("glpat-|glptt-|gldt-|glrt-|glcbt-|glft-|glsoat-|glagent-|gloas-|glimt-", `gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|oas|imt)-[A-Za-z0-9_-]{16,}`, 0),
	newShape("xox", `xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}`, 0),
	newShape("xapp-", `xapp-[A-Za-z0-9-]{8,}`, 0),
	newShape("hooks.slack.com", `hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_-]+)`, 1),
	newShape("discord.com|discordapp.com", `discord(?:app)?\.com/api/webhooks/([A-Za-z0-9/_-]+)`, 1),
	newShape("webhook.office.com", `webhook\.office\.com/([A-Za-z0-9/@_-]+)`, 1),
	newShape("AIza", `AIza[0-9A-Za-z_-]{30,}`, 0),
	newShape("ya29.", `ya29\.[0-9A-Za-z_-]{16,}`, 0),
	newShape("GOCSPX-", `GOCSPX-[0-9A-Za-z_-]{16,}`, 0),
	newShape("sk_|rk_|pk_|whsec_", `\b(?:sk|rk|pk|whsec)_(?:live_|test_)?[0-9A-Za-z]{16,}`, 0),
	newShape("sk-", `\bsk-[A-Za-z0-9_-]{16,}`, 0),
	newShape("npm_", `npm_[A-Za-z0-9]{30,}`, 0),
	newShape("pypi-", `pypi-[A-Za-z0-9_-]{16,}`, 0),
	newShape("rubygems_", `rubygems_[a-f0-9]{30,}`, 0),
	newShape("SG.", `SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`, 0),
	newShape("key-", `\bkey-[a-f0-9]{32}`, 0),
	newShape("SK", `\bSK[a-f0-9]{32}\b`, 0),
	newShape("dop_v1_|dor_v1_|doo_v1_", `do[opr]_v1_[a-f0-9]{32,}`, 0),
	newShape("hf_", `\bhf_[A-Za-z0-9]{16,}`, 0),
	newShape("hvs.|hvb.|hvr.", `\bhv[sbr]\.[A-Za-z0-9_-]{16,}`, 0),
	newShape("atlasv1.", `[A-Za-z0-9]{10,}\.atlasv1\.[A-Za-z0-9_-]{16,}`, 0),
	newShape("dapi", `\bdapi[a-f0-9]{32}`, 0),
	newShape("shpat_|shpca_|shppa_|shpss_", `\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{16,}`, 0),
	newShape("sq0", `\bsq0[a-z]{3}-[A-Za-z0-9_-]{16,}`, 0),
	newShape("EAAA", `\bEAAA[A-Za-z0-9_-]{16,}`, 0),
	newShape("lin_api_", `lin_api_[A-Za-z0-9]{16,}`, 0),
	newShape("ntn_", `\bntn_[A-Za-z0-9]{16,}`, 0),
	newShape("secret_", `\bsecret_[A-Za-z0-9]{16,}`, 0),
	newShape("pat", `\bpat[A-Za-z0-9]{14}\.[a-f0-9]{32,}`, 0),
	newShape("figd_", `figd_[A-Za-z0-9_-]{16,}`, 0),
	newShape("glsa_", `glsa_[A-Za-z0-9_]{16,}`, 0),
	newShape("NRAK-", `NRAK-[A-Z0-9]{16,}`, 0),
	newShape("sntrys_|sntryu_", `sntry[su]_[A-Za-z0-9_=+/-]{16,}`, 0),
	newShape("dckr_pat_", `dckr_pat_[A-Za-z0-9_-]{16,}`, 0),
	newShape("ATATT", `ATATT[A-Za-z0-9_=-]{16,}`, 0),
	newShape("ATCTT", `ATCTT[A-Za-z0-9_=-]{16,}`, 0),
	newShape("PMAK-", `PMAK-[a-f0-9-]{16,}`, 0),
	newShape("rnd_", `\brnd_[A-Za-z0-9]{16,}`, 0),
	newShape("tskey-", `tskey-[A-Za-z0-9-]{16,}`, 0),
	newShape("gsk_", `\bgsk_[A-Za-z0-9]{16,}`, 0),
	newShape("xai-", `\bxai-[A-Za-z0-9]{16,}`, 0),
	newShape("r8_", `\br8_[A-Za-z0-9]{16,}`, 0),
	newShape(":AA", `\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}`, 0), // Telegram
	newShape("8Q~", `[A-Za-z0-9_~.-]{3}8Q~[A-Za-z0-9_~.-]{30,}`, 0),
	newShape("://", `://([^\s/?#"'<>@]*(?:@[^\s/?#"'<>@]*)*)@`, 1), // credentials in a URL
	newShape("-u", `(?:^|\s)-u\s*["']?([^\s"':]+:[^\s"']+)`, 1),    // curl -u user:password
	newShape("--user", `--user[\s=]+["']?([^\s"':]+:[^\s"']+)`, 1),
	newShape("mysql|mariadb", `\b(?:mysql|mysqldump|mysqladmin|mariadb)\b[^|;&\n]*?\s-p["']?([^\s"']+)`, 1),
	newShape("sshpass", `sshpass\s+-p\s*["']?([^\s"']+)`, 1),
	newShape("IDENTIFIED", `(?i)IDENTIFIED\s+(?:WITH\s+\S+\s+)?(?:BY|AS)\s+(?:PASSWORD\s+)?["']([^"']*)`, 1),
	newShape("identified", `(?i)identified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?["']([^"']*)`, 1),
}

// schemes find a secret by the word before it, whatever case that is in. Their hints are
// looked for in lower case.
var schemes = []shape{
	newShape("bearer|basic|digest|negotiate|token|apikey", `(?i)\b(?:bearer|basic|digest|negotiate|token|apikey)\s+([A-Za-z0-9._~+/=:-]{8,})`, 1),
	newShape(wordHints, `(?i)`+words+`\s+(?:is|was|are|to|of|ist|=|:)?\s*["'`+"`"+`]([^"'`+"`"+`]+)`, 1),
	newShape(wordHints, `(?i)`+words+`\s+(?:is|was|are|to|ist)\s*:?\s*([^\s"'`+"`"+`]+)`, 1),
	newShape("password", `(?i)\bpassword\s+["']?([^\s"'.,;:]*[0-9!@#$%^&*][^\s"',;]*)`, 1),
}

const (
	wordHints = "password|passwd|passphrase|passcode|pwd|kennwort|passwort|pin|secret|token|api|credential"
	words     = `\b(?:password|passwd|passphrase|passcode|pwd|kennwort|passwort|pin|secret|token|api[ _-]?key|credentials?)`
)

// WithoutSecrets returns a text in which what looks like a secret by its shape, or by the
// words around it, is replaced: for logs beside this one.
func WithoutSecrets(text string) string {
	var m mask
	return m.text(text)
}
