package describe

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Tool returns a tool as the lists of --json have it.
func Tool(t *toolset.Info) *value.Dict {
	d := value.NewDict(
		"name", t.Name,
		"title", t.DisplayTitle(),
		"description", t.Description,
		"group", t.DisplayGroup(),
		"location", string(t.Location),
		"risky", t.NeedsApproval(),
		"hints", hints(t.Hints),
		"needs", texts(t.Needs),
		"tags", texts(t.Tags),
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

// hints returns the hints of a tool, as --json prints them.
func hints(h tool.Hints) *value.Dict {
	d := value.NewDict("read_only", h.ReadOnly, "idempotent", h.Idempotent, "open_world", h.OpenWorld, "untrusted_output", h.UntrustedOutput)
	for _, name := range slices.Sorted(maps.Keys(h.Other)) {
		d.Put(name, h.Other[name])
	}
	return d
}

// FullTool returns a tool as help --json prints it.
func FullTool(t *toolset.Info) *value.Dict {
	d := Tool(t)
	if t.Returns != nil {
		d.Put("returns", t.Returns.JSONSchema())
	}
	if t.ReturnsDoc != "" {
		d.Put("returns_description", t.ReturnsDoc)
	}
	examples := value.List{}
	for _, e := range t.Examples {
		x := value.NewDict("description", e.Description, "code", t.CallText(e.Args), "args", e.Args)
		if e.HasExpect {
			x.Put("expect", e.Expect)
		}
		examples = append(examples, x)
	}
	d.Put("examples", examples)
	if t.Timeout > 0 {
		d.Put("timeout", t.Timeout.Seconds())
	}
	return d
}

// texts returns a list as texts.
func texts[T any](list []T) value.List {
	return value.Map(list, func(v T) value.Value { return fmt.Sprint(v) })
}

// count returns a number with what it counts.
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Origin describes the source of a tool: "" if it is cassidy's own.
func Origin(t *toolset.Info) string {
	if t.Location == tool.Builtin {
		return ""
	}
	where := map[tool.Location]string{
		tool.Project:  "this project",
		tool.Personal: "your own tools",
		tool.Embedded: "the program that runs it",
	}[t.Location]
	if where == "" {
		where = string(t.Location)
	}
	if t.Path != "" {
		where += ": " + t.Path
	}
	return where
}
