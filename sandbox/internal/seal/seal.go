// Package seal confines this process permanently, so that it can compute and do nothing
// else, and verifies from outside that another process is confined.
//
// A worker calls [Apply] before it reads anything of an untrusted author. Its host calls
// [Verify] before it sends that: what a worker reports about itself does not count. On
// Linux, on amd64 and arm64, the layers are resource limits, empty sets of capabilities,
// Landlock and seccomp. Other systems have only the limits of the Go runtime, and [Layers]
// is an error there.
package seal

import "time"

// MaxCPU is the processor time of a worker over its whole life, where the system can limit
// that. It is more than the host's own clock allows.
const MaxCPU = time.Hour
