package agent_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A viewer is a model with native calls that may refuse images.
type viewer struct {
	seq
	info    model.Info
	leaves  bool // it is down after a reply
	refuses bool // requests with images fail, as of a provider that does not say which types it reads
}

func (v *viewer) Info(context.Context) model.Info { return v.info }

func (v *viewer) Ask(ctx context.Context, r *model.Request) (*model.Reply, error) {
	if v.refuses && slices.ContainsFunc(r.Messages, func(m model.Message) bool { return len(m.Media) > 0 }) {
		v.asked = append(v.asked, *r)
		return nil, value.Errorf(value.Invalid, "HTTP 400: cannot read images")
	}
	reply, err := v.seq.Ask(ctx, r)
	v.down = v.down || v.leaves
	return reply, err
}

// call returns a reply with calls of the tool draw.
func draw(calls ...model.Call) *model.Reply { return &model.Reply{Calls: calls, Stop: model.StopCalls} }

func drawing(id string, size int) model.Call {
	return model.Call{ID: id, Tool: "draw", Args: value.NewDict("size", size)}
}

// An easel is a host with the tool draw, which returns an image of a size.
func easel(t *testing.T, journal string) *host.Host {
	t.Helper()
	h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline, Journal: journal}, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	type in struct {
		Size int `json:"size"`
	}
	err = host.AddTool(h, cassidy.Tool{Name: "draw", Description: "Draw."}, func(_ context.Context, i in) (map[string]any, error) {
		return map[string]any{"about": "a drawing", "pages": value.List{picture(i.Size)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func picture(size int) value.Media {
	return value.Media{Type: "image/gif", Data: append([]byte("GIF89a"), make([]byte, size-6)...)}
}

func sent(size int) []model.Media {
	return []model.Media{{Type: "image/gif", Name: "draw.gif", Data: picture(size).Data}}
}

func newEasel(t *testing.T, m model.Model) *agent.Agent {
	t.Helper()
	a, err := agent.New(easel(t, t.TempDir()), &agent.Options{Model: m, Tools: []string{"draw"}})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// asJSON returns the conversation of a session.
func asJSON(t *testing.T, s *agent.Session) string {
	t.Helper()
	text, err := json.Marshal(s.Messages())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestResultMedia checks that the images of two parallel results reach the model with them, that
// they stay in the conversation, and that a reopened session has them.
func TestResultMedia(t *testing.T) {
	t.Parallel()
	m := &viewer{seq: seq{replies: []*model.Reply{draw(drawing("1", 10), drawing("2", 2000)), text("TASK COMPLETE: drawn"), text("TASK COMPLETE: yes")}}}
	a := newEasel(t, m)
	s, _ := a.Session(t.Context(), "draw")
	if r, err := s.Send(t.Context(), "draw twice"); err != nil || r.Text != "drawn" {
		t.Fatalf("the turn = %q, %v", r.Text, err)
	}
	again, err := a.Session(t.Context(), "draw")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(asJSON(t, s), asJSON(t, again)); diff != "" {
		t.Errorf("the reopened session has other messages (-want +reopened):\n%s", diff)
	}
	if r, err := again.Send(t.Context(), "sure?"); err != nil || r.Text != "yes" {
		t.Fatalf("the next turn = %q, %v", r.Text, err)
	}
	for i, r := range m.asked[1:] {
		for k, want := range map[int][]model.Media{0: nil, 2: sent(10), 3: sent(2000)} {
			if diff := cmp.Diff(want, r.Messages[k].Media); diff != "" {
				t.Errorf("request %d, message %d (-want +got):\n%s", i+2, k+1, diff)
			}
		}
		if got := r.Messages[3].Text; !strings.Contains(got, `"pages": ["[image/gif, 2 KB]"]`) || strings.Contains(got, "NOTE") {
			t.Errorf("the text of the result is %s", got)
		}
	}
}

// TestResultMediaUnread checks what the model is told of images that it cannot read.
func TestResultMediaUnread(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]*viewer{
		"known":   {info: model.Info{Media: []string{}}, refuses: true},
		"refused": {refuses: true},
	} {
		m.replies = []*model.Reply{draw(drawing("1", 10)), text("TASK COMPLETE: drawn"), text("TASK COMPLETE: yes")}
		a := newEasel(t, m)
		s, _ := a.Session(t.Context(), "draw")
		if r, err := s.Send(t.Context(), "draw"); err != nil || r.Text != "drawn" {
			t.Fatalf("%s: the turn = %q, %v", name, r.Text, err)
		}
		again, err := a.Session(t.Context(), "draw")
		if diff := cmp.Diff(asJSON(t, s), asJSON(t, again)); err != nil || diff != "" {
			t.Errorf("%s: the reopened session has other messages (-want +reopened): %v\n%s", name, err, diff)
		}
		last := m.asked[len(m.asked)-1].Messages[2]
		if len(last.Media) > 0 || !strings.Contains(last.Text, "NOTE: you cannot see [image/gif, 10 bytes]") {
			t.Errorf("%s: the result is %q with %d images", name, last.Text, len(last.Media))
		}
		if _, err := again.Send(t.Context(), "sure?"); err != nil {
			t.Errorf("%s: the next turn: %v", name, err)
		}
	}
}

// TestResultMediaLimit checks that the images of a conversation stay below the limit: parallel
// results that do not fit are left out, and later results replace earlier ones.
func TestResultMediaLimit(t *testing.T) {
	t.Parallel()
	const size = 7 << 20
	m := &viewer{seq: seq{replies: []*model.Reply{
		draw(drawing("1", size), drawing("2", size), drawing("3", size)), draw(drawing("4", size), drawing("5", size)), text("TASK COMPLETE: drawn"),
	}}}
	s, _ := newEasel(t, m).Session(t.Context(), "draw")
	if r, err := s.Send(t.Context(), "draw"); err != nil || r.Text != "drawn" {
		t.Fatalf("the turn = %q, %v", r.Text, err)
	}
	for i, r := range m.asked {
		total := 0
		for _, message := range r.Messages {
			for _, one := range message.Media {
				total += len(one.Data)
			}
		}
		if total > agent.MaxMedia || i > 0 && total < size {
			t.Errorf("request %d has images of %d bytes", i+1, total)
		}
	}
	if got := m.asked[1].Messages[4]; len(got.Media) > 0 || !strings.Contains(got.Text, "NOTE: [image/gif, 7.0 MB] is not shown") {
		t.Errorf("the third result is %.300q with %d images", got.Text, len(got.Media))
	}
	last := m.asked[2].Messages
	if got := last[2]; len(got.Media) > 0 || !strings.Contains(got.Text, "NOTE: no longer shown: [image/gif, 7.0 MB]") {
		t.Errorf("the first result is now %.300q with %d images", got.Text, len(got.Media))
	}
	if len(last[6].Media) != 1 || len(last[7].Media) != 1 {
		t.Errorf("the last results are %.300q", last[6].Text)
	}
}

// TestMediaCompacted checks that a compaction keeps the attachments, and not the images of results.
func TestMediaCompacted(t *testing.T) {
	t.Parallel()
	m := &viewer{seq: seq{replies: []*model.Reply{draw(drawing("1", 10)), text("TASK COMPLETE: drawn"), text("So far: a drawing."), text("TASK COMPLETE: yes")}}}
	s, _ := newEasel(t, m).Session(t.Context(), "draw")
	plan := model.Media{Type: "application/pdf", Name: "plan.pdf", Data: []byte("%PDF-1.7")}
	if err := s.Attach(t.Context(), plan); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(t.Context(), "draw this"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Send(t.Context(), "sure?"); err != nil {
		t.Fatal(err)
	}
	last := m.asked[3].Messages
	if diff := cmp.Diff([]model.Media{plan}, last[0].Media); diff != "" {
		t.Errorf("the attachments after the compaction (-want +got):\n%s", diff)
	}
	noted := false
	for _, message := range last[1:] {
		noted = noted || strings.Contains(message.Text, "NOTE: no longer shown: [image/gif, 10 bytes]")
		if len(message.Media) > 0 {
			t.Errorf("a message after the compaction has media: %q", message.Text)
		}
	}
	if !noted {
		t.Errorf("nothing says that the drawing is no longer shown: %v", last)
	}
}

// TestResultMediaAsText checks a model without native calls: it gets the images with the message
// that has the results.
func TestResultMediaAsText(t *testing.T) {
	t.Parallel()
	m := &textViewer{viewer{seq: seq{replies: []*model.Reply{text("ACTION: draw\nINPUT:\n- size: 10\n"), text("TASK COMPLETE: drawn")}}}}
	s, _ := newEasel(t, m).Session(t.Context(), "draw")
	if r, err := s.Send(t.Context(), "draw"); err != nil || r.Text != "drawn" {
		t.Fatalf("the turn = %q, %v", r.Text, err)
	}
	last := m.asked[len(m.asked)-1].Messages
	if got := last[len(last)-1]; got.Role != model.User || !cmp.Equal(got.Media, sent(10)) || !strings.Contains(got.Text, "[image/gif, 10 bytes]") {
		t.Errorf("the result is %+v", got)
	}
}

type textViewer struct{ viewer }

func (*textViewer) Native() bool { return false }

// TestResultMediaIsResumed interrupts a turn between the call and the next request. Another process
// resumes it: the image was recorded, and is sent without a second call.
func TestResultMediaIsResumed(t *testing.T) {
	t.Parallel()
	journal := t.TempDir()
	m := &viewer{seq: seq{replies: []*model.Reply{draw(drawing("1", 3000))}}, leaves: true}
	open := func() (*host.Host, *agent.Agent) {
		h := easel(t, journal)
		a, err := agent.New(h, &agent.Options{Model: m, Tools: []string{"draw"}})
		if err != nil {
			t.Fatal(err)
		}
		return h, a
	}
	h, a := open()
	s, _ := a.Session(t.Context(), "draw")
	r, err := s.Send(t.Context(), "draw")
	if s.Waiting() == "" {
		t.Fatalf("the turn did not wait: %v, %v", r.Reason, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	m.leaves, m.down, m.asked, m.replies = false, false, nil, []*model.Reply{text("TASK COMPLETE: drawn")}
	_, a = open()
	s, err = a.Session(t.Context(), "draw")
	if err != nil {
		t.Fatal(err)
	}
	if r, err = s.Resume(t.Context()); err != nil || r.Text != "drawn" {
		t.Fatalf("the resumed turn = %q, %v", r.Text, err)
	}
	if len(m.asked) != 1 || !cmp.Equal(m.asked[0].Messages[2].Media, sent(3000)) {
		t.Errorf("the model was asked %d times, with %v", len(m.asked), m.asked)
	}
}

// TestOtherImagesAreNews repeats a call whose images look alike in the text of the result. The turn
// ends as a loop only if they are the same.
func TestOtherImagesAreNews(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]func(i int) int{
		"the same": func(int) int { return 2000 },
		"others":   func(i int) int { return 2000 + i },
	} {
		t.Run(name, func(t *testing.T) {
			m := &viewer{}
			for i := range 8 {
				m.replies = append(m.replies, draw(model.Call{ID: string(rune('a' + i)), Tool: "draw", Args: value.NewDict()}))
			}
			m.replies = append(m.replies, text("TASK COMPLETE: drawn"))
			h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Inline}, t.TempDir(), nil)
			if err != nil {
				t.Fatal(err)
			}
			calls := 0
			if err := host.AddTool(h, cassidy.Tool{Name: "draw", Description: "Draw."}, func(context.Context, struct{}) (value.Media, error) {
				calls++
				return picture(size(calls)), nil
			}); err != nil {
				t.Fatal(err)
			}
			a, err := agent.New(h, &agent.Options{Model: m, Tools: []string{"draw"}})
			if err != nil {
				t.Fatal(err)
			}
			s, _ := a.Session(t.Context(), "draw")
			want := map[string]agent.Reason{"the same": agent.ReasonLoop, "others": agent.ReasonFinal}[name]
			if r, err := s.Send(t.Context(), "draw"); err != nil || r.Reason != want {
				t.Errorf("the turn ended with %s after %d calls, %v; want %s", r.Reason, calls, err, want)
			}
		})
	}
}

// TestMediaForAnotherModel continues a conversation with a model that reads PDF files only.
func TestMediaForAnotherModel(t *testing.T) {
	t.Parallel()
	h := easel(t, t.TempDir())
	first := &viewer{seq: seq{replies: []*model.Reply{draw(drawing("1", 10)), text("TASK COMPLETE: drawn")}}}
	second := &viewer{info: model.Info{Media: []string{"application/pdf"}}, seq: seq{replies: []*model.Reply{text("TASK COMPLETE: yes")}}}
	var s *agent.Session
	for i, m := range []*viewer{first, second} {
		a, err := agent.New(h, &agent.Options{Model: m, Tools: []string{"draw"}})
		if err != nil {
			t.Fatal(err)
		}
		if s, err = a.Session(t.Context(), "draw"); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if err := s.Attach(t.Context(), model.Media{Type: "application/pdf", Name: "a.pdf", Data: []byte("%PDF-")}, sent(20)[0]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Send(t.Context(), "draw"); err != nil {
			t.Fatal(err)
		}
	}
	got := second.asked[0].Messages
	if len(got[0].Media) != 1 || got[0].Media[0].Type != "application/pdf" || !strings.Contains(got[0].Text, "NOTE: you cannot see [image/gif, 20 bytes]") {
		t.Errorf("the first message has %v: %q", got[0].Media, got[0].Text)
	}
	if len(got[2].Media) != 0 || !strings.Contains(got[2].Text, "NOTE: you cannot see [image/gif, 10 bytes]") {
		t.Errorf("the result has %v: %q", got[2].Media, got[2].Text)
	}
	if kept := s.Messages(); len(kept[0].Media) != 2 || len(kept[2].Media) != 1 || strings.Contains(kept[2].Text, "NOTE") {
		t.Errorf("the conversation has lost images: %v", kept)
	}
}
