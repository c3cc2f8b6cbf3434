package bundles

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/open-policy-agent/opa/v1/keys"
	"github.com/open-policy-agent/opa/v1/logging"
	"github.com/open-policy-agent/opa/v1/plugins/rest"
	"github.com/open-policy-agent/opa/v1/util"
)

// config is the service as OPA's REST client takes it. OPA's client logs nothing: what
// it knows are secrets.
func (s Service) config(field string, signed bool) (*rest.Config, error) {
	members := map[string]any{}
	var signing map[string]*keys.Config
	if s.OPAFile != "" {
		var err error
		if members, signing, err = readOPAFile(s.OPAFile, signed); err != nil {
			return nil, fmt.Errorf("%s.opa_file: %s: %w", field, s.OPAFile, err)
		}
	}
	members["name"] = field
	members["url"] = s.URL
	members["response_header_timeout_seconds"] = 0 // the context of each request says when to give up
	if s.CAFile != "" {
		members["tls"] = map[string]any{"ca_cert": s.CAFile}
	}
	if c := s.credentials(); c != nil {
		members["credentials"] = c
	}
	raw, err := json.Marshal(members)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.credentialField(field), err)
	}
	client, err := rest.New(raw, signing, rest.Logger(logging.NewNoOpLogger()))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.credentialField(field), err)
	}
	return client.Config(), nil
}

func (s Service) credentials() map[string]any {
	switch {
	case s.TokenFile != "":
		return map[string]any{"bearer": map[string]any{"token_path": s.TokenFile}}
	case s.TokenEnv != "":
		return map[string]any{"bearer": map[string]any{"token": strings.TrimSpace(os.Getenv(s.TokenEnv))}}
	case s.CertFile != "":
		return map[string]any{"client_tls": map[string]any{"cert": s.CertFile, "private_key": s.KeyFile}}
	case s.usesOAuth2():
		secret := os.Getenv(s.OAuth2SecretEnv)
		if s.OAuth2SecretFile != "" {
			text, _ := readSmall(s.OAuth2SecretFile) // was read before
			secret = string(text)
		}
		return map[string]any{"oauth2": map[string]any{
			"token_url": s.OAuth2TokenURL, "client_id": s.OAuth2ClientID,
			"client_secret": strings.TrimSpace(secret), "scopes": strings.Fields(s.OAuth2Scopes),
		}}
	}
	return nil
}

// readOPAFile reads a service of OPA's configuration. A name that OPA doesn't know is
// an error: it would be credentials that nobody sends.
func readOPAFile(file string, signed bool) (map[string]any, map[string]*keys.Config, error) {
	raw, err := readSmall(file)
	if err != nil {
		return nil, nil, err
	}
	members := map[string]any{}
	if err := util.Unmarshal(raw, &members); err != nil {
		return nil, nil, fmt.Errorf("neither a JSON nor a YAML object: %w", err)
	}
	var signing map[string]*keys.Config
	if k, ok := members["keys"]; ok {
		text, err := json.Marshal(k)
		if err != nil {
			return nil, nil, err
		}
		if signing, err = keys.ParseKeysConfig(text); err != nil {
			return nil, nil, fmt.Errorf("keys: %w", err)
		}
		delete(members, "keys")
	}
	text, err := json.Marshal(members)
	if err != nil {
		return nil, nil, err
	}
	var known rest.Config
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&known); err != nil {
		return nil, nil, fmt.Errorf("not what OPA knows of a service: %w", err)
	}
	switch {
	case known.AllowInsecureTLS && !signed:
		return nil, nil, errors.New("allow_insecure_tls: anybody on the way could give the policy: use tls.ca_cert, or sign the bundles (bundles.keys)")
	case known.Credentials.Plugin != nil:
		return nil, nil, errors.New("credentials.plugin: there are no plugins here: use credentials that OPA itself has")
	case known.Type != "":
		return nil, nil, fmt.Errorf("type %q: only plain HTTP is spoken", known.Type)
	}
	return members, signing, nil
}
