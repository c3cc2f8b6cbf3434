//go:build !race

package decisionlog_test

const raceDetector = false
