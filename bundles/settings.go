package bundles

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/open-policy-agent/opa/v1/util"
)

// maxSettings bounds a settings file: it is configuration, not data.
const maxSettings = 4 << 20

// readSettings reads a JSON object and returns it with a digest of its bytes.
func readSettings(file string) (map[string]any, string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, "", fmt.Errorf("settings: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err != nil {
		return nil, "", fmt.Errorf("settings: %w", err)
	}
	if len(raw) > maxSettings {
		return nil, "", fmt.Errorf("settings: %s: larger than %d bytes: put bulky data into the bundle", file, maxSettings)
	}
	if err := checkJSON(file, raw); err != nil {
		return nil, "", fmt.Errorf("settings: %w", err)
	}
	var v any
	if err := util.UnmarshalJSON(raw, &v); err != nil {
		return nil, "", fmt.Errorf("settings: %s: %w", file, err)
	}
	settings, ok := v.(map[string]any)
	if !ok {
		return nil, "", fmt.Errorf("settings: %s:1: not a JSON object: write what shall be laid over data.settings", file)
	}
	sum := sha256.Sum256(raw)
	return settings, hex.EncodeToString(sum[:])[:12], nil
}
