package encoding_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
)

// Let a script read JSON and write YAML, and nothing else.
func ExampleJSON() {
	e := engine.New(&engine.Options{Modules: []tool.Module{encoding.JSON(), encoding.YAML()}})
	script := tool.Script{Path: "convert.star", Source: `
def convert(text: str) -> str:
    """Write JSON as YAML."""
    return yaml.encode(json.decode(text))

tool(convert)
`}
	out, err := e.Run(context.Background(), script, tool.Call{Args: value.NewDict("text", `{"name": "Ada", "tags": ["a", "b"]}`)}, nil)
	fmt.Println(out.Value, err)
	// Output:
	// name: Ada
	// tags:
	//   - a
	//   - b
	//  <nil>
}
