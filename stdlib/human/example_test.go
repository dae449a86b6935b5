package human_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib/human"
)

// Let scripts ask, with a program that answers.
func ExampleModule() {
	modules := []tool.Module{human.Module(), human.Notices()}
	asker := host.AskerFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
		fmt.Println(q.Text)
		return tool.Answer{Value: "Ada"}, nil
	})
	h, err := host.New(&host.Options{Sandbox: sandbox.NewInline(modules...), Modules: modules, Asker: asker})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	ctx := context.Background()
	script := tool.Script{Name: "greet", Path: "greet.star", Source: `
def greet() -> str:
    """Greet a person by name."""
    return "Hello, " + human.ask("Your name?")

tool(greet, needs = ["human"])
`}
	described, err := h.Describe(ctx, script)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := h.RegisterScript(toolset.Info{Tool: described.Tool}, func() (tool.Script, error) { return script, nil }); err != nil {
		fmt.Println(err)
		return
	}
	result, err := h.Call(ctx, tool.Call{Tool: "greet", Args: value.NewDict()})
	fmt.Println(result.Value, err)
	// Output:
	// Your name?
	// Hello, Ada <nil>
}
