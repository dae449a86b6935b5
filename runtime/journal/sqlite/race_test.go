//go:build race

package sqlite

// raceDetector makes SQLite some thirty times slower, so there are fewer rounds.
const raceDetector = true
