//go:build race

package regoeval

const raceDetector = true
