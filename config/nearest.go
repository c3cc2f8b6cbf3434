package config

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns the key or section that a misspelt name is closest to, "" when
// none is close. A key that stands in the wrong section is close.
func nearest(name string, keys []Key) string {
	var candidates []string
	for _, k := range keys {
		candidates = append(candidates, k.Name)
	}
	candidates = append(candidates, sections(keys)...)
	folded := strings.ToLower(name)
	best, least := "", max(2, len(name)/4)+1
	for _, c := range candidates {
		d := levenshtein.ComputeDistance(folded, c)
		if lastPart(folded) == lastPart(c) {
			d = min(d, 1)
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

// nearestOf is nearest among plain words.
func nearestOf(word string, words []string) string {
	keys := make([]Key, len(words))
	for i, w := range words {
		keys[i].Name = w
	}
	return nearest(word, keys)
}
