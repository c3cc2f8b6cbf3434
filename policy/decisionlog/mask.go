package decisionlog

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/regogate/regogate/policy/strictjson"
)

const (
	// masked stands where something was left out.
	masked = "[masked]"
	// maxSecrets is how many different secrets of one record are looked for elsewhere.
	maxSecrets = 256
	// maxNested is how many JSON texts within each other are looked into.
	maxNested = 4
)

// A mask leaves secrets out of one record and remembers them, so that repetitions are
// found as well.
type mask struct {
	secrets  []string
	forms    []string // of those that are long enough to be looked for within others
	seen     map[string]bool
	overflow bool     // there are more secrets than are looked for
	paths    []string // JSON Pointers to what was changed
	nested   int
	asIs     bool // look for nothing by names and shapes
}

// value returns v without secrets. v may be changed.
func (m *mask) value(at string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		return m.object(at, v)
	case []any:
		for i, e := range v {
			here := at + "/" + strconv.Itoa(i)
			if i > 0 && isSecretFlag(v[i-1]) {
				if _, flag := e.(string); flag {
					v[i] = m.all(here, e)
					continue
				}
			}
			v[i] = m.value(here, e)
		}
		return v
	case string:
		s := m.text(v)
		if s != v {
			m.paths = append(m.paths, at)
		}
		return s
	default:
		return v
	}
}

// isSecretFlag reports whether the next argument of a command line is a secret.
func isSecretFlag(v any) bool {
	s, ok := v.(string)
	return ok && strings.HasPrefix(s, "-") && !strings.ContainsAny(s, " =") && secretName(s)
}

// named are the members that name what is in another member: {"name": "TOKEN", "value": …}.
var (
	named  = []string{"name", "key", "header", "param", "field", "variable", "env", "Name", "Key", "id"}
	values = []string{"value", "val", "content", "default", "data", "Value", "text"}
)

func (m *mask) object(at string, v map[string]any) map[string]any {
	pair := false
	for _, n := range named {
		name, ok := v[n].(string)
		pair = pair || ok && secretName(name)
	}
	names := make([]string, 0, len(v))
	for name := range v {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		e := v[name]
		shown := m.text(name)
		for shown != name && v[shown] != nil {
			shown += "'"
		}
		here := at + "/" + pointerEscaper.Replace(shown)
		if shown != name {
			delete(v, name)
			m.paths = append(m.paths, here)
		}
		if secretName(name) && holdsSecret(name, e) || pair && slices.Contains(values, name) {
			v[shown] = m.all(here, e)
		} else {
			v[shown] = m.value(here, e)
		}
	}
	return v
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")

// holdsSecret reports whether a value under a secret-like name says anything.
func holdsSecret(name string, v any) bool {
	switch v := v.(type) {
	case nil, bool:
		return false
	case string:
		return v != ""
	case json.Number:
		return !countsTokens(name)
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	default:
		return true
	}
}

// all replaces a value as a whole.
func (m *mask) all(at string, v any) any {
	if v == nil || v == "" {
		return v
	}
	m.remember(v)
	m.paths = append(m.paths, at)
	return masked
}

// remember adds the texts and numbers of a value to the secrets.
func (m *mask) remember(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			m.remember(e)
		}
	case []any:
		for _, e := range v {
			m.remember(e)
		}
	case string:
		m.add(v)
	case json.Number:
		m.add(string(v))
	}
}

// trivial are texts that say nothing.
var trivial = set("", "true", "false", "null", "none", "yes", "no", masked)

func (m *mask) add(secret string) {
	s := strings.TrimSpace(secret)
	if trivial[strings.ToLower(s)] || m.seen[s] {
		return
	}
	if len(m.secrets) >= maxSecrets {
		m.overflow = true
		return
	}
	if m.seen == nil {
		m.seen = map[string]bool{}
	}
	m.seen[s] = true
	m.secrets = append(m.secrets, s)
	if len(s) >= shortest {
		m.forms = append(m.forms, forms(s)...)
	}
}

