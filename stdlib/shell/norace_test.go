//go:build !race

package shell

// raceBuild says that the stages start slowly.
const raceBuild = false
