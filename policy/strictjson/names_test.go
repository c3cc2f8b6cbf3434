package strictjson_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/regogate/regogate/policy/strictjson"
)

func TestFoldName(t *testing.T) {
	for _, test := range []struct{ name, want string }{
		{"", ""}, {"name", "name"}, {"NAME", "name"}, {"maxBytes", "maxbytes"}, {"snake_case-9", "snake_case-9"},
		{"ta\u017fk\u017f", "tasks"}, {"\u212aind", "kind"}, {"[\\]^_`{|}~@", "[\\]^_`{|}~@"},
		{"name\x00", "name"}, {"NAME\x00\x00", "name"}, {"\x00name", "\x00name"}, {"na\x00me\x00", "na\x00me"},
		{"\x00", ""}, {"\xff", "\ufffd"},
	} {
		require.Equal(t, test.want, strictjson.FoldName(test.name), "%q", test.name)
	}
	for _, different := range [][2]string{
		{"a", "b"}, {"straße", "strasse"}, {"é", "e\u0301"}, {"i", "\u0131"}, {"i", "\u0130"}, {"a b", "ab"}, {"a", "a "},
		{"[", "{"}, {"@", "`"}, {"à", "á"},
	} {
		require.NotEqual(t, strictjson.FoldName(different[0]), strictjson.FoldName(different[1]), different)
	}
}

// FoldName must agree with EqualFold, by which encoding/json matches names, on every
// character there is.
func TestFoldNameAgreesWithEqualFoldOnEveryRune(t *testing.T) {
	of := map[string]rune{}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if 0xD800 <= r && r <= 0xDFFF {
			continue
		}
		folded := strictjson.FoldName(string(r))
		if other, seen := of[folded]; !seen {
			of[folded] = r
		} else if !strings.EqualFold(string(r), string(other)) {
			t.Fatalf("%U and %U fold together, but aren't equal", r, other)
		}
		if next := unicode.SimpleFold(r); strictjson.FoldName(string(next)) != folded {
			t.Fatalf("%U and %U are equal, but fold apart", r, next)
		}
	}
}

func TestFoldNameOfAFoldedNameCostsNothing(t *testing.T) {
	require.Zero(t, testing.AllocsPerRun(100, func() { strictjson.FoldName("already_folded") }))
}

func FuzzFoldName(f *testing.F) {
	for _, pair := range [][2]string{
		{"a", "A"}, {"ſ", "S"}, {"K", "k"}, {"a\x00", "a"}, {"ß", "ss"}, {"\xff", "\xfe"}, {"é", "É"}, {"", "\x00"}, {"Σ", "ς"},
	} {
		f.Add(pair[0], pair[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		seen := func(s string) string { return strings.ToValidUTF8(strings.TrimRight(s, "\x00"), "") }
		foldA, foldB := strictjson.FoldName(a), strictjson.FoldName(b)
		require.Equal(t, foldA, strictjson.FoldName(foldA), "folding twice changes it")
		if seen(a) != strings.TrimRight(a, "\x00") || seen(b) != strings.TrimRight(b, "\x00") {
			return // EqualFold counts invalid bytes differently
		}
		require.Equal(t, strings.EqualFold(seen(a), seen(b)), foldA == foldB, "%q %q", a, b)
	})
}
