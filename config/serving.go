package config

import "time"

// Listen says where serve listens, and who may reach it by which names.
type Listen struct {
	Address        string   `mapstructure:"address"`    // host:port
	Path           string   `mapstructure:"path"`       // of the endpoint
	PublicURL      string   `mapstructure:"public_url"` // "" for what is listened on
	Insecure       string   `mapstructure:"insecure"`   // refuse, allow
	AllowedHosts   []string `mapstructure:"allowed_hosts"`
	AllowedOrigins []string `mapstructure:"allowed_origins"`
}

// TLS names the files by which serve speaks TLS.
type TLS struct {
	CertFile     string `mapstructure:"cert_file"`
	KeyFile      string `mapstructure:"key_file"`
	ClientCAFile string `mapstructure:"client_ca_file"` // "" asks for no client certificates
}

// HTTP bounds what clients of serve may cost.
type HTTP struct {
	BodyBytes     int           `mapstructure:"body_bytes"`
	HeaderBytes   int           `mapstructure:"header_bytes"`
	Connections   int           `mapstructure:"connections"`
	HeaderTimeout time.Duration `mapstructure:"header_timeout"`
	BodyTimeout   time.Duration `mapstructure:"body_timeout"`
	WriteTimeout  time.Duration `mapstructure:"write_timeout"`
	IdleTimeout   time.Duration `mapstructure:"idle_timeout"`
	DrainTimeout  time.Duration `mapstructure:"drain_timeout"`
}

// Upstream says how serve reaches the server behind it.
type Upstream struct {
	URL       string        `mapstructure:"url"`
	Resource  string        `mapstructure:"resource"` // own, same
	CAFile    string        `mapstructure:"ca_file"`
	CertFile  string        `mapstructure:"cert_file"`
	KeyFile   string        `mapstructure:"key_file"`
	TokenFile string        `mapstructure:"token_file"`
	TokenEnv  string        `mapstructure:"token_env"`
	Insecure  string        `mapstructure:"insecure"` // refuse, allow
	Timeout   time.Duration `mapstructure:"timeout"`
}

// Identity says how serve finds out who calls.
type Identity struct {
	Source               string         `mapstructure:"source"` // none, jwt, headers
	Issuer               string         `mapstructure:"issuer"`
	Audience             []string       `mapstructure:"audience"`
	Algorithms           []string       `mapstructure:"algorithms"`
	KeysURL              string         `mapstructure:"keys_url"`
	KeysFile             string         `mapstructure:"keys_file"`
	PlainKeys            string         `mapstructure:"plain_keys"` // refuse, allow
	Leeway               time.Duration  `mapstructure:"leeway"`
	SubjectClaim         string         `mapstructure:"subject_claim"`
	TenantClaim          string         `mapstructure:"tenant_claim"`
	ScopeClaims          []string       `mapstructure:"scope_claims"`
	RequiredScopes       []string       `mapstructure:"required_scopes"`
	AuthorizationServers []string       `mapstructure:"authorization_servers"`
	TrustedProxies       []string       `mapstructure:"trusted_proxies"` // CIDR
	Headers              []CallerHeader `mapstructure:"headers"`
}

// A CallerHeader says what one header of a trusted proxy means.
type CallerHeader struct {
	Header string `mapstructure:"header"`
	As     string `mapstructure:"as"` // subject, tenant, scopes, claims.NAME
}

// A CallerVariable says what one environment variable means.
type CallerVariable struct {
	Name string `mapstructure:"name"`
	As   string `mapstructure:"as"` // subject, tenant, scopes, claims.NAME
}

// Bridge bounds the processes of a stdio server behind HTTP.
type Bridge struct {
	Processes int           `mapstructure:"processes"`
	Pool      int           `mapstructure:"pool"`
	Idle      time.Duration `mapstructure:"idle"`
	Pause     time.Duration `mapstructure:"pause"`
	Start     time.Duration `mapstructure:"start"`
	Grace     time.Duration `mapstructure:"grace"`
}

