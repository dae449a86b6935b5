package runtime

import "log/slog"

// log returns where the host logs.
func (h *Host) log() *slog.Logger {
	if h.opts.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return h.opts.Logger
}
