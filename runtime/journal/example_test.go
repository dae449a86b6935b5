package journal_test

import (
	"context"
	"fmt"
	"time"

	"github.com/cassidy-run/cassidy/runtime/journal"
)

// Store a run with one frame, and read it.
func ExampleMemory() {
	ctx, store := context.Background(), journal.Memory()
	defer store.Close()
	w := &journal.Write{
		New:    &journal.Row{Tenant: "acme", ID: "r", Kind: "demo", Nonce: "n", Updated: time.Unix(0, 0).UTC()},
		Frames: []journal.Frame{{Seq: 0, Body: []byte("a frame")}},
	}
	if err := store.Commit(ctx, []*journal.Write{w}); err != nil {
		fmt.Println(err)
		return
	}
	stored, err := store.Load(ctx, w.Num)
	fmt.Println(len(stored.Frames), err)
	_, err = store.Find(ctx, "another tenant", "r")
	fmt.Println(err)
	// Output:
	// 1 <nil>
	// run 'r' does not exist
}
