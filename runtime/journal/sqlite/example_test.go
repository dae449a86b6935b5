package sqlite_test

import (
	"context"
	"fmt"
	"os"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Keep the records of runs in a folder, which another process can open too.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	begin := func(id string) error {
		store, err := sqlite.Open(dir) // a program gives it to cassidy.New as RuntimeOptions.Store
		if err != nil {
			return err
		}
		defer store.Close() // after the runtime
		j := history.Open(store, nil)
		defer j.Close()
		_, err = j.Begin(context.Background(), history.Run{ID: id, Kind: "demo"}, tool.Script{})
		return err
	}
	fmt.Println(begin("r"))
	fmt.Println(value.KindOf(begin("r")))
	// Output:
	// <nil>
	// conflict
}
