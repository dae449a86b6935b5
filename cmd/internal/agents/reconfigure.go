package agents

import (
	"cmp"
	"context"
	"reflect"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A choice is what the flags and the config choose of the options of an agent.
type choice struct {
	config              config.Config // only the fields of ofAgents
	format, docs        string        // of the flags, or ""
	repeats, repeatsSet bool
}

// ofAgents returns the fields of a config from which an agent is made.
func ofAgents(c *config.Config) config.Config {
	return config.Config{Model: c.Model, Format: c.Format, Docs: c.Docs, RepeatInstructions: c.RepeatInstructions, Providers: c.Providers, Models: c.Models}
}

// apply sets the options that flags and the config choose, without the model.
func (c *choice) apply(o *agent.Options) {
	o.Format, o.Docs = decision.Format(cmp.Or(c.format, c.config.Format)), cmp.Or(c.docs, c.config.Docs)
	o.RepeatInstructions = c.repeats || c.config.RepeatInstructions && !c.repeatsSet
}

// Reconfigure changes options of an agent as the config is now: its model, unless flags have chosen one,
// how that is reached, and the format. It reports whether one of these fields has changed. If it fails, the
// options are the same, and it does not fail again for the same config. It fails with kind Conflict if tools
// could have written the config.
func (s *Setup) Reconfigure(ctx context.Context, a *app.App, h *host.Host, o *agent.Options) (changed bool, err error) {
	conf, err := a.ReadConfig("")
	if err != nil {
		return false, nil // a refresh of the host reports it
	}
	next := s.chosen
	if next.config = ofAgents(&conf); reflect.DeepEqual(next.config, s.chosen.config) {
		return false, nil
	}
	s.chosen = next
	root, err := a.Root()
	if err != nil {
		return false, err
	}
	if file := a.ConfigFile(); (&config.Options{File: file}).IsWithin(root) {
		return false, value.Errorf(value.Conflict, "%s: the changed model, providers or format are not applied to this chat, because tools can write this file", file).
			WithHint("to apply the changes, quit this chat and start cassidy chat again; to apply later changes without a restart, move the file out of the project")
	}
	own := *o
	next.apply(&own)
	if err := SetModel(ctx, a, h, &own, s.Word); err != nil {
		return false, err
	}
	*o = own
	return true, nil
}