func servingKeys() []Key {
	refuseAllow := []string{"refuse", "allow"}
	return []Key{
		{Name: "listen.address", Type: Text, Default: "127.0.0.1:8080", Effect: "Where serve listens, as host:port"},
		{Name: "listen.path", Type: Text, Default: "/mcp", Effect: "The endpoint's path"},
		{Name: "listen.public_url", Type: Text, Effect: "The endpoint's URL as clients know it, where that is another than what is listened on"},
		{Name: "listen.insecure", Type: Choice, Values: refuseAllow, Default: "refuse",
			Effect: "Listening beyond this machine without TLS",
			Off:    "allow: whoever is on the network can read and change calls and tokens"},
		{Name: "listen.allowed_hosts", Type: TextList, Effect: "Names, or name:port, that the Host header may have; left out: loopback names, what is listened on, and the host of listen.public_url",
			Off: "*: web pages can reach the gate by names of their own (DNS rebinding)"},
		{Name: "listen.allowed_origins", Type: TextList, Effect: "Origins of web pages that may use the gate; left out: loopback ones",
			Off: "*: any web page that a user opens may use the gate"},
		{Name: "tls.cert_file", Type: File, Effect: "The gate's certificate with its chain, PEM; read again when it changes"},
		{Name: "tls.key_file", Type: File, Effect: "The certificate's private key, PEM"},
		{Name: "tls.client_ca_file", Type: File, Effect: "Authorities, PEM: clients must have a certificate by one of them"},
		{Name: "http.body_bytes", Type: Bytes, Default: int64(16 << 20), Max: 1 << 30, Effect: "Size of a request's body"},
		{Name: "http.header_bytes", Type: Bytes, Default: int64(64 << 10), Max: 16 << 20, Effect: "Size of a request's headers"},
		{Name: "http.connections", Type: Count, Default: int64(4096), Max: 1_000_000, Effect: "Connections at once; more wait"},
		{Name: "http.header_timeout", Type: Duration, Default: 10 * time.Second, Max: int64(10 * time.Minute), Effect: "How long a client may take to send its headers"},
		{Name: "http.body_timeout", Type: Duration, Default: 30 * time.Second, Max: int64(time.Hour), Effect: "How long a client may take to send its body"},
		{Name: "http.write_timeout", Type: Duration, Default: 30 * time.Second, Max: int64(time.Hour), Effect: "How long a client may take to read what is sent to it; streams on which nothing happens aren't ended"},
		{Name: "http.idle_timeout", Type: Duration, Default: 2 * time.Minute, Max: int64(24 * time.Hour), Effect: "How long a connection is kept that has no request"},
		{Name: "http.drain_timeout", Type: Duration, Default: 20 * time.Second, Max: int64(time.Hour), Effect: "How long requests may go on after SIGTERM"},
		{Name: "bridge.processes", Type: Count, Default: int64(64), Max: 10_000, Effect: "Processes of serve -- COMMAND at once; more sessions get 503"},
		{Name: "bridge.pool", Type: Count, Default: int64(4), Max: 1000, Effect: "How many of them may serve stateless clients"},
		{Name: "bridge.idle", Type: Duration, Default: 30 * time.Minute, Max: int64(24 * time.Hour), Effect: "How long a process is kept that has nothing to do"},
		{Name: "bridge.pause", Type: Duration, Default: 30 * time.Second, Max: int64(time.Hour), Effect: "The longest time between two starts of a server that fails"},
		{Name: "bridge.start", Type: Duration, Default: time.Minute, Max: int64(time.Hour), Effect: "How long a server may take to answer initialize"},
		{Name: "bridge.grace", Type: Duration, Default: 5 * time.Second, Max: int64(10 * time.Minute), Effect: "How long a process may take to end, before SIGTERM and again before it is killed"},
	}
}

