package calls

import (
	"maps"
	"slices"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Describe returns a tool as the lists of --json have it.
func Describe(t *toolset.Info) *value.Dict {
	d := value.NewDict(
		"name", t.Name,
		"title", t.DisplayTitle(),
		"description", t.Description,
		"group", t.DisplayGroup(),
		"location", string(t.Location),
		"risky", t.NeedsApproval(),
		"hints", Hints(t.Hints),
		"needs", ui.Texts(t.Needs),
		"tags", ui.Texts(t.Tags),
		"state", string(t.State),
	)
	for _, field := range [][2]string{{"reason", t.Reason}, {"path", t.Path}, {"version", t.Version}} {
		if field[1] != "" {
			d.Put(field[0], field[1])
		}
	}
	if t.Deprecated != nil {
		d.Put("deprecated", value.NewDict("since", t.Deprecated.Since, "replacement", t.Deprecated.Replacement, "message", t.Deprecated.Message))
	}
	if schema, err := t.ArgsSchema(); err == nil {
		d.Put("parameters", schema)
	}
	d.Put("token_overhead", int64(t.EstimateOverhead()))
	return d
}

// Hints returns the hints of a tool, as --json prints them.
func Hints(h tool.Hints) *value.Dict {
	d := value.NewDict("read_only", h.ReadOnly, "idempotent", h.Idempotent, "open_world", h.OpenWorld, "untrusted_output", h.UntrustedOutput)
	for _, name := range slices.Sorted(maps.Keys(h.Other)) {
		d.Put(name, h.Other[name])
	}
	return d
}

// Declared returns the declarations of tools.
func Declared(tools []toolset.Info) []tool.Tool {
	return ui.Map(tools, func(t toolset.Info) tool.Tool { return t.Tool })
}
