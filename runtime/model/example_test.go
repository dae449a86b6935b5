package model_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A shouter is a model of a program: it answers in capitals.
type shouter struct{}

func (shouter) Name() string { return "shouter" }
func (shouter) Native() bool { return false }

func (shouter) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, value.AsError(err, value.Canceled)
	}
	text := strings.ToUpper(r.Messages[len(r.Messages)-1].Text)
	if r.Text != nil {
		for word := range strings.SplitAfterSeq(text, " ") {
			r.Text(word)
		}
	}
	return &model.Reply{Text: text, Stop: model.StopEnd}, nil
}

// Write a model, and read its answer as it comes.
func ExampleModel() {
	var m model.Model = shouter{}
	reply, err := m.Ask(context.Background(), &model.Request{
		Messages: []model.Message{{Role: model.User, Text: "hello world"}},
		Text:     func(piece string) { fmt.Printf("%q\n", piece) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Text)
	// Output:
	// "HELLO "
	// "WORLD"
	// HELLO WORLD
}
