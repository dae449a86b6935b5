package agent_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestAttach checks that an attachment is sent with the first message, once, that it is recorded,
// and that a reopened session has it.
func TestAttach(t *testing.T) {
	t.Parallel()
	picture := model.Media{Type: "image/png", Name: "a.png", Data: []byte("\x89PNG\r\n\x1a\n\x00\xff")}
	m := &seq{replies: []*model.Reply{
		{Calls: []model.Call{{ID: "1", Tool: "read_file", Args: value.NewDict("filepath", "none")}}, Stop: model.StopCalls},
		text("TASK COMPLETE: a cat"), text("TASK COMPLETE: still a cat"),
	}}
	a := openSeq(t, m, agent.Options{})
	s, _ := a.Session(t.Context(), "look")
	if err := s.Attach(t.Context(), picture); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Send(t.Context(), "what is it?"); err != nil || r.Text != "a cat" {
		t.Fatalf("the turn = %q, %v", r.Text, err)
	}
	again, err := a.Session(t.Context(), "look")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]model.Media{picture}, again.Messages()[0].Media); diff != "" || len(again.Messages()) != len(s.Messages()) {
		t.Errorf("the reopened session has other messages (-want +reopened):\n%s", diff)
	}
	if r, err := again.Send(t.Context(), "sure?"); err != nil || r.Text != "still a cat" {
		t.Fatalf("the next turn = %q, %v", r.Text, err)
	}
	for i, r := range m.asked {
		for k, message := range r.Messages {
			var want []model.Media
			if k == 0 {
				want = []model.Media{picture}
			}
			if diff := cmp.Diff(want, message.Media); diff != "" {
				t.Errorf("request %d, message %d (-want +got):\n%s", i+1, k+1, diff)
			}
		}
	}
}

// TestAttachIsResumed checks that an attachment is sent by a turn that is resumed before its first
// reply.
func TestAttachIsResumed(t *testing.T) {
	t.Parallel()
	away := &seq{down: true}
	a := openSeq(t, away, agent.Options{})
	s, _ := a.Session(t.Context(), "look")
	if err := s.Attach(t.Context(), model.Media{Type: "image/png", Name: "a.png", Data: []byte("x")}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Send(t.Context(), "what is it?"); r.Reason != agent.ReasonError && s.Waiting() == "" {
		t.Fatal(r.Reason, err)
	}
	away.down, away.asked, away.replies = false, nil, []*model.Reply{text("TASK COMPLETE: a cat")}
	if _, err := s.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(away.asked) != 1 || len(away.asked[0].Messages[0].Media) != 1 {
		t.Errorf("the model was asked %+v", away.asked)
	}
}

// blind is a model that is known to read PDF files only.
type blind struct{ *seq }

func (blind) Info(context.Context) model.Info { return model.Info{Media: []string{"application/*"}} }

func TestAttachRefused(t *testing.T) {
	t.Parallel()
	a := openSeq(t, &seq{}, agent.Options{})
	s, _ := a.Session(t.Context(), "look")
	if err := s.Attach(t.Context(), model.Media{Type: "image/png", Data: make([]byte, agent.MaxMedia+1)}); value.KindOf(err) != value.Limit {
		t.Errorf("an attachment of more than 20 MB: %v", err)
	}
	h, _ := newSpender(t).open(&meteredModel{}, agent.Options{})
	b, err := agent.New(h, &agent.Options{Model: blind{&seq{}}, Tools: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	s, _ = b.Session(t.Context(), "look")
	if err := s.Attach(t.Context(), model.Media{Type: "image/png", Name: "a.png"}); value.KindOf(err) != value.Invalid {
		t.Errorf("an image for a model that reads none: %v", err)
	}
	if err := s.Attach(t.Context(), model.Media{Type: "application/pdf", Name: "a.pdf"}); err != nil {
		t.Errorf("a PDF: %v", err)
	}
}