func upstreamKeys() []Key {
	return []Key{
		{Name: "upstream.url", Type: Text, Effect: "The endpoint of the server behind serve, http or https"},
		{Name: "upstream.resource", Type: Choice, Values: []string{"own", "same"}, Default: "own",
			Effect: "own: the gate is a protected resource by itself, and keeps the clients' tokens; same: gate and server are one",
			Off:    "same: clients' tokens are sent on to the server"},
		{Name: "upstream.ca_file", Type: File, Effect: "Authorities that the server's certificate may be by, PEM, in place of the system's"},
		{Name: "upstream.cert_file", Type: File, Effect: "The gate's client certificate, PEM; read again when it changes"},
		{Name: "upstream.key_file", Type: File, Effect: "Its private key, PEM"},
		{Name: "upstream.token_file", Type: File, Effect: "A file with the gate's own bearer token for the server; read again when it changes"},
		{Name: "upstream.token_env", Type: Text, Effect: "The environment variable that has that token"},
		{Name: "upstream.insecure", Type: Choice, Values: []string{"refuse", "allow"}, Default: "refuse",
			Effect: "Tokens over plain http to another machine",
			Off:    "allow: whoever is between can read and use them"},
		{Name: "upstream.timeout", Type: Duration, Default: 5 * time.Minute, Max: int64(24 * time.Hour), Effect: "How long the server may take to begin its answer"},
	}
}

func identityKeys() []Key {
	const as = "What it says: subject, tenant, scopes or claims.NAME"
	return []Key{
		{Name: "caller.env", Type: Objects, Effect: "Environment variables that say who calls, beside caller.*",
			Fields: []Key{
				{Name: "name", Type: Text, Required: true, Effect: "The variable's name; it must be set"},
				{Name: "as", Type: Text, Required: true, Effect: as},
			}},
		{Name: "identity.source", Type: Choice, Values: []string{"none", "jwt", "headers"}, Default: "none",
			Effect: "How serve finds out who calls: not at all (caller.* holds for everybody), by bearer tokens, or by headers of a trusted proxy"},
		{Name: "identity.issuer", Type: Text, Effect: "jwt: what iss must be"},
		{Name: "identity.audience", Type: TextList, Effect: "jwt: aud must have one of them"},
		{Name: "identity.algorithms", Type: TextList, Effect: "jwt: how tokens may be signed; left out: RS256, ES256"},
		{Name: "identity.keys_url", Type: Text, Effect: "jwt: where the issuer's keys are, a JWK set"},
		{Name: "identity.keys_file", Type: File, Effect: "jwt: the issuer's keys, a JWK set; read again when it changes"},
		{Name: "identity.plain_keys", Type: Choice, Values: []string{"refuse", "allow"}, Default: "refuse",
			Effect: "Keys over plain http from another machine",
			Off:    "allow: whoever is between can sign tokens"},
		{Name: "identity.leeway", Type: Duration, Default: 30 * time.Second, Max: int64(5 * time.Minute), Effect: "jwt: by how much clocks may differ"},
		{Name: "identity.subject_claim", Type: Text, Default: "sub", Effect: "jwt: the claim that is the subject; /a/b for a nested one"},
		{Name: "identity.tenant_claim", Type: Text, Effect: "jwt: the claim that is the tenant"},
		{Name: "identity.scope_claims", Type: TextList, Effect: "jwt: the claims that may have the scopes, the first that is there; left out: scope, scp"},
		{Name: "identity.required_scopes", Type: TextList, Effect: "jwt: scopes that every token must have"},
		{Name: "identity.authorization_servers", Type: TextList, Effect: "jwt: where clients are told to get a token; left out: identity.issuer"},
		{Name: "identity.trusted_proxies", Type: TextList, Effect: "headers: addresses (CIDR) of the proxies that set them; requests from elsewhere are refused"},
		{Name: "identity.headers", Type: Objects, Effect: "headers: those that say who calls",
			Fields: []Key{
				{Name: "header", Type: Text, Required: true, Effect: "The header's name"},
				{Name: "as", Type: Text, Required: true, Effect: as},
			}},
	}
}
