package project

import (
	"context"

	"github.com/cassidy-run/cassidy/internal/skill"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Modules returns the effects on what a project knows of itself: context.read
// tells it, and skill.create adds to it. They have capabilities of their own,
// so that a tool can have them without the right to read or write .cassidy.
// root is the project's folder; "" means that there is none. What of the
// project the user does not trust is left out. o returns the scope at each use,
// concurrently.
func Modules(root string, o func() *trust.Scope) []tool.Module {
	return []tool.Module{
		{Name: "context", Doc: "What a model should know of the project.", Funcs: []tool.Func{contextRead(root, o)}},
		skill.Module(root, o),
	}
}

func contextRead(root string, o func() *trust.Scope) tool.Func {
	level := tool.Param{
		Name: "level", Type: tool.Type{Name: tool.TypeString, Enum: []value.Value{levelMinimal, levelStandard, levelComprehensive}},
		Description: "how much to tell", Default: levelStandard, HasDefault: true,
	}
	return tool.Func{
		Name:    "read",
		Doc:     "Tell what the project is: its notes and skills; from level standard on its files and git branch; at comprehensive also recent commits and the largest and latest files.",
		Params:  []tool.Param{level},
		Returns: "Markdown of at most 8,000 characters",
		Kind:    tool.Read,
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "context.read"}}, nil
		},
		Do: func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			text, err := Context(ctx, root, o(), e.Args.Text("level"))
			return tool.Outcome{Value: text}, err
		},
	}
}
