//go:build !race

package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Approve as a server does: a call that nobody approves is parked, its question is
// shown to somebody, and the answer, with other arguments, comes in by its ID, later
// and in another process.
func ExampleAnswer() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	id, err := request(ctx, dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := cassidy.Answer{Yes: true, Args: value.NewDict("version", "1.4.1"), By: "Ann"}
	if err := decide(ctx, dir, id, answer); err != nil {
		fmt.Println(err)
	}
	// Output:
	// approval: publish, it is tested
	// because the author marked the tool as risky
	// 1.4.1 is published
	// a used answer cannot be corrected: true
}

// request begins a call, and returns the ID of the question that it waits for.
func request(ctx context.Context, dir string) (string, error) {
	host, done, err := open(dir, &cassidy.Options{}) // Options.Approver is nil: nobody is asked
	if err != nil {
		return "", err
	}
	defer done()
	if err := addPublish(host); err != nil {
		return "", err
	}
	call := tool.Call{Tool: "publish", Args: value.NewDict("version", "1.4"), Reasoning: "it is tested"}
	_, err = host.Call(ctx, call, cassidy.Durable("release"))
	var parked *cassidy.ParkedError
	if !errors.As(err, &parked) {
		return "", err
	}
	return parked.Questions[0].ID, nil
}

// addPublish adds a tool that asks before it runs.
func addPublish(host *cassidy.Host) error {
	type release struct {
		Version string `json:"version"`
	}
	return cassidy.AddTool(host, cassidy.Tool{Name: "publish", Description: "Publish a version.", Risky: true},
		func(_ context.Context, r release) (string, error) { return r.Version + " is published", nil })
}

// decide shows what waits, answers it, and continues the run.
func decide(ctx context.Context, dir string, id string, answer cassidy.Answer) error {
	host, done, err := open(dir, &cassidy.Options{})
	if err != nil {
		return err
	}
	defer done()
	if err := addPublish(host); err != nil {
		return err
	}
	for q, err := range host.Waiting(ctx) {
		if err != nil {
			return err
		}
		fmt.Printf("%s: %s, %s\n", q.Kind, q.Tool, q.Reasoning)
		fmt.Printf("because %s\n", q.Why)
	}
	if err := host.Answer(ctx, id, answer); err != nil {
		return err
	}
	result, err := host.Resume(ctx, "release")
	if err != nil {
		return err
	}
	fmt.Println(result.Text())
	err = host.Answer(ctx, id, cassidy.Answer{Why: "not today"})
	fmt.Println("a used answer cannot be corrected:", errors.Is(err, cassidy.ErrConflict))
	return nil
}

// Ask on a terminal: one question at a time.
func ExampleSerial() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ask := cassidy.ApproverFunc(func(_ context.Context, q cassidy.Question) (cassidy.Answer, error) {
		fmt.Println(q.Text)
		return cassidy.Answer{Why: "not today"}, nil
	})
	host, err := cassidy.Open(dir, &cassidy.Options{Approver: cassidy.Serial(ask)})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	_, err = host.Call(context.Background(), tool.Call{Tool: "write_file", Args: value.NewDict("filepath", "a", "content", "b")})
	fmt.Println(err)
	fmt.Println(errors.Is(err, cassidy.ErrDenied))
	// Output:
	// the tool 'write_file' needs approval to change a
	// the changes of 'write_file' were not approved: not today
	// true
}
