package decisionlog_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy"
	"github.com/regogate/regogate/policy/decisionlog"
)

// planted are arguments with a secret in them that is in no other way known: by the
// name of what holds it, by its shape, or by the words around it.
var planted = []struct{ name, secret, arguments string }{
	// by name
	{"password", "Tr0ub4dor&3", `{"password":"Tr0ub4dor&3"}`},
	{"passwd in capitals", "Tr0ub4dor", `{"DB_PASSWD":"Tr0ub4dor"}`},
	{"camel case", "abcdefgh1", `{"clientSecret":"abcdefgh1"}`},
	{"camel case with an acronym", "abcdefgh1", `{"githubAPIKey":"abcdefgh1"}`},
	{"kebab case", "abcdefgh1", `{"x-api-key":"abcdefgh1"}`},
	{"glued", "abcdefgh1", `{"apikey":"abcdefgh1"}`},
	{"glued to others", "abcdefgh1", `{"MYDBPASSWORD2":"abcdefgh1"}`},
	{"token", "abcdefgh1", `{"token":"abcdefgh1"}`},
	{"access key", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", `{"aws_secret_access_key":"wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}`},
	{"private key", "abcdefgh1", `{"ssh":{"privateKey":"abcdefgh1"}}`},
	{"number", "83719204", `{"pin":83719204}`},
	{"list", "abcdefgh1", `{"passwords":["x1","abcdefgh1"]}`},
	{"object", "abcdefgh1", `{"credentials":{"user":"bob","value":"abcdefgh1"}}`},
	{"deep", "abcdefgh1", `{"a":[{"b":{"c":[[{"auth_token":"abcdefgh1"}]]}}]}`},
	{"header", "abcdefgh1", `{"headers":{"Authorization":"abcdefgh1"}}`},
	{"cookie", "abcdefgh1", `{"headers":{"Cookie":"sid=abcdefgh1; theme=dark"}}`},
	{"pair", "abcdefgh1", `{"env":[{"name":"HOME","value":"/x"},{"name":"API_TOKEN","value":"abcdefgh1"}]}`},
	{"pair with key", "abcdefgh1", `{"env":[{"key":"db-password","value":"abcdefgh1"}]}`},
	{"command line", "abcdefgh1", `{"args":["login","--password","abcdefgh1"]}`},
	{"command line, one word", "abcdefgh1", `{"args":["login","--password=abcdefgh1"]}`},
	{"connection string", "abcdefgh1", `{"connectionString":"Server=x;Uid=y;Pwd=abcdefgh1;"}`},
	{"session", "abcdefgh1", `{"session_id":"abcdefgh1"}`},
	{"otp", "481516", `{"otp":"481516"}`},
	{"card", "4111111111111111", `{"card_number":"4111111111111111"}`},
	// by shape
	{"AWS key id", "AKIAIOSFODNN7EXAMPLE", `{"text":"use AKIAIOSFODNN7EXAMPLE now"}`},
	{"AWS temporary", "ASIAIOSFODNN7EXAMPLE", `{"text":"xASIAIOSFODNN7EXAMPLE"}`},
	{"GitHub", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", `{"url":"x?y=ghp_16C7e42F292c6912E7710c838347Ae178B4a"}`},
	{"GitHub fine-grained", "github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", `{"a":["github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz"]}`},
	{"GitLab", "glpat-ABCDEFGHIJKLMNOPQRST", `{"a":"glpat-ABCDEFGHIJKLMNOPQRST"}`},
	{"Slack", "xoxb-FAKE-12345678-abcdefghij", `{"a":"x xoxb-FAKE-12345678-abcdefghij"}`},
	{"Slack webhook", "T00000000/B00000000/FAKEFAKEFAKEFAKEFAKE", `{"a":"https://hooks.slack.com/services/T00000000/B00000000/FAKEFAKEFAKEFAKEFAKE"}`},
	{"JWT", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N", `{"a":"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N"}`},
	{"PEM", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", `{"a":"x\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\ny"}`},
	{"RSA PEM", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", `{"a":"-----BEGIN RSA PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END RSA PRIVATE KEY-----"}`},
	{"PEM that is cut off", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", `{"a":"-----BEGIN OPENSSH PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC"}`},
	{"PEM with escaped line feeds", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", `{"a":"-----BEGIN EC PRIVATE KEY-----\\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\\n-----END EC PRIVATE KEY-----"}`},
	{"Google", "AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY", `{"a":"https://maps.example/?x=AIzaSyD-9tSrke72PouQMnMX-a7eZSW0jkFMBWY"}`},
	{"Stripe", "sk_live_FAKE4eC39HqLyjWDarjtT1zdp7dc", `{"a":"sk_live_FAKE4eC39HqLyjWDarjtT1zdp7dc"}`},
	{"model provider", "sk-ant-api03-abcdefghijklmnopqrst", `{"a":"sk-ant-api03-abcdefghijklmnopqrst"}`},
	{"npm", "npm_abcdefghijklmnopqrstuvwxyz0123456789", `{"a":"//registry/:x npm_abcdefghijklmnopqrstuvwxyz0123456789"}`},
	{"Vault", "hvs.CAESIJlWh6rWabcdefgh", `{"a":"hvs.CAESIJlWh6rWabcdefgh"}`},
	{"as a name", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", `{"m":{"ghp_16C7e42F292c6912E7710c838347Ae178B4a":1}}`},
	{"URL", "hunter2hunter2", `{"a":"postgres://bob:hunter2hunter2@db.example:5432/x"}`},
	{"URL with an at sign", "p@ssw0rd9", `{"a":"git clone https://bob:p@ssw0rd9@git.example/x.git"}`},
	{"URL with a token alone", "abcdefgh1234", `{"a":"https://abcdefgh1234@git.example/x.git"}`},
	// by the words around it
	{"shell", "hunter2x", `{"command":"PGPASSWORD=hunter2x psql -h db"}`},
	{"shell export", "hunter2x", `{"command":"export API_KEY='hunter2x'; run"}`},
	{"shell flag", "hunter2x", `{"command":"tool --api-token hunter2x --verbose"}`},
	{"shell flag, quoted", "hunter 2x y", `{"command":"tool --password \"hunter 2x y\" --verbose"}`},
	{"curl header", "hunter2x", `{"command":"curl -H 'Authorization: Bearer hunter2x' https://x"}`},
	{"curl basic", "Ym9iOmh1bnRlcjI=", `{"command":"curl -H \"Authorization: Basic Ym9iOmh1bnRlcjI=\" https://x"}`},
	{"curl other header", "hunter2x", `{"command":"curl -H \"X-Api-Key: hunter2x\" https://x"}`},
	{"curl -u", "hunter2x", `{"command":"curl -u bob:hunter2x https://x"}`},
	{"mysql", "hunter2x", `{"command":"mysql -u root -phunter2x db"}`},
	{"query", "hunter2x", `{"url":"https://x.example/a?b=c&access_token=hunter2x&d=e"}`},
	{"form", "hunter2x", `{"body":"user=bob&password=hunter2x&x=1"}`},
	{"escaped form", "hunter2x", `{"url":"https://x/?next=%2Flogin%3Fpassword%3Dhunter2x%26a%3Db"}`},
	{"SQL", "hunter2x", `{"sql":"ALTER USER bob IDENTIFIED BY 'hunter2x'"}`},
	{"SQL password", "hunter2x", `{"sql":"create role bob with login password 'hunter2x'"}`},
	{"YAML", "hunter2x horse", `{"text":"db:\n  user: bob\n  password: hunter2x horse\n  port: 1\n"}`},
	{"dotenv", "hunter2x", `{"content":"A=1\nSECRET_KEY=hunter2x\nB=2\n"}`},
	{"ini", "hunter2x", `{"content":"[x]\npassword = hunter2x\n"}`},
	{"XML", "hunter2x", `{"content":"<user><password>hunter2x</password></user>"}`},
	{"XML attribute", "hunter2x", `{"content":"<add key=\"DbPassword\" value=\"hunter2x\"/>"}`},
	{"nested JSON", "hunter2x", `{"body":"{\"user\":\"bob\",\"password\":\"hunter2x\"}"}`},
	{"nested JSON, twice", "hunter2x", `{"body":"{\"data\":\"{\\\"apiKey\\\":\\\"hunter2x\\\"}\"}"}`},
	{"nested JSON list", "hunter2x", `{"body":"[{\"token\":\"hunter2x\"}]"}`},
	{"nested JSON with a name twice", "hunter2x", `{"body":"{\"password\":\"hunter2x\",\"password\":\"\"}"}`},
	{"broken nested JSON", "hunter2x", `{"body":"{\"password\": \"hunter2x\", "}`},
	{"JSON within a command", "hunter2x", `{"command":"curl -d '{\"password\":\"hunter2x\"}' https://x"}`},
	{"escaped JSON within a command", "hunter2x", `{"command":"curl -d \"{\\\"password\\\":\\\"hunter2x\\\"}\" https://x"}`},
	{"JavaScript", "hunter2x", `{"code":"const cfg = { apiKey: 'hunter2x', n: 1 }"}`},
	{"Go", "hunter2x", "{\"code\":\"token := `hunter2x`\"}"},
	{"prose", "hunter2x", `{"text":"The password is hunter2x, thanks"}`},
	{"quoted prose", "hunter 2x", `{"text":"use the password \"hunter 2x\" there"}`},
	{"mail", "hunter2x", `{"text":"API key: hunter2x\nRegards"}`},
	// by the name of something else
	{"repeated in another argument", "hunter2xyz", `{"password":"hunter2xyz","note":"try hunter2xyz twice"}`},
	{"repeated, quoted", `hunt"er2xyz`, `{"password":"hunt\"er2xyz","note":"try \"hunt\\\"er2xyz\" twice"}`},
	{"number repeated", "83719204", `{"pin":"83719204","note":{"n":83719204}}`},
}

// echo is a deny set that tells everything that it sees, in every way that authors do.
func echo(in policy.Input) ([]policy.Refusal, error) {
	var out []policy.Refusal
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				walk(k)
				walk(e)
			}
		case []any:
			for _, e := range v {
				walk(e)
			}
		case string:
			out = append(out, policy.Refusal{Message: "no " + v + " here", Location: "/" + v, Rule: v},
				policy.Refusal{Message: fmt.Sprintf("%q", v)}, policy.Refusal{Message: strings.ToUpper(v)},
				policy.Refusal{Message: "not allowed: " + cutTo(v, len(v)*3/4) + "…"})
		case json.Number:
			out = append(out, policy.Refusal{Message: "no " + string(v) + "!"})
		}
	}
	walk(in.Document())
	return out, nil
}

func cutTo(s string, n int) string { return strings.ToValidUTF8(s[:n], "") }

// leaks reports in which form a record tells a secret, "" when it doesn't.
func leaks(record, secret string) string {
	l := strings.ToLower(record)
	quoted := strings.Trim(strconv.Quote(secret), `"`)
	twice := strings.Trim(strconv.Quote(quoted), `"`)
	parts := []string{secret, quoted, twice, url.QueryEscape(secret)}
	if n := len(secret); n >= 8 {
		parts = append(parts, cutTo(secret, n*3/4))
	}
	for _, p := range parts {
		if strings.Contains(l, strings.ToLower(p)) {
			return p
		}
	}
	return ""
}

