//go:build !linux || !(amd64 || arm64)

package sandbox

// LaunchTestMain has nothing to do here.
func LaunchTestMain() bool { return false }
