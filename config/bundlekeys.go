package config

import (
	"strings"
	"time"
)

// A BundleSetup says how bundles are fetched, which are trusted, and what becomes of
// them.
type BundleSetup struct {
	Keys             []SigningKey  `mapstructure:"keys"`
	UnsignedSettings string        `mapstructure:"unsigned_settings"` // refuse, allow
	SelfTest         bool          `mapstructure:"self_test"`
	State            string        `mapstructure:"state"` // a directory; "" for none
	MaxAge           time.Duration `mapstructure:"max_age"`
	Poll             Poll          `mapstructure:"poll"`
	StatusURL        string        `mapstructure:"status_url"`
}

// A SigningKey is one that bundles may be signed with.
type SigningKey struct {
	ID        string `mapstructure:"id"`
	File      string `mapstructure:"file"`
	Env       string `mapstructure:"env"`
	Algorithm string `mapstructure:"algorithm"` // RS256, ES256, HS256; "" for RS256
	Scope     string `mapstructure:"scope"`
}

// Poll says how often servers are asked for bundles.
type Poll struct {
	Interval time.Duration `mapstructure:"interval"`
	Backoff  time.Duration `mapstructure:"backoff"`
	Hold     time.Duration `mapstructure:"hold"` // 0 doesn't ask for long polling
	Timeout  time.Duration `mapstructure:"timeout"`
}

// A Service says how to speak to a server.
type Service struct {
	URL              string `mapstructure:"url"`
	TokenFile        string `mapstructure:"token_file"`
	TokenEnv         string `mapstructure:"token_env"`
	CAFile           string `mapstructure:"ca_file"`
	CertFile         string `mapstructure:"cert_file"`
	KeyFile          string `mapstructure:"key_file"`
	OAuth2TokenURL   string `mapstructure:"oauth2_token_url"`
	OAuth2ClientID   string `mapstructure:"oauth2_client_id"`
	OAuth2SecretFile string `mapstructure:"oauth2_secret_file"`
	OAuth2SecretEnv  string `mapstructure:"oauth2_secret_env"`
	OAuth2Scopes     string `mapstructure:"oauth2_scopes"`
	OPAFile          string `mapstructure:"opa_file"`
}

// Shadow bounds shadow mode.
type Shadow struct {
	Until string `mapstructure:"until"` // RFC 3339; "" for no end
}

func bundleKeys() []Key {
	const day = 24 * time.Hour
	return []Key{
		{Name: "bundles.keys", Type: Objects, Effect: "The keys that bundles have to be signed with; a bundle that isn't, or by another key, is refused. Without any, bundles need no signature",
			Fields: []Key{
				{Name: "id", Type: Text, Required: true, Effect: "The key id that signatures name"},
				{Name: "file", Type: File, Effect: "The public key or certificate in PEM, or the secret of HS256"},
				{Name: "env", Type: Text, Effect: "An environment variable that holds the same, in place of file"},
				{Name: "algorithm", Type: Choice, Values: []string{"RS256", "ES256", "HS256"}, Effect: "Left out: RS256"},
				{Name: "scope", Type: Text, Effect: "What the signature has to say in its scope claim"},
			}},
		{Name: "bundles.unsigned_settings", Type: Choice, Values: []string{"refuse", "allow"}, Default: "refuse",
			Effect: "Whether settings may be laid over signed bundles",
			Off:    "allow: what settings says is signed by nobody"},
		{Name: "bundles.self_test", Type: Flag, Default: false, Effect: "Run the bundles' own tests before they are put in force; a test that fails, or none at all, refuses them"},
		{Name: "bundles.state", Type: File, Effect: "A directory that keeps the last good bundles, for a start while their source is down, and the highest sequences seen"},
		{Name: "bundles.max_age", Type: Duration, Max: int64(365 * day), Effect: "When a bundle could not be refreshed for so long, every call is not_ready; left out: never"},
		{Name: "bundles.poll.interval", Type: Duration, Default: time.Second, Max: int64(day), Effect: "Time between two questions to a server for a new bundle, give or take a quarter"},
		{Name: "bundles.poll.backoff", Type: Duration, Default: 30 * time.Second, Max: int64(day), Effect: "Longest time between two questions after failures"},
		{Name: "bundles.poll.hold", Type: Duration, Max: int64(time.Hour), Effect: "Ask a server to hold a question so long until there is a new bundle (long polling, as OPA does it); left out: don't ask for it"},
		{Name: "bundles.poll.timeout", Type: Duration, Default: 30 * time.Second, Max: int64(time.Hour), Effect: "Time that a server's whole answer may take"},
		{Name: "bundles.status_url", Type: Text, Effect: "URL that gets what happens to bundles, in the form of OPA's status API"},
		{Name: "services", Type: Objects, Effect: "How to speak to servers: credentials and certificates, of one kind for each",
			Fields: serviceFields()},
		{Name: "shadow.until", Type: Text, Effect: "When mode: shadow ends and calls are refused again: a time like \"2026-12-01T18:00:00Z\", in quotes; left out: with the next reload or start"},
	}
}

func serviceFields() []Key {
	return []Key{
		{Name: "url", Type: Text, Required: true, Effect: "The part of URLs that it is for: scheme, host, port and the beginning of the path"},
		{Name: "token_file", Type: File, Effect: "A bearer token, read anew for each request"},
		{Name: "token_env", Type: Text, Effect: "An environment variable with a bearer token"},
		{Name: "ca_file", Type: File, Effect: "Certificates in PEM to check the server's with, in place of the system's"},
		{Name: "cert_file", Type: File, Effect: "The client's certificate in PEM"},
		{Name: "key_file", Type: File, Effect: "The client's private key in PEM"},
		{Name: "oauth2_token_url", Type: Text, Effect: "Where OAuth2 client credentials are exchanged for a token; https"},
		{Name: "oauth2_client_id", Type: Text, Effect: "The client's id there"},
		{Name: "oauth2_secret_file", Type: File, Effect: "The client's secret"},
		{Name: "oauth2_secret_env", Type: Text, Effect: "An environment variable with the secret"},
		{Name: "oauth2_scopes", Type: Text, Effect: "Scopes to ask for, with spaces between them"},
		{Name: "opa_file", Type: File, Effect: "A service as OPA's configuration has it, in JSON or YAML: headers, tls and credentials of every kind, for clouds too"},
	}
}

// withoutQuery cuts what may hold a signature off a URL.
func withoutQuery(name string) string {
	if _, _, isURL := strings.Cut(name, "://"); isURL {
		name, _, _ = strings.Cut(name, "?")
	}
	return name
}
