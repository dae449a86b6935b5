package text_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/text"
)

// Let a script measure and compare texts.
func ExampleText() {
	e := engine.New(&engine.Options{Modules: []tool.Module{text.Text()}})
	script := tool.Script{Path: "close.star", Source: `
def close(a: str, b: str) -> bool:
    """Report whether two words are nearly the same."""
    return text.similarity(a, b) > 0.8

tool(close)
`}
	out, err := e.Run(context.Background(), script, tool.Call{Args: value.NewDict("a", "accommodate", "b", "acommodate")}, nil)
	fmt.Println(out.Value, err)
	// Output: true <nil>
}
