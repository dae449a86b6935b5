package skill

import (
	"context"

	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Module returns the effects on skills: skill.create adds one. It has its own
// capability, so a tool can have it without write access to .cassidy. root is the
// project's folder; "" means no project. o returns the current scope; it is called
// concurrently.
func Module(root string, o func() *trust.Scope) tool.Module {
	return tool.Module{Name: "skill", Doc: "Instructions for a kind of task.", Funcs: []tool.Func{createFunc(root, o)}}
}

func createFunc(root string, o func() *trust.Scope) tool.Func {
	text := func(name, doc string) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Description: doc, Required: true}
	}
	requires := tool.Param{
		Name: "requires", Type: tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeString}},
		Description: "the names of required skills", Default: value.List{}, HasDefault: true,
	}
	location := tool.Param{
		Name: "location", Type: tool.Type{Name: tool.TypeString, Enum: []value.Value{string(tool.Project), string(tool.Personal)}},
		Description: "where to create the skill: project or personal", Default: string(tool.Project), HasDefault: true,
	}
	auto := tool.Param{
		Name: "auto_invoke", Type: tool.Type{Name: tool.TypeBoolean},
		Description: "whether a model may load the skill if the user did not ask for it", Default: true, HasDefault: true,
	}
	return tool.Func{
		Name: "create",
		Doc:  "Create a skill: a Markdown file with instructions for a kind of task. Existing skills are never replaced.",
		Params: []tool.Param{
			text("name", "the name in kebab-case"), text("title", "the heading for people"),
			text("description", "what the skill is for, and when to use it"), text("content", "the instructions, in Markdown"),
			auto, requires, location,
		},
		Returns: "the path of the file and what to do next, as text",
		Kind:    tool.External,
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "skill.create"}}, nil
		},
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			draft, err := value.ToGo[Draft](e.Args)
			if err != nil {
				return tool.Outcome{}, err
			}
			s, err := Create(root, o(), draft)
			if err != nil {
				return tool.Outcome{}, err
			}
			return tool.Outcome{Value: report(&s)}, nil
		},
	}
}
