package host

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/host/internal/gate"
	"github.com/cassidy-run/cassidy/runtime/host/internal/rights"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/internal/taint"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxTreeEffects is how many effects a call and all that it calls may ask for, if they
// are not recorded: a tool that calls itself a thousand times at each level would run
// almost forever.
const maxTreeEffects = 10_000

// MaxRunEffects is how many effects a recorded run may ask for, with its calls. It is far
// more than maxTreeEffects, because a person can interrupt, inspect and resume the run.
const MaxRunEffects = 1_000_000

// An inForce is what the gate uses of settings. It does not change.
type inForce struct {
	of   *toolset.Settings
	gate gate.Settings
}

// settings returns what is in force now. It decodes settings once.
func (h *Host) settings() *gate.Settings {
	last := h.inForce.Load()
	if h.opts.Settings == nil {
		return &last.gate
	}
	s := h.opts.Settings()
	if s == nil || s == last.of {
		return &last.gate
	}
	now, err := h.opts.read(s)
	if err != nil {
		now = &inForce{of: s, gate: last.gate}
	}
	h.inForce.Store(now)
	return &now.gate
}

// first returns the settings with which a host begins.
func (o *Options) first() *toolset.Settings {
	if o.Settings != nil {
		if s := o.Settings(); s != nil {
			return s
		}
	}
	return &toolset.Settings{
		Rules: o.Rules, TrustedSources: o.TrustedSources, UntrustedSources: o.UntrustedSources,
		Maxima: toolset.Maxima{Timeout: o.MaxTimeout, Limits: o.MaxLimits, Question: o.QuestionTimeout},
	}
}

// read decodes settings. It fails with kind Invalid if they are invalid.
func (o *Options) read(s *toolset.Settings) (*inForce, error) {
	if i := slices.Index([]bool{o.Timeout < 0, s.Timeout < 0, s.Question < 0, o.Limits.Negative(), s.Limits.Negative(), o.Memory < 0}, true); i >= 0 {
		return nil, value.Errorf(value.Invalid, "Options.%s must not be negative", []string{"Timeout", "MaxTimeout", "QuestionTimeout", "Limits", "MaxLimits", "Memory"}[i])
	}
	rules, err := rights.CheckRules("Options.Rules", s.Rules)
	if err != nil {
		return nil, err
	}
	sources, err := taint.ParseLists(s.TrustedSources, s.UntrustedSources, taint.Files{Names: o.FileNames, WorkDir: o.WorkDir})
	if err != nil {
		return nil, err
	}
	return &inForce{of: s, gate: gate.Settings{Rules: rules, Sources: sources, Bounds: rights.Bounds{
		Timeout: o.Timeout, MaxTimeout: s.Timeout, Limits: o.Limits, MaxLimits: s.Limits, Question: s.Question,
		TreeEffects: maxTreeEffects, RunEffects: MaxRunEffects,
	}}}, nil
}
