//go:build race

package sandbox

// launchRace tells that the stages start slowly.
const launchRace = true
