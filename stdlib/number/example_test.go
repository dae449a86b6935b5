package number_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/number"
)

// Let a script compute exactly: integers have any length.
func ExampleMath() {
	e := engine.New(&engine.Options{Modules: []tool.Module{number.Math()}})
	script := tool.Script{Path: "hands.star", Source: `
def hands(cards: int) -> int:
    """Count the hands of five cards."""
    return math.factorial(cards) // (math.factorial(5) * math.factorial(cards - 5))

tool(hands)
`}
	out, err := e.Run(context.Background(), script, tool.Call{Args: value.NewDict("cards", 52)}, nil)
	fmt.Println(out.Value, err)
	// Output: 2598960 <nil>
}
