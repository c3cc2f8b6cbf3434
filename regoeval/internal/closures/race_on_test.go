//go:build race

package closures

const underRace = true
