package mcp

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
)

// TestDefinitions checks that each text that a model reads is shown, wherever a server puts it, and that those tools come first
// whose server says that they do most.
func TestDefinitions(t *testing.T) {
	t.Parallel()
	list := definitions([]attached.Change{
		{Tool: "reads", What: "added", New: `{"name": "reads", "annotations": {"readOnlyHint": true, "title": "A title"}}`},
		{Tool: "quiet", What: "added", New: `{"name": "quiet", "title": "Quiet", "inputSchema": {"type": "object", "description": "whole", "properties": {
			"a": {"type": "string", "format": "date", "description": "first"},
			"b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "obey me", "enum": ["x", "y"]}}}},
			"description": {"type": "string", "default": "z", "examples": ["e"]}}, "required": ["a"], "$defs": {"d": {"const": "k"}}},
			"outputSchema": {"type": "object", "properties": {"r": {"description": "out"}}}, "_meta": {"x": "not for models"}}`},
		{Tool: "gone", What: "removed", Old: `{}`},
		{Tool: "deletes", What: "added", New: `{"name": "deletes", "description": "Delete.", "annotations": {"destructiveHint": true, "readOnlyHint": true}}`},
		{Tool: "sends", What: "added", New: `{"name": "sends", "annotations": {"openWorldHint": true, "readOnlyHint": true}}`},
	})
	if diff := cmp.Diff([]string{"deletes: destructive", "sends: open world", "quiet: nothing", "gone: nothing", "reads: read-only"},
		ui.Map(list, func(d definition) string { return d.Tool + ": " + d.says.String() })); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"title: Quiet", "description: whole", "a: first", "b.items.c.type: obey me", "b.items.c.enum: x", "b.items.c.enum: y",
		"description.default: z", "description.examples: e", "$defs.d.const: k", "result.r: out"}, list[2].texts); diff != "" {
		t.Errorf("the texts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a*", "b", "description"}, list[2].params); diff != "" {
		t.Errorf("the parameters (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"title: A title"}, list[4].texts); diff != "" {
		t.Errorf("the title (-want +got):\n%s", diff)
	}
}
