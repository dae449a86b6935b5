//go:build !race

package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cassidy-run/cassidy"

	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Make a call that survives its process: it waits for an approval, and continues
// in another host.
func ExampleDurable() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	if err := begin(ctx, dir); err != nil {
		fmt.Println(err)
	}
	if err := finish(ctx, dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// approval waits for 1 answer
	// release-1:1.3:1: the tool 'write_file' needs approval to change RELEASED
	// File written successfully: RELEASED (3 bytes)
}

// Follow what happens in a call.
func ExampleEventFilter() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := follow(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// write_file {"filepath":"a.txt","content":"one"}
	// write_file true File written successfully: a.txt (3 bytes)
}

// follow makes a call, and shows its events.
func follow(ctx context.Context, dir string) error {
	host, err := cassidy.Open(dir, nil)
	if err != nil {
		return err
	}
	defer host.Close()
	events := host.Subscribe(ctx, cassidy.EventFilter{Run: "count-1"})
	_, err = host.Call(ctx, tool.Call{ID: "count-1", Tool: "write_file", Args: value.NewDict("filepath", "a.txt", "content", "one"), Caller: tool.ByPerson})
	if err != nil {
		return err
	}
	if err := host.Close(); err != nil {
		return err
	}
	show(events)
	return nil
}

// show shows events until there are no more.
func show(events <-chan cassidy.Event) {
	for e := range events {
		switch d := e.Data.(type) {
		case cassidy.ToolCallStart:
			fmt.Println(e.Tool, d.Args)
		case cassidy.ToolCallEnd:
			fmt.Println(e.Tool, d.Success, d.Result)
		case cassidy.Lost:
			fmt.Println(d.N, "events were dropped")
		}
	}
}

// open opens a host whose runs are recorded in a folder, until done is called.
func open(dir string, o *cassidy.Options) (host *cassidy.Host, done func(), err error) {
	store, err := sqlite.Open(filepath.Join(dir, "runs"))
	if err != nil {
		return nil, nil, err
	}
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Store: store})
	if err != nil {
		return nil, nil, errors.Join(err, store.Close())
	}
	done = func() { _ = errors.Join(shared.Close(), store.Close()) }
	o.Dir = dir
	if host, err = shared.Open(cassidy.Dir(dir), o); err != nil {
		done()
		return nil, nil, err
	}
	return host, done, nil
}

// begin makes a call that nobody approves.
func begin(ctx context.Context, dir string) error {
	host, done, err := open(dir, &cassidy.Options{})
	if err != nil {
		return err
	}
	defer done()
	call := tool.Call{Tool: "write_file", Args: value.NewDict("filepath", "RELEASED", "content", "1.4")}
	_, err = host.Call(ctx, call, cassidy.Durable("release-1"))
	var parked *cassidy.ParkedError
	if !errors.As(err, &parked) {
		return err
	}
	fmt.Printf("%s waits for %d answer\n", parked.Reason, len(parked.Questions))
	return nil
}

// finish answers what is asked, and resumes the call: in another process, days
// later.
func finish(ctx context.Context, dir string) error {
	host, done, err := open(dir, &cassidy.Options{})
	if err != nil {
		return err
	}
	defer done()
	for q, err := range host.Waiting(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s\n", q.ID, q.Text)
		if err := host.Answer(ctx, q.ID, tool.Answer{Yes: true, By: "Ann", Why: "tested"}); err != nil {
			return err
		}
	}
	result, err := host.Resume(ctx, "release-1")
	if err != nil {
		return err
	}
	fmt.Println(result.Text())
	return nil
}

// Run a script that survives its process: it waits for an answer, is resumed by
// its kind, replayed, and undone.
func ExampleHost_replay() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := release(context.Background(), dir); err != nil {
		fmt.Println(err)
	}
	// Output:
	// File written successfully: RELEASED (3 bytes)
	// replay: 4 steps, <nil>
	// undone: fs.commit
}

func release(ctx context.Context, dir string) error {
	h, done, err := open(dir, &cassidy.Options{Approver: host.ApproveAll()})
	if err != nil {
		return err
	}
	defer done()
	program := host.Program{
		Name: "release",
		Script: tool.Script{Name: "release", Path: "release.star", Source: `
def main(version):
    if not human.confirm("Publish %s?" % version):
        return "not published"
    return tools.write_file(filepath = "RELEASED", content = version)
`},
		Entry:     "main",
		Args:      value.NewDict("version", "1.4"),
		Needs:     []tool.Capability{{Name: "human"}, {Name: "tool"}},
		Recording: host.Recording{Kind: "release", Title: "release 1.4", Parks: true},
	}
	kind := host.Kind{Name: program.Kind, Resume: func(ctx context.Context, h *host.Host, r host.Recorded) (tool.Result, error) {
		p := program // with the script and the arguments of the record
		p.ID, p.Resume = r.ID, true
		out, err := h.RunProgram(ctx, &p)
		return tool.Succeed(out), err
	}}
	if err := h.RegisterKind(kind); err != nil {
		return err
	}

	p := program
	p.ID = "release-1"
	if _, err := h.RunProgram(ctx, &p); value.KindOf(err) != value.Parked { // Options.Asker is nil
		return err
	}
	question := p.ID + ":1:1" // the first question at step 1
	if err := h.Answer(ctx, question, tool.Answer{Yes: true}); err != nil {
		return err
	}
	result, err := h.Resume(ctx, p.ID)
	if err != nil {
		return err
	}
	fmt.Println(result.Text())

	again, err := h.Replay(ctx, host.Replay{Program: &p})
	if err != nil {
		return err
	}
	fmt.Printf("replay: %d steps, %v\n", again.Steps, again.Err)

	undone, err := host.Operate(h).UndoRun(ctx, operate.Undo{Run: p.ID})
	if err != nil {
		return err
	}
	fmt.Printf("undone: %s\n", undone.Done[0].What)
	return nil
}
