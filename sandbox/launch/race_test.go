//go:build race

package launch

// raceBuild says that the stages start slowly.
const raceBuild = true
