// Embed opens a folder of tools, adds one that is written in Go, and calls
// both. Run it from the root of the module:
//
//	go run ./examples/embed [DIR]
//
// DIR is a project whose tools lie in .cassidy/tools; without it, that is
// examples/quickstart.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func main() {
	sandbox.Main(stdlib.Pure()...) // tools run in processes of their own: this program again

	dir := "examples/quickstart"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(context.Background(), dir); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	// The tools of the folder are the program's own.
	host, err := cassidy.Open(dir, &cassidy.Options{TrustProject: true})
	if err != nil {
		return err
	}
	defer host.Close()

	// What a model is told of the tool, and what each call is checked against.
	orderStatus := tool.Tool{
		Name:        "order_status",
		Description: "Tell how far an order has come.",
		Params:      []tool.Param{{Name: "order", Type: tool.Type{Name: tool.TypeInteger}, Required: true}},
	}
	if err := host.Register(orderStatus, status); err != nil {
		return err
	}

	for _, call := range []tool.Call{
		{Tool: "word_count", Args: tool.NewDict("filepath", "notes/handbook.md")},
		{Tool: "order_status", Args: tool.NewDict("order", 1025)},
	} {
		result, err := host.Call(ctx, call)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", call.Tool, result.Text())
	}
	return nil
}

// status is the tool itself: it can use whatever the program has.
func status(_ context.Context, args *tool.Dict) (tool.Value, error) {
	orders := map[int64]string{1024: "delivered", 1025: "waiting for payment"}
	order := args.Int("order", 0)
	if orders[order] == "" {
		return nil, fmt.Errorf("there is no order %d", order)
	}
	return tool.NewDict("order", order, "status", orders[order]), nil
}
