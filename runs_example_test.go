//go:build !race

package cassidy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Run a script that survives its process: it waits for an answer, goes on with
// it, is run again from its record, and is taken back.
func ExampleOptions_journal() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := release(context.Background(), dir, filepath.Join(dir, "runs")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// confirm: Publish 1.4?
	// File written successfully: RELEASED (3 bytes)
	// replay: 4 steps, <nil>
	// taken back: fs.commit
}

func release(ctx context.Context, dir, records string) error {
	host, err := cassidy.Open(dir, &cassidy.Options{Journal: records, Approve: runtime.ApproveAll})
	if err != nil {
		return err
	}
	defer host.Close()
	p := &runtime.Program{
		ID: "release-1", Name: "release",
		Script: tool.Script{Name: "release", Path: "release.star", Source: `
def main(version):
    if not human.confirm("Publish %s?" % version):
        return "not published"
    return tools.write_file(filepath = "RELEASED", content = version)
`},
		Entry:     "main",
		Args:      tool.NewDict("version", "1.4"),
		Needs:     []tool.Capability{{Name: "human"}, {Name: "tool"}},
		Recording: runtime.Recording{Kind: "release", Title: "release 1.4", Parks: true},
	}
	if _, err := host.Run(ctx, p); tool.KindOf(err) != tool.Parked { // Options.Ask is nil: nobody is there
		return err
	}

	// Any process can answer.
	for q, err := range host.Waiting(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", q.Kind, q.Text)
		if err := host.Answer(ctx, q.ID(), history.Answer{Yes: true, By: "Ann"}); err != nil {
			return err
		}
	}

	// Any process can go on, with a program that has the same modules and needs.
	p.Resume = true
	out, err := host.Run(ctx, p)
	if err != nil {
		return err
	}
	fmt.Println(out.Value)

	again, err := host.Replay(ctx, runtime.Replay{Program: p})
	if err != nil {
		return err
	}
	fmt.Printf("replay: %d steps, %v\n", again.Steps, again.Err)

	undone, err := host.Undo(ctx, runtime.Undo{Run: p.ID})
	if err != nil {
		return err
	}
	fmt.Printf("taken back: %s\n", undone.Done[0].What)
	return nil
}
