//go:build race

package sandbox

// raceDetector says that this program is built with the race detector, whose
// memory no worker may have.
const raceDetector = true
