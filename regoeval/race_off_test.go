//go:build !race

package regoeval

const raceDetector = false
