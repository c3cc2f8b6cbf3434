package config

import (
	"path/filepath"
	"time"
)

// serving adds to c what the defaults of serve are.
func serving(c Config) Config {
	c.Listen = Listen{Address: "127.0.0.1:8080", Path: "/mcp", Insecure: "refuse"}
	c.HTTP = HTTP{BodyBytes: 16 << 20, HeaderBytes: 64 << 10, Connections: 4096, HeaderTimeout: 10 * time.Second,
		BodyTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, DrainTimeout: 20 * time.Second}
	c.Upstream = Upstream{Resource: "own", Insecure: "refuse", Timeout: 5 * time.Minute}
	c.Identity = Identity{Source: "none", PlainKeys: "refuse", Leeway: 30 * time.Second, SubjectClaim: "sub"}
	c.Bridge = Bridge{Processes: 64, Pool: 4, Idle: 30 * time.Minute, Pause: 30 * time.Second, Start: time.Minute, Grace: 5 * time.Second}
	return c
}

const fullServing = `
listen:
  address: "0.0.0.0:1"
  path: /x
  public_url: https://gate.example/x
  insecure: allow
  allowed_hosts: [gate.example]
  allowed_origins: ["https://app.example"]
tls: {cert_file: c.pem, key_file: k.pem, client_ca_file: a.pem}
http: {body_bytes: 1, header_bytes: 2, connections: 3, header_timeout: 4s, body_timeout: 5s, write_timeout: 6s, idle_timeout: 7s, drain_timeout: 8s}
upstream: {url: "https://up.example/", resource: same, ca_file: a.pem, cert_file: c.pem, key_file: k.pem, token_file: t, token_env: T, insecure: allow, timeout: 1s}
identity:
  source: jwt
  issuer: i
  audience: [a]
  algorithms: [ES256]
  keys_url: u
  keys_file: f
  plain_keys: allow
  leeway: 1s
  subject_claim: s
  tenant_claim: t
  scope_claims: [c]
  required_scopes: [r]
  authorization_servers: [z]
  trusted_proxies: [10.0.0.0/8]
  headers:
    - {header: X-User, as: subject}
bridge: {processes: 1, pool: 2, idle: 3s, pause: 4s, start: 5s, grace: 6s}
`

// servingInFull is what fullServing says, in a file in dir.
func servingInFull(c Config, dir string) Config {
	in := func(name string) string { return filepath.Join(dir, name) }
	c.Caller.Env = []CallerVariable{{Name: "USER_ID", As: "claims.id"}}
	c.Listen = Listen{"0.0.0.0:1", "/x", "https://gate.example/x", "allow", []string{"gate.example"}, []string{"https://app.example"}}
	c.TLS = TLS{in("c.pem"), in("k.pem"), in("a.pem")}
	c.HTTP = HTTP{1, 2, 3, 4 * time.Second, 5 * time.Second, 6 * time.Second, 7 * time.Second, 8 * time.Second}
	c.Upstream = Upstream{"https://up.example/", "same", in("a.pem"), in("c.pem"), in("k.pem"), in("t"), "T", "allow", time.Second}
	c.Identity = Identity{"jwt", "i", []string{"a"}, []string{"ES256"}, "u", in("f"), "allow", time.Second, "s", "t", []string{"c"}, []string{"r"},
		[]string{"z"}, []string{"10.0.0.0/8"}, []CallerHeader{{"X-User", "subject"}}}
	c.Bridge = Bridge{1, 2, 3 * time.Second, 4 * time.Second, 5 * time.Second, 6 * time.Second}
	return c
}
