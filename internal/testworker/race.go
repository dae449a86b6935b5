//go:build race

package testworker

// raceDetector reports that these tests are built with the race detector, which needs
// more memory than workers may use.
const raceDetector = true
