//go:build !race

package regoeval_test

const underRace = false
