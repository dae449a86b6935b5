package skill

import (
	"context"

	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Module returns the effects on skills: skill.create adds one. Its capability is
// its own, so that a tool can have it without the right to write .cassidy. root is the
// project's folder; "" means that there is none. o returns the scope at each use,
// concurrently.
func Module(root string, o func() *trust.Scope) tool.Module {
	return tool.Module{Name: "skill", Doc: "Instructions for kinds of tasks.", Funcs: []tool.Func{createFunc(root, o)}}
}

func createFunc(root string, o func() *trust.Scope) tool.Func {
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
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "skill.create"}}, nil
		},
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			s, err := Create(root, o(), *draftOf(e.Args))
			if err != nil {
				return tool.Outcome{}, err
			}
			return tool.Outcome{Value: report(&s)}, nil
		},
	}
}
