package project

import (
	"context"

	"github.com/cassidy-run/cassidy/internal/memory"
	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Modules returns the effects on the project itself: context.read describes it,
// skill.create adds a skill, and memory.add a note. They have their own capabilities, so a tool can have them
// without access to .cassidy. root is the project's folder; "" means no project.
// Untrusted files of the project are left out. o returns the current scope; it is
// called concurrently.
func Modules(root string, o func() *trust.Scope) []tool.Module {
	return []tool.Module{
		{Name: "context", Doc: "A description of the project for models.", Funcs: []tool.Func{contextRead(root, o)}},
		skill.Module(root, o),
		memory.Module(root, o),
	}
}

func contextRead(root string, o func() *trust.Scope) tool.Func {
	level := tool.Param{
		Name: "level", Type: tool.Type{Name: tool.TypeString, Enum: []value.Value{levelMinimal, levelStandard, levelComprehensive}},
		Description: "minimal, standard or comprehensive", Default: levelStandard, HasDefault: true,
	}
	return tool.Func{
		Name:    "read",
		Doc:     "Describe the project. The description has the notes and skills of the project. Level standard adds the files and the git branch of the project. Level comprehensive also adds the recent commits, the largest files and the newest files.",
		Params:  []tool.Param{level},
		Returns: "Markdown of at most 8,000 characters",
		Kind:    tool.Read,
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "context.read"}}, nil
		},
		Do: func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			text, paths, err := Named(ctx, root, o(), e.Args.Text("level"))
			return tool.Outcome{Value: text, Names: func() []string { return paths }}, err
		},
	}
}
