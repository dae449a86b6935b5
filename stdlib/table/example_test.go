package table_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/table"
)

// Let a script group the rows of a text.
func ExampleModule() {
	e := engine.New(&engine.Options{Modules: []tool.Module{table.Module()}})
	script := tool.Script{Path: "sales.star", Source: `
def sales(text: str) -> list[dict]:
    """Add up sales by city."""
    return data.parse(text, format = "csv").group_by("city").agg(total = ("amount", "sum"))

tool(sales)
`}
	text := "city,amount\nRome,3\nOslo,4\nRome,5\n"
	out, err := e.Run(context.Background(), script, tool.Call{Args: value.NewDict("text", text)}, nil)
	fmt.Println(value.FormatJSON(out.Value, ""), err)
	// Output: [{"city":"Rome","total":8},{"city":"Oslo","total":4}] <nil>
}
