//go:build !race

package bundles_test

const raceDetector = false
