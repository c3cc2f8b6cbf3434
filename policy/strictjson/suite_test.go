package strictjson_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

// stricter lists the files that the suite says a parser must accept and this one
// refuses, each by a rule that it states.
var stricter = map[string]strictjson.Reason{
	"y_number_double_close_to_zero.json":     strictjson.ReasonNumberLength,  // 82 characters
	"y_object_duplicated_key.json":           strictjson.ReasonDuplicateName, // "a" twice, with two values
	"y_object_duplicated_key_and_value.json": strictjson.ReasonDuplicateName, // "a" twice, with one value
}

// suite returns the JSON files of a folder of the JSON parsing suite.
func suite(t *testing.T, folder string) map[string]string {
	t.Helper()
	shared := os.Getenv("REGOGATE_SHARED")
	if shared == "" {
		t.Skip("REGOGATE_SHARED is not set: skipping the JSON parsing suite")
	}
	paths, err := filepath.Glob(filepath.Join(shared, "suites", "json-parsing", folder, "*.json"))
	require.NoError(t, err)
	files := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		files[filepath.Base(path)] = string(data)
	}
	return files
}

func isAccepted(input string) (bool, error) {
	_, err := strictjson.Parse([]byte(input), strictjson.Limits{})
	return err == nil, err
}

func TestParsingSuite(t *testing.T) {
	files := suite(t, "test_parsing")
	counts := map[string]int{}
	for name, data := range files {
		counts[name[:2]]++
		wrapped := `{"v": ` + data + `}`
		alone, aloneErr := isAccepted(data)
		member, memberErr := isAccepted(wrapped)
		object, err := strictjson.ParseObject([]byte(data), strictjson.Limits{})
		require.Equal(t, alone && strings.HasPrefix(strings.TrimSpace(data), "{"), err == nil, "%s as an object", name)
		require.Equal(t, err == nil, object != nil, "%s as an object", name)

		reason, isStricter := stricter[name]
		switch {
		case isStricter:
			for _, err := range []error{aloneErr, memberErr} {
				var refusal *strictjson.Error
				require.ErrorAs(t, err, &refusal, "%s: the exception is no longer needed", name)
				require.Equal(t, reason, refusal.Reason, name)
			}
		case strings.HasPrefix(name, "y_"):
			require.NoError(t, aloneErr, name)
			require.NoError(t, memberErr, name)
		case strings.HasPrefix(name, "n_"):
			require.Error(t, aloneErr, name)
			require.False(t, member, "%s: accepted as a member", name)
		case strings.HasPrefix(name, "i_"):
			if alone {
				counts["i_ accepted"]++
			} else {
				counts["i_ refused"]++
			}
			require.Equal(t, alone, member, name)
		default:
			t.Errorf("%s: neither y_, n_ nor i_", name)
		}
	}
	for name := range stricter {
		require.Contains(t, files, name, "an exception for a file that isn't there")
	}
	require.Greater(t, counts["y_"], 90)
	require.Greater(t, counts["n_"], 180)
	t.Log(counts)
}

func TestTransformSuite(t *testing.T) {
	files := suite(t, "test_transform")
	require.NotEmpty(t, files)
	for name, data := range files {
		accepted, err := isAccepted(data)
		refusedByRule := strings.Contains(name, "invalid_codepoint") || strings.Contains(name, "same_key") ||
			name == "number_1e-999.json"
		require.Equal(t, !refusedByRule, accepted, "%s: %v", name, err)
		if err != nil {
			require.NotContains(t, err.Error(), string(strictjson.ReasonInternal), name)
		}
	}
}
