package history_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Record a run with one effect, and read what it did.
func ExampleJournal() {
	ctx, at := context.Background(), tool.StepPath{1}
	j := history.Open(journal.Memory(), nil)
	defer j.Close()
	log, err := j.Begin(ctx, history.Run{ID: "r", Kind: "demo", Title: "send a letter"}, tool.Script{Path: "demo.star"})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = log.Intend(ctx, history.Intent{StepPath: at, Func: "post.send", Args: value.NewDict("to", "Ann"), Kind: tool.External})
	if err == nil { // it is durable: the effect may be carried out
		err = log.Settle(ctx, at, tool.Outcome{Value: "sent"}, nil)
	}
	if err == nil {
		err = log.End(ctx, "final", tool.Outcome{Value: "done"}, nil)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	for r, err := range j.Runs(ctx, history.Filter{}) {
		fmt.Println(r.ID, r.Title, r.State, r.Result, err)
	}
	for e, err := range j.Entries(ctx, "r") {
		fmt.Println(e.Func, e.Args, e.Outcome.Value, err)
	}
	// Output:
	// r send a letter done done <nil>
	// post.send {"to":"Ann"} sent <nil>
}
