//go:build !race

package cassidy_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Add a Go function as a tool, call it, and decode its result.
func ExampleAddTool() {
	host, err := cassidy.Open("examples/quickstart", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	type priceIn struct {
		Item  string `json:"item" jsonschema:"the name of the item"`
		Count int    `json:"count,omitempty" jsonschema:"how many; 1 if it is not given"`
	}
	type priceOut struct {
		Cents int `json:"cents"`
	}
	price := func(_ context.Context, in priceIn) (priceOut, error) {
		if in.Item != "bolt" {
			return priceOut{}, fmt.Errorf("%s: %w", in.Item, cassidy.ErrNotFound)
		}
		return priceOut{Cents: 5 * max(in.Count, 1)}, nil
	}
	if err := cassidy.AddTool(host, cassidy.Tool{Name: "price", Description: "Return what items cost."}, price); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	result, err := host.Call(ctx, cassidy.Call{Tool: "price", Args: cassidy.NewDict("item", "bolt", "count", 3)})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := cassidy.Decode[priceOut](result.Value)
	fmt.Println(out.Cents, err)
	_, err = host.Call(ctx, cassidy.Call{Tool: "price", Args: cassidy.NewDict("item", "nut")})
	fmt.Println(errors.Is(err, cassidy.ErrNotFound), err)
	_, err = host.Call(ctx, cassidy.Call{Tool: "price", Args: cassidy.NewDict("item", "bolt", "count", "many")})
	fmt.Println(errors.Is(err, cassidy.ErrInvalid))
	// Output:
	// 15 <nil>
	// true nut: not found
	// true
}

// Undo what a recorded call did.
func ExampleUndoFunc() {
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Store: journal.Memory()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()
	host, err := shared.Open(cassidy.Source{}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	type bookIn struct {
		Guest string `json:"guest"`
	}
	type bookOut struct {
		Room int `json:"room"`
	}
	rooms := map[int]string{}
	book := func(_ context.Context, in bookIn) (bookOut, error) {
		rooms[7] = in.Guest
		return bookOut{Room: 7}, nil
	}
	cancel := func(_ context.Context, in bookIn, out bookOut) error {
		fmt.Printf("cancel room %d of %s\n", out.Room, in.Guest)
		delete(rooms, out.Room)
		return nil
	}
	err = cassidy.AddTool(host, cassidy.Tool{Name: "book", Description: "Book a room."}, book, cassidy.UndoFunc(cancel))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if _, err := host.Call(ctx, cassidy.Call{Tool: "book", Args: cassidy.NewDict("guest", "Ada")}, cassidy.Durable("booking-1")); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rooms)
	if _, err := host.Undo(ctx, "booking-1"); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(rooms)
	// Output:
	// map[7:Ada]
	// cancel room 7 of Ada
	// map[]
}

// Encode a Go value, and decode it again.
func ExampleEncode() {
	type point struct {
		X     int      `json:"x"`
		Names []string `json:"names,omitempty"`
	}
	v, err := cassidy.Encode([]point{{X: 1}, {X: 2, Names: []string{"b"}}})
	fmt.Println(value.FormatJSON(v, ""), err)
	points, err := cassidy.Decode[[]point](v)
	fmt.Println(points[1].Names, err)
	_, err = cassidy.Decode[[]struct{ X string }](cassidy.List{cassidy.NewDict("X", 1)})
	fmt.Println(err)
	// Output:
	// [{"x":1},{"x":2,"names":["b"]}] <nil>
	// [b] <nil>
	// [0].X: expected a string but got integer
}
