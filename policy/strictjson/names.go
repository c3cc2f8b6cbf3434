package strictjson

import (
	"hash/maphash"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FoldName returns the form that a name shares with every name that a
// case-insensitive reader would take for it, and with no other.
//
// Such readers are encoding/json, and so mcp-go, which compare as [strings.EqualFold]
// does: by Unicode simple case folding, under which the long s is an s and the Kelvin
// sign a k. Trailing NULs are dropped, since readers have been found that do so. The
// bytes of invalid UTF-8 all count as U+FFFD, which is how encoding/json reads them.
//
// The form of a name made of ASCII is its lower case; otherwise it is for comparing
// only.
func FoldName(name string) string {
	if isFolded(name) {
		return name
	}
	return string(appendFolded(make([]byte, 0, len(name)), name))
}

// isFolded reports whether name certainly is what it folds to: the usual case, which
// then costs no allocation.
func isFolded(name string) bool {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return name == "" || name[len(name)-1] != 0
}

// appendFolded appends what name folds to.
func appendFolded(to []byte, name string) []byte {
	for _, r := range strings.TrimRight(name, "\x00") {
		if r = foldRune(r); r < utf8.RuneSelf {
			to = append(to, byte(r))
		} else {
			to = utf8.AppendRune(to, r)
		}
	}
	return to
}

// foldRune returns one and the same rune for all that fold together: the smallest of
// them, in lower case if that is ASCII.
func foldRune(r rune) rune {
	if r >= utf8.RuneSelf {
		// SimpleFold goes round the set in ascending order, from the last to the first.
		next := unicode.SimpleFold(r)
		for next > r {
			r, next = next, unicode.SimpleFold(next)
		}
		r = next
	}
	if 'A' <= r && r <= 'Z' {
		r += 'a' - 'A'
	}
	return r
}

// A name is a member's name in an object that is still open.
type name struct {
	text string
	hash uint64 // of what it folds to; 0 in a large object, where it isn't used
}

// Up to this many names an object's names are compared one by one, by their hashes.
// Beyond it they are looked up in a map.
const smallObject = 16

// A namer finds names that clash within an object.
type namer struct {
	seed    maphash.Seed // secret, so that input can't be made to collide
	scratch []byte
}

// clash returns the name among those that fold to the same as text, if there is one.
// Else it returns how text is to be added to them. Large is the object's map from
// folded names, made here when it is needed.
func (n *namer) clash(among []name, large *map[string]string, text string) (added name, with string, found bool) {
	if len(among) < smallObject {
		added = name{text: text, hash: n.foldedHash(text)}
		for i := range among {
			if among[i].hash == added.hash && FoldName(among[i].text) == FoldName(text) {
				return name{}, among[i].text, true
			}
		}
		return added, "", false
	}
	if *large == nil {
		*large = make(map[string]string, 2*smallObject)
		for i := range among {
			(*large)[FoldName(among[i].text)] = among[i].text
		}
	}
	folded := FoldName(text)
	if with, found = (*large)[folded]; found {
		return name{}, with, true
	}
	(*large)[folded] = text
	return name{text: text}, "", false
}

// foldedHash returns a hash of FoldName(text), without the string.
func (n *namer) foldedHash(text string) uint64 {
	if isFolded(text) {
		return maphash.String(n.seed, text)
	}
	n.scratch = appendFolded(n.scratch[:0], text)
	return maphash.Bytes(n.seed, n.scratch)
}
