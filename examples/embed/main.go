// Embed opens a folder of tools, adds one that is written in Go, and calls
// both. Run it from the root of the module:
//
//	go run ./examples/embed [DIR]
//
// DIR is a project whose tools are in .cassidy/tools; without it, that is
// examples/quickstart.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func main() {
	sandbox.Main(stdlib.Pure()...) // tools run in separate processes of this program

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
	// The tools of the folder belong to the program.
	host, err := cassidy.Open(dir, &cassidy.Options{TrustSource: true})
	if err != nil {
		return err
	}
	defer host.Close()

	// The types of the function define the parameters and the result of the tool.
	orderStatus := cassidy.Tool{Name: "order_status", Description: "Return the status of an order."}
	if err := cassidy.AddTool(host, orderStatus, status); err != nil {
		return err
	}

	for _, call := range []cassidy.Call{
		{Tool: "word_count", Args: cassidy.NewDict("filepath", "notes/handbook.md")},
		{Tool: "order_status", Args: cassidy.NewDict("order", 1025)},
	} {
		result, err := host.Call(ctx, call)
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", call.Tool, result.Text())
	}
	return nil
}

type statusIn struct {
	Order int `json:"order" jsonschema:"the number of the order"`
}

type statusOut struct {
	Order  int    `json:"order"`
	Status string `json:"status"`
}

// status is the tool: it can use everything in the program.
func status(_ context.Context, in statusIn) (statusOut, error) {
	orders := map[int]string{1024: "delivered", 1025: "waiting for payment"}
	if orders[in.Order] == "" {
		return statusOut{}, fmt.Errorf("order %d: %w", in.Order, cassidy.ErrNotFound)
	}
	return statusOut{Order: in.Order, Status: orders[in.Order]}, nil
}
