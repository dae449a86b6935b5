package project

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Modules returns the effects on what a project knows of itself: context.read
// tells it, and skill.create adds to it. They have capabilities of their own,
// so that a tool can have them without the right to read or write .cassidy.
// root is the project's folder; "" means that there is none. Of the options
// Home, Files, Trust and TrustOnce count: what of the project the user does not trust
// is left out. o returns them at each use, concurrently.
func Modules(root string, o func() *Options) []tool.Module {
	return []tool.Module{
		{Name: "context", Doc: "What a model should know of the project.", Funcs: []tool.Func{contextRead(root, o)}},
		{Name: "skill", Doc: "Instructions for kinds of tasks.", Funcs: []tool.Func{skillCreate(root, o)}},
	}
}

func contextRead(root string, o func() *Options) tool.Func {
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
		Target:  needs("context.read"),
		Do: func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			text, err := Context(ctx, root, o(), e.Args.Text("level"))
			return tool.Outcome{Value: text}, err
		},
	}
}

func skillCreate(root string, o func() *Options) tool.Func {
	text := func(name, doc string) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Description: doc, Required: true}
	}
	requires := tool.Param{
		Name: "requires", Type: tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeString}},
		Description: "the names of skills that it builds on", Default: value.List{}, HasDefault: true,
	}
	location := tool.Param{
		Name: "location", Type: tool.Type{Name: tool.TypeString, Enum: []value.Value{string(tool.Project), string(tool.Personal)}},
		Description: "whether it is the project's or the user's", Default: string(tool.Project), HasDefault: true,
	}
	auto := tool.Param{
		Name: "auto_invoke", Type: tool.Type{Name: tool.TypeBoolean},
		Description: "whether a model may use it without being told to", Default: true, HasDefault: true,
	}
	return tool.Func{
		Name: "create",
		Doc:  "Create a skill: a Markdown file with instructions for a kind of task. One that exists is never replaced.",
		Params: []tool.Param{
			text("name", "its name in kebab-case"), text("title", "the heading for people"),
			text("description", "what it is for and when to use it"), text("content", "the instructions, in Markdown"),
			auto, requires, location,
		},
		Returns: "the path of the file and what to do next, as text",
		Kind:    tool.External,
		Target:  needs("skill.create"),
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			s, err := CreateSkill(root, o(), *newSkill(e.Args))
			if err != nil {
				return tool.Outcome{}, err
			}
			return tool.Outcome{Value: createdSkill(&s)}, nil
		},
	}
}

// needs makes the Target of a row whose capability has no target.
func needs(name string) func(*value.Dict) ([]tool.Capability, error) {
	return func(*value.Dict) ([]tool.Capability, error) {
		return []tool.Capability{{Name: name}}, nil
	}
}
