//go:build race

package inputschema

const raceEnabled = true
