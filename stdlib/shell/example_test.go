package shell_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/shell"
)

// Let a script take a command line apart without a shell.
func ExampleSplit() {
	e := engine.New(&engine.Options{Modules: []tool.Module{shell.Split()}})
	script := tool.Script{Path: "program.star", Source: `
def program(line: str) -> str:
    """Return the program that a command line runs."""
    split = shell.split(line)
    return split["argv"][0] if "argv" in split else split["dynamic"]

tool(program)
`}
	out, err := e.Run(context.Background(), script, tool.Call{Args: value.NewDict("line", "git commit -m 'first try'")}, nil)
	fmt.Println(out.Value, err)
	// Output: git <nil>
}

// Read rules for commands, as a user writes them in config.yaml.
func ExampleParseRules() {
	rules, err := shell.ParseRules(value.NewDict(
		"make", value.NewDict("exec", "any"),
		"go", value.NewDict("args", value.List{"vet ./...", "test **"}),
	))
	fmt.Println(rules["make"].Any, rules["go"].Args, err)
	_, err = shell.ParseRules(value.NewDict("make", value.NewDict("exek", "any")))
	fmt.Println(err)
	// Output:
	// true [vet ./... test **] <nil>
	// commands: make: unknown field "exek"; did you mean "exec"?
}
