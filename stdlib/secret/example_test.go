package secret_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// Give scripts some variables, and no other environment.
func ExampleEnv() {
	env := map[string]string{"CITY": "Vienna"}
	lookup := func(_ context.Context, name string) (string, error) {
		if val, ok := env[name]; ok {
			return val, nil
		}
		return "", value.ErrNotFound
	}
	modules := []tool.Module{secret.Env(lookup, nil)}
	h, err := host.New(&host.Options{Sandbox: sandbox.NewInline(modules...), Modules: modules})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	ctx := context.Background()
	script := tool.Script{Name: "city", Path: "city.star", Source: `
def city() -> str:
    """Return the city, and the street where it is set."""
    return "%s, %s" % (env.get("CITY"), env.get("STREET", "any street"))

tool(city, needs = ["env:CITY", "env:STREET"])
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
	result, err := h.Call(ctx, tool.Call{Tool: "city", Args: value.NewDict()})
	fmt.Println(result.Value, err)
	// Output: Vienna, any street <nil>
}
