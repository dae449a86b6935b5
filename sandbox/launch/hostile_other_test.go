//go:build !linux || !(amd64 || arm64)

package launch

// hostileMain has nothing to do here.
func hostileMain() bool { return false }
