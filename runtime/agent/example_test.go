package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cassidy-run/cassidy"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A parrot is a model for examples: it repeats the last message, and counts the
// messages of the conversation.
type parrot struct{}

func (parrot) Name() string { return "parrot" }
func (parrot) Native() bool { return true }
func (parrot) Ask(_ context.Context, r *model.Request) (*model.Reply, error) {
	text := fmt.Sprintf("%s (message %d)", r.Messages[len(r.Messages)-1].Text, len(r.Messages))
	if r.Text != nil {
		r.Text(text) // what streams calls it with each piece
	}
	return &model.Reply{Text: text, Stop: model.StopEnd}, nil
}

// Talk with a model, and reopen the conversation as another process would: the
// host has nothing but its store.
func ExampleAgent_Session() {
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Store: journal.Memory(), Sandbox: cassidy.Inline})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()
	for _, text := range []string{"Hello", "Do you remember me?"} {
		h, err := shared.Open(cassidy.Source{}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		a, err := agent.New(h, &agent.Options{Model: parrot{}, Policy: "chat", Tools: []string{}})
		if err != nil {
			fmt.Println(err)
			return
		}
		s, err := a.Session(context.Background(), "ann")
		if err != nil {
			fmt.Println(err)
			return
		}
		reply, err := s.Send(context.Background(), text)
		fmt.Println(reply.Text, reply.Run, err)
		_ = h.Close()
	}
	// Output:
	// Hello (message 1) ann <nil>
	// Do you remember me? (message 3) ann--2 <nil>
}

// A turn waits for an approval that nobody is there to give. It is answered
// and continued later, here or in any process with the same store.
func ExampleSession_Send() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Store: journal.Memory(), Sandbox: cassidy.Inline})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()
	h, err := shared.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()
	m := script.New("writer", true, func(_ context.Context, _ value.List, said int) (value.Value, error) {
		if said > 0 {
			return "It is written.", nil
		}
		call := value.NewDict("name", "write_file", "arguments", value.NewDict("filepath", "note.txt", "content", "Buy milk."))
		return value.NewDict("content", "", "tool_calls", value.List{call}), nil
	})
	a, err := agent.New(h, &agent.Options{Model: m, Policy: "chat", Tools: []string{"write_file"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	s, err := a.Session(ctx, "notes")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = s.Send(ctx, "Note that I must buy milk.")
	var parked *host.ParkedError
	if !errors.As(err, &parked) {
		fmt.Println(err)
		return
	}
	for _, q := range parked.Questions {
		fmt.Println(q.Kind, q.Tool)
		if err := h.Answer(ctx, q.ID, tool.Answer{Yes: true, By: "Ann"}); err != nil {
			fmt.Println(err)
		}
	}
	reply, err := s.Resume(ctx) // or h.Resume(ctx, parked.Run)
	fmt.Println(reply.Text, err)
	// Output:
	// approval write_file
	// It is written. <nil>
}
