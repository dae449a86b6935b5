//go:build race

package agent_test

// raceDetector says that this program is built with the race detector, which
// takes memory of its own.
const raceDetector = true