// With the default settings no record has a planted secret, wherever it was planted.
func TestPlantedSecrets(t *testing.T) {
	ways := map[string]func(t *testing.T, p struct{ name, secret, arguments string }) string{
		"allowed": func(t *testing.T, p struct{ name, secret, arguments string }) string {
			_, text, _ := recorded(t, decisionlog.Options{}, rules{}, t.Context(), open, policy.Call{Arguments: []byte(p.arguments)})
			return text
		},
		"repeated by rules": func(t *testing.T, p struct{ name, secret, arguments string }) string {
			_, text, _ := recorded(t, decisionlog.Options{}, rules{deny: echo, warn: echo}, t.Context(), open, policy.Call{Arguments: []byte(p.arguments)})
			return text
		},
		"repeated by an error": func(t *testing.T, p struct{ name, secret, arguments string }) string {
			fails := func(in policy.Input) ([]policy.Refusal, error) {
				rs, _ := echo(in)
				return nil, errors.New(rs[len(rs)-1].Message + rs[0].Message)
			}
			_, text, _ := recorded(t, decisionlog.Options{}, rules{deny: fails}, t.Context(), open, policy.Call{Arguments: []byte(p.arguments)})
			return text
		},
		"answers of a retry": func(t *testing.T, p struct{ name, secret, arguments string }) string {
			_, text, _ := recorded(t, decisionlog.Options{}, rules{deny: echo}, t.Context(), open,
				policy.Call{Arguments: []byte(`{}`), Responses: []byte(`{"r":` + p.arguments + `}`)})
			return text
		},
		"claims": func(t *testing.T, p struct{ name, secret, arguments string }) string {
			var claims map[string]any
			require.NoError(t, json.Unmarshal([]byte(p.arguments), &claims))
			ctx := policy.WithCaller(t.Context(), policy.Caller{Subject: "bob", Claims: claims})
			_, text, _ := recorded(t, decisionlog.Options{}, rules{deny: echo}, ctx, open, policy.Call{Arguments: []byte(`{}`)})
			return text
		},
		"malformed": func(t *testing.T, p struct{ name, secret, arguments string }) string {
			_, text, _ := recorded(t, decisionlog.Options{}, rules{deny: echo}, t.Context(), open,
				policy.Call{Arguments: []byte(p.arguments + "x")}, policy.Call{Arguments: []byte(`{"a":` + p.arguments + `,"a":1}`)},
				policy.Call{Arguments: []byte(`{}`), Responses: []byte(p.arguments + "x")})
			return text
		},
		"against the schema": func(t *testing.T, p struct{ name, secret, arguments string }) string {
			strict := policy.ToolSpec{Name: "t", InputSchema: []byte(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"],"additionalProperties":false}`)}
			_, text, _ := recorded(t, decisionlog.Options{}, rules{deny: echo}, t.Context(), strict, policy.Call{Arguments: []byte(p.arguments)})
			return text
		},
		"annotations": func(t *testing.T, p struct{ name, secret, arguments string }) string {
			spec := open
			spec.Annotations = []byte(p.arguments)
			_, text, _ := recorded(t, decisionlog.Options{}, rules{deny: echo}, t.Context(), spec, policy.Call{Arguments: []byte(`{}`)})
			return text
		},
	}
	for how, record := range ways {
		for _, p := range planted {
			t.Run(how+"/"+p.name, func(t *testing.T) {
				text := record(t, p)
				require.NotEmpty(t, text)
				require.Empty(t, leaks(text, p.secret), "%s", text)
			})
		}
	}
}

// Names that an agent makes up, and sessions, are no place for secrets either.
func TestPlantedElsewhere(t *testing.T) {
	const secret = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
	_, text, _ := recorded(t, decisionlog.Options{}, rules{}, t.Context(), open,
		policy.Call{Tool: policy.UndeclaredTool("s", "run "+secret), Arguments: []byte(`{}`)},
		policy.Call{Arguments: []byte(`{}`), Session: secret, ID: secret},
		policy.Call{Arguments: []byte(`{}`), Unfaithful: errors.New("lost " + secret)})
	require.Empty(t, leaks(text, secret), "%s", text)
	events, text, _ := recorded(t, decisionlog.Options{}, rules{}, t.Context(), open, policy.Call{Arguments: []byte(`{}`), Session: "session-4711"})
	require.NotContains(t, text, "4711")
	require.Contains(t, fmt.Sprint(events[0].Input), "hmac-sha256:")
}

// Digest and None leave no value of an argument anywhere.
func TestDigestAndNone(t *testing.T) {
	const ordinary = "a perfectly ordinary sentence"
	for _, how := range []decisionlog.Arguments{decisionlog.Digest, decisionlog.None} {
		call := policy.Call{Arguments: []byte(`{"x":{"y":["` + ordinary + `", 1234567]}}`), Responses: []byte(`{"z":"another 1 of these answers"}`)}
		events, text, _ := recorded(t, decisionlog.Options{Arguments: how, Key: []byte("0123456789abcdef")}, rules{deny: echo}, t.Context(), open, call, call)
		for _, s := range []string{ordinary, "1234567", "another 1 of these answers"} {
			require.Empty(t, leaks(text, s), "%s", text)
		}
		require.Equal(t, []string{"/input/arguments", "/input/call/responses"}, events[0].Erased)
		require.Equal(t, how == decisionlog.Digest, strings.HasPrefix(events[0].ArgumentsDigest, "hmac-sha256:"))
		require.Equal(t, events[0].ArgumentsDigest, events[1].ArgumentsDigest)
	}
}

// Digests of one value differ under another key, and don't depend on how it was written.
func TestDigestsAreKeyed(t *testing.T) {
	digest := func(key, arguments string) string {
		events, _, _ := recorded(t, decisionlog.Options{Key: []byte(key)}, rules{}, t.Context(), open, policy.Call{Arguments: []byte(arguments)})
		return events[0].ArgumentsDigest
	}
	a := digest("0123456789abcdef", `{"a":1,"b":2}`)
	require.Equal(t, a, digest("0123456789abcdef", ` { "b" : 2, "a" : 1 } `))
	require.NotEqual(t, a, digest("0123456789abcdeX", `{"a":1,"b":2}`))
	require.NotEqual(t, a, digest("0123456789abcdef", `{"a":1,"b":3}`))
}

// Full records what came, and of what is malformed the bytes.
func TestFull(t *testing.T) {
	events, text, _ := recorded(t, decisionlog.Options{Arguments: decisionlog.Full}, rules{}, t.Context(), open,
		policy.Call{Arguments: []byte(`{"password":"hunter2"}`)}, policy.Call{Arguments: []byte(`{"password":`)})
	require.Contains(t, text, "hunter2")
	require.Empty(t, events[0].Masked)
	require.Equal(t, `{"password":`, string(events[1].RawArguments))
	require.Contains(t, text, base64.StdEncoding.EncodeToString([]byte(`{"password":`)))
}

// What is no secret stays readable.
func TestOrdinaryValuesStay(t *testing.T) {
	for _, arguments := range []string{
		`{"path":"/srv/data/report.txt","mode":"read","n":17,"flag":true,"nothing":null}`,
		`{"max_tokens":4096,"total_tokens":12}`,
		`{"to":["alice@example.com"],"subject":"Minutes of Monday: 10:30","body":"Dear all,\nsee https://example.com/a?b=c#d"}`,
		`{"command":"ls -la /tmp | grep -v foo && echo done > out.txt"}`,
		`{"sql":"SELECT id, name FROM users WHERE id = 7 AND name = 'bob'"}`,
		`{"password_required":true,"token":null,"secret":""}`,
		`{"text":"a <b>bold</b> statement: x = 1"}`,
		`{"uuid":"6f1e4a9e-3b1c-4a57-9d0e-0c8a4e8f9a11","sha":"9c56cc51b374c3ba189210d5b6d4bf57790d351c96c47c02190ecf1e430635ab"}`,
		`{"json":"{\"a\":[1,2,{\"b\":\"c\"}]}"}`,
	} {
		events, text, _ := recorded(t, decisionlog.Options{}, rules{}, t.Context(), open, policy.Call{Arguments: []byte(arguments)})
		require.Empty(t, events[0].Masked, "%s", text)
		require.JSONEq(t, arguments, argumentsOf(t, text))
	}
}

func argumentsOf(t *testing.T, line string) string {
	t.Helper()
	var e struct {
		Input struct{ Arguments json.RawMessage }
	}
	require.NoError(t, json.Unmarshal([]byte(line), &e))
	return string(e.Input.Arguments)
}

// More secrets than are looked for elsewhere: nothing of the arguments is recorded.
func TestTooManySecrets(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		fmt.Fprintf(&b, `,"password%d":"value number %d"`, i, i)
	}
	events, text, _ := recorded(t, decisionlog.Options{}, rules{deny: echo}, t.Context(), open,
		policy.Call{Arguments: []byte(`{"note":"value number 399"` + b.String() + `}`)})
	require.NotContains(t, text, "value number")
	require.Contains(t, events[0].Erased, "/input/arguments")
}

// FuzzMask masks any arguments: the record is JSON, and what a secret-like name holds
// is not in it.
func FuzzMask(f *testing.F) {
	for _, p := range planted {
		f.Add(p.arguments, p.secret)
	}
	f.Fuzz(func(t *testing.T, arguments, secret string) {
		if !json.Valid([]byte(arguments)) || len(secret) < 8 || strings.Trim(secret, "maskd[]") != secret {
			return
		}
		s, err := json.Marshal(secret)
		require.NoError(t, err)
		call := policy.Call{Arguments: []byte(`{"a":` + arguments + `,"password":` + string(s) + `,"b":` + string(s) + `}`)}
		events, text, stats := recorded(t, decisionlog.Options{}, rules{deny: echo}, context.Background(), open, call)
		require.Zero(t, stats.Unmasked)
		require.Len(t, events, 1)
		require.NotContains(t, text, `"b":`+string(s))
	})
}
