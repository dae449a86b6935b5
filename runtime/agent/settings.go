package agent

import (
	"cmp"
	"time"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Settings are what is recorded of an agent with each of its runs, so that
// another process can make the same agent again: the part of [Options] that is
// data.
type Settings struct {
	Name               string        // of the agent, see [Options].Name
	Model              string        // names the model, see [Options].ModelName
	Idle               time.Duration // see [Options].Idle
	Policy             string
	Format             decision.Format
	Tools              []string // nil is every tool
	Iterations         int
	Context            string
	WorkDir            string
	Budget             Budget
	RepeatInstructions bool
	NoInference        bool
	MaxResult          int
	Depth              int
}

// settings are those of the options.
func (o *Options) settings() Settings {
	return Settings{
		Name: o.Name, Model: cmp.Or(o.ModelName, o.Model.Name()), Idle: o.Idle, Policy: o.Policy, Format: o.Format, Tools: o.Tools, Iterations: o.Iterations,
		Context: o.Context, WorkDir: o.WorkDir, Budget: o.Budget, RepeatInstructions: o.RepeatInstructions, NoInference: o.NoInference,
		MaxResult: o.MaxResult, Depth: o.Depth,
	}
}

// Apply sets the options to the settings. Opening the model is left to the caller.
func (s *Settings) Apply(o *Options) {
	o.Name, o.ModelName, o.Idle, o.Policy, o.Format, o.Tools, o.Iterations = s.Name, s.Model, s.Idle, s.Policy, s.Format, s.Tools, s.Iterations
	o.Context, o.WorkDir, o.Budget, o.RepeatInstructions, o.NoInference = s.Context, s.WorkDir, s.Budget, s.RepeatInstructions, s.NoInference
	o.MaxResult, o.Depth = s.MaxResult, s.Depth
}

// dict is the settings as they are recorded. Zero fields are left out.
func (s *Settings) dict() *value.Dict {
	d := value.NewDict("model", s.Model, "policy", s.Policy, "dir", s.WorkDir)
	put := func(name string, v value.Value, set bool) {
		if set {
			d.Put(name, v)
		}
	}
	if s.Tools != nil {
		list := make(value.List, len(s.Tools))
		for i, name := range s.Tools {
			list[i] = name
		}
		d.Put("tools", list)
	}
	put("agent", s.Name, s.Name != "")
	put("idle_ms", s.Idle.Milliseconds(), s.Idle > 0)
	put("format", string(s.Format), s.Format != "")
	put("iterations", int64(s.Iterations), s.Iterations > 0)
	put("context", s.Context, s.Context != "")
	put("repeat_instructions", true, s.RepeatInstructions)
	put("no_inference", true, s.NoInference)
	put("max_result", int64(s.MaxResult), s.MaxResult > 0)
	put("depth", int64(s.Depth), s.Depth > 0)
	if b := s.Budget; b != (Budget{}) {
		d.Put("budget", value.NewDict("limit", int64(b.Limit), "reserve", int64(b.Reserve), "warn_at", b.WarnAt, "compact_at", b.CompactAt,
			"message_warn", int64(b.MessageWarn), "message_max", int64(b.MessageMax), "thread_max", int64(b.ThreadMax)))
	}
	return d
}

// ReadSettings reads the settings of an agent from the Options of a recorded run.
func ReadSettings(d *value.Dict) (Settings, error) {
	r := dictReader{dict: d}
	s := Settings{
		Name: part[string](&r, "agent"), Model: part[string](&r, "model"), Idle: time.Duration(r.count("idle_ms")) * time.Millisecond, Policy: part[string](&r, "policy"),
		Format: decision.Format(part[string](&r, "format")), Iterations: r.count("iterations"), Context: part[string](&r, "context"), WorkDir: part[string](&r, "dir"),
		RepeatInstructions: part[bool](&r, "repeat_instructions"), NoInference: part[bool](&r, "no_inference"),
		MaxResult: r.count("max_result"), Depth: r.count("depth"),
	}
	if d.Has("tools") {
		s.Tools = append([]string{}, r.texts("tools")...) // an empty list is no tools
	}
	if b := part[*value.Dict](&r, "budget"); b != nil {
		one := dictReader{dict: b}
		s.Budget = Budget{
			Limit: one.count("limit"), Reserve: one.count("reserve"), WarnAt: part[float64](&one, "warn_at"), CompactAt: part[float64](&one, "compact_at"),
			MessageWarn: one.count("message_warn"), MessageMax: one.count("message_max"), ThreadMax: one.count("thread_max"),
		}
		r.fail(one.err)
	}
	return s, r.err
}
