package host

import (
	"log/slog"
	"runtime/debug"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// log returns where the host logs.
func (h *Host) log() *slog.Logger {
	if h.opts.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.opts.Logger
}

// panicked returns the error of what panicked, as in "the tool", and logs the stack,
// which leads to the mistake. It does not log the value, which may hold arguments.
// name is that of the tool or the effect. The deferred function that recovers calls it.
func (h *Host) panicked(what, name string, val any) *value.Error {
	h.log().Error(what+" panicked", "name", name, "stack", string(debug.Stack()))
	return value.Errorf(value.Internal, "%s panicked: %v", what, val)
}
