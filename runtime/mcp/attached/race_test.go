//go:build race

package attached

// raceBuild says that reading many messages takes long.
const raceBuild = true
