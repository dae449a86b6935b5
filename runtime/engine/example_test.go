package engine_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Read what a script declares, and run it. It can access nothing but its arguments:
// effects would be passed to the last argument of Run.
func ExampleEngine() {
	e := engine.New(nil)
	script := tool.Script{Path: "greet.star", Source: `
def greet(name: str) -> str:
    """Greet somebody."""
    return "Hello " + name

tool(greet)
`}
	declared, err := e.Describe(script)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(declared.Name, declared.Params[0].Name, declared.Params[0].Type.Name)
	out, err := e.Run(context.Background(), script, tool.Call{Args: value.NewDict("name", "Ann")}, nil)
	fmt.Println(out.Value, err)
	// Output:
	// greet name string
	// Hello Ann <nil>
}
