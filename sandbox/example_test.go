package sandbox_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// Run a script that asks for something: the caller carries it out. A pool of workers
// is used in the same way, see [sandbox.NewPool].
func ExampleNewInline() {
	ask := tool.Module{Name: "shop", Funcs: []tool.Func{{
		Name: "price", Kind: tool.Read, Params: []tool.Param{{Name: "item", Type: tool.Type{Name: tool.TypeString}, Required: true}},
	}}}
	box := sandbox.NewInline(ask)
	script := tool.Script{Path: "total.star", Source: `
def total(items: list[str]) -> int:
    """Add up prices."""
    total = 0
    for i in items:
        total += shop.price(i)
    return total

tool(total)
`}
	out, err := box.Run(context.Background(), script, tool.Call{Args: value.NewDict("items", value.List{"nut", "bolt"})},
		func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
			fmt.Println(e.Func, e.Args.Text("item"))
			return tool.Outcome{Value: int64(len(e.Args.Text("item")))}, nil
		})
	fmt.Println(out.Value, err)
	// Output:
	// shop.price nut
	// shop.price bolt
	// 7 <nil>
}
