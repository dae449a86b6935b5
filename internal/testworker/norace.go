//go:build !race

package testworker

// raceDetector says that these tests are built with the race detector, whose
// memory no worker may have.
const raceDetector = false
