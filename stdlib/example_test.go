package stdlib_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

// Give scripts the functions that only compute. Those that act are the modules of
// [stdlib.Open].
func ExamplePure() {
	e := engine.New(&engine.Options{Modules: stdlib.Pure()})
	script := tool.Script{Path: "slug.star", Source: `
def slug(title: str) -> str:
    """Make a title a name."""
    return text.slug(title)

tool(slug)
`}
	out, err := e.Run(context.Background(), script, tool.Call{Args: value.NewDict("title", "Straße & Weg!")}, nil)
	fmt.Println(out.Value, err)
	// Output: strasse-weg <nil>
}