// text returns a text without secrets.
func (m *mask) text(s string) string {
	if m.asIs || len(s) < 4 {
		return s
	}
	if t := strings.TrimLeft(s, " \t\r\n"); m.nested < maxNested && t != "" && (t[0] == '{' || t[0] == '[') {
		s = m.json(s)
	}
	for _, sh := range shapes {
		if sh.possible(s) {
			s = m.replace(s, sh.find(s))
		}
	}
	l := lower(s)
	if !mentions(l) {
		return s
	}
	s = m.replace(s, flags(s))
	s = m.replace(s, assignments(s))
	if strings.Contains(l, "val") || strings.Contains(l, "content") || strings.Contains(l, "default") {
		s = m.replace(s, namedAttributes(s))
	}
	for _, sh := range schemes {
		if sh.possible(l) {
			s = m.replace(s, sh.find(s))
		}
	}
	return s
}

// json looks into a text that is JSON. It is written anew only when something changed.
func (m *mask) json(s string) string {
	v, err := strictjson.Parse([]byte(s), strictjson.Limits{Bytes: len(s) + 1, Depth: 200, NumberLength: 1000})
	if err != nil {
		return s
	}
	before := len(m.paths)
	m.nested++
	v = m.value("", v)
	m.nested--
	changed := len(m.paths) > before
	m.paths = m.paths[:before] // they are no places of the record
	if !changed {
		return s
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return masked
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// mention are what a text has, in lower case, that may name a secret.
var mention = []string{"pass", "pw", "psw", "secret", "token", "cred", "auth", "bearer", "basic", "cookie", "jwt", "otp", "mfa", "pin", "key", "session",
	"conn", "database", "db", "webhook", "code", "wort", "contrasena", "mnemonic", "cvv", "cvc", "ssn", "dsn", "sas", "csrf", "xsrf", "hmac", "pem", "pfx",
	"netrc", "one", "card", "seed", "pkcs", "digest", "negotiate"}

// mentions is a quick look for anything that may name a secret.
func mentions(lowered string) bool {
	for _, w := range mention {
		if strings.Contains(lowered, w) {
			return true
		}
	}
	return false
}

var attributes = regexp.MustCompile(`(?i)(?:name|key|id|header)\\*["']?\s*[=:]\s*\\*["']([^"'\\]+)\\*["'][\s,;]+\\*["']?(?:value|val|content|default)\\*["']?\s*[=:]\s*\\*["']([^"'\\]+)`)

// namedAttributes finds name="TOKEN" value="…".
func namedAttributes(s string) []span {
	var out []span
	for _, at := range attributes.FindAllStringSubmatchIndex(s, -1) {
		if secretName(s[at[2]:at[3]]) {
			out = append(out, span{at[4], at[5]})
		}
	}
	return out
}

func (sh shape) find(s string) []span {
	var out []span
	for _, at := range sh.re.FindAllStringSubmatchIndex(s, -1) {
		if from, to := at[2*sh.group], at[2*sh.group+1]; from >= 0 && from < to {
			out = append(out, span{from, to})
		}
	}
	return out
}

// replace replaces parts of a text, in order and apart from each other, and remembers them.
func (m *mask) replace(s string, parts []span) string {
	if len(parts) == 0 {
		return s
	}
	var b strings.Builder
	end := 0
	for _, p := range parts {
		if p.from < end || s[p.from:p.to] == masked {
			continue
		}
		b.WriteString(s[end:p.from])
		b.WriteString(masked)
		m.addPart(s[p.from:p.to])
		end = p.to
	}
	b.WriteString(s[end:])
	return b.String()
}

// addPart remembers a part of a text, and what it is made of where that is known.
func (m *mask) addPart(s string) {
	m.add(s)
	if unescaped, err := url.QueryUnescape(s); err == nil && unescaped != s {
		m.add(unescaped)
	}
	if _, password, ok := strings.Cut(s, ":"); ok && len(password) > 3 && !strings.ContainsAny(s, " \n") {
		m.add(password)
	}
}
