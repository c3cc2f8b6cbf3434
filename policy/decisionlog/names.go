package decisionlog

import (
	"strings"
	"unicode"
)

// secretWords are words that make a name secret-like, wherever they stand in it.
var secretWords = set(
	"password", "passwords", "passwd", "passphrase", "passcode", "pass", "pwd", "pw", "psw",
	"secret", "secrets", "token", "tokens", "credential", "credentials", "cred", "creds",
	"auth", "authorization", "authentication", "bearer", "cookie", "cookies", "jwt", "otp", "totp", "mfa", "pin",
	"apikey", "apikeys", "apisecret", "accesskey", "secretkey", "privatekey", "privkey", "authkey", "accesstoken", "refreshtoken",
	"idtoken", "sessionid", "sessionkey", "clientsecret", "authtoken", "apitoken", "bearertoken", "userpass", "pgpassword", "mysqlpwd",
	"passwort", "kennwort", "contrasena", "mnemonic", "cvv", "cvc", "ssn", "dsn", "connstr", "sas", "xsrf", "csrf", "hmac", "pem", "pfx", "pkcs12", "netrc", "htpasswd",
)

// secretPairs are words that do so next to each other.
var secretPairs = set(
	"api key", "api keys", "access key", "access keys", "secret key", "private key", "signing key", "encryption key", "auth key", "shared key",
	"account key", "master key", "session id", "session key", "ssh key", "host key", "deploy key", "service key", "storage key", "license key",
	"connection string", "connection str", "conn string", "conn str", "connection uri", "connection url", "database url", "db url", "webhook url",
	"recovery code", "recovery codes", "backup code", "backup codes", "verification code", "security code", "one time", "card number", "seed phrase", "client key", "pgp key", "gpg key", "aes key", "rsa key", "kms key",
)

// countWords say that a name is about a number of tokens.
var countWords = set("max", "min", "num", "number", "count", "limit", "total", "budget", "used", "usage", "prompt", "completion", "input", "output")

func set(words ...string) map[string]bool {
	m := make(map[string]bool, len(words))
	for _, w := range words {
		m[w] = true
	}
	return m
}

// longestName is how much of a name is looked at.
const longestName = 256

// secretName reports whether what a name holds is likely a secret.
func secretName(name string) bool {
	if len(name) > longestName {
		name = name[len(name)-longestName:]
	}
	words := splitName(name)
	for i, w := range words {
		if secretWords[w] || secretStem(w) || i > 0 && secretPairs[words[i-1]+" "+w] {
			return true
		}
	}
	return false
}

// secretStem finds the words that others are glued to: MYDBPASSWORD, password2.
func secretStem(w string) bool {
	for _, stem := range []string{"password", "passwd", "passphrase", "secret", "apikey", "token", "credential"} {
		if strings.Contains(w, stem) {
			return true
		}
	}
	return false
}

// countsTokens reports whether a name that holds a number is about how many tokens.
func countsTokens(name string) bool {
	words := splitName(name)
	tokens := false
	for _, w := range words {
		if w != "tokens" && w != "token" && secretWords[w] {
			return false
		}
		tokens = tokens || w == "tokens" || w == "token"
	}
	for _, w := range words {
		if tokens && (countWords[w] || w == "tokens") {
			return true
		}
	}
	return false
}

// splitName splits apiKey, api_key, API-KEY and x.api.key into lower-case words.
func splitName(name string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, string(word))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case i > 0 && unicode.IsUpper(r) && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]) ||
			unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			flush()
		case i > 0 && unicode.IsDigit(r) && unicode.IsLetter(runes[i-1]):
			flush()
		}
		word = append(word, unicode.ToLower(r))
	}
	flush()
	return words
}
