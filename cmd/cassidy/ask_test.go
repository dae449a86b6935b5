package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// kindOf is the kind of a question for yes or no, or for a text.
func kindOf(confirm bool) tool.QuestionKind {
	if confirm {
		return tool.QuestionConfirm
	}
	return tool.QuestionAsk
}

func TestAskAnswers(t *testing.T) {
	tests := []struct {
		name    string
		confirm bool
		says    []string
		want    value.Value // or the kind of the error
		prompts int
	}{
		{"y", true, []string{"y\n"}, true, 1},
		{"yes", true, []string{" YES \r\n"}, true, 1},
		{"n", true, []string{"n\n"}, false, 1},
		{"no", true, []string{"No\n"}, false, 1},
		{"neither, then yes", true, []string{"\n", "ok\n", "y\n"}, true, 3},
		{"neither, three times", true, []string{"\n", "a\n", "yess\n"}, value.Parked, 3},
		{"view as often as wanted", true, []string{"v\n", "v\n", "V\n", "view\n", "n\n"}, false, 5},
		{"gone", true, nil, value.Parked, 1},
		{"gone in the middle of a yes", true, []string{"y"}, value.Parked, 1},
		{"a text", false, []string{"the first one\r\n"}, "the first one", 1},
		{"spaces are part of a text", false, []string{"  a \n"}, "  a ", 1},
		{"an empty text", false, []string{"\n"}, "", 1},
		{"v is a text", false, []string{"v\n"}, "v", 1},
		{"no text, then one", false, []string{"\xff\n", "ä\n"}, "ä", 2},
		{"no text, three times", false, []string{"\xff\n", "\xff\n", "\xff\n"}, value.Parked, 3},
		{"gone without a text", false, nil, value.Parked, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPerson(tt.says...)
			got, err := askerOf(p, nil).Ask(t.Context(), host.Question{Kind: kindOf(tt.confirm), Tool: "choose", Text: "Which?"})
			var val value.Value = got.Yes
			switch {
			case err != nil:
				val = value.KindOf(err)
			case !tt.confirm:
				val = got.Value
			}
			if val != tt.want {
				t.Errorf("answer = %v, %v, want %v", val, err, tt.want)
			}
			if n := p.prompts(); n != tt.prompts {
				t.Errorf("asked %d times, want %d:\n%s", n, tt.prompts, p.shown.String())
			}
		})
	}
}

func TestAskPages(t *testing.T) {
	long := strings.Repeat("long ", 1000) + "END"
	tests := []struct {
		name string
		q    host.Question
		want string
	}{
		{"a text", host.Question{Kind: tool.QuestionAsk, Tool: "choose", Text: "Which of these?\n\x1b[2J1 or 2"}, `
cassidy: a question for you
  asked by  choose
  │ Which of these?
  │ ⟨U+001B⟩[2J1 or 2
cassidy: your answer, in a line ? `},
		{"a yes", host.Question{Kind: tool.QuestionConfirm, Run: "r1", Tool: "the workflow nightly", Text: "Go on?"}, `
cassidy: a question for you
  asked by  the workflow nightly
  run       r1
  │ Go on?
cassidy: [y]es [n]o [v]iew ? `},
		{"an unknown outcome", host.Question{Kind: tool.QuestionUnknown, Run: "r1", Tool: "notify", Text: "Send it again?",
			Func: "http.post", Args: value.NewDict("url", "https://example.com", "body", "hi")}, `
cassidy: is this to be done again?
  asked by  notify
  run       r1
  began     http.post with
  │ {"url": "https://example.com", "body": "hi"}
  but       the run broke off meanwhile: it may have been done, or not
  yes       does it again
  │ Send it again?
cassidy: [y]es [n]o [v]iew ? `},
	}
	for _, tt := range tests {
		p := newPerson("n\n")
		if _, err := askerOf(p, nil).Ask(t.Context(), tt.q); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, p.shown.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	p := newPerson("v\n", "n\n")
	q := host.Question{Kind: tool.QuestionUnknown, Text: "Again?", Func: "shell.run", Args: value.NewDict("argv", long)}
	if _, err := askerOf(p, nil).Ask(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	before, after, _ := strings.Cut(p.shown.String(), " ? ")
	if strings.Contains(before, "END") || !strings.Contains(before, "v shows all") || !strings.Contains(after, "END") {
		t.Errorf("long arguments are not cut at first, or not shown by v:\n%s", p.shown.String())
	}
}

// TestAskHostile checks that nothing of a question can pass for what cassidy
// says, nor steer the terminal.
func TestAskHostile(t *testing.T) {
	for _, text := range hostile {
		for _, kind := range []tool.QuestionKind{tool.QuestionConfirm, tool.QuestionUnknown} {
			r := review{paint: func(_, text string) string { return text }, width: 80, all: true}
			r.asked(&host.Question{Kind: kind, Run: text, Tool: text, Text: text, Func: text, Args: value.NewDict(text, text)})
			lines := strings.Split(strings.TrimSuffix(r.String(), "\n"), "\n")
			for i, line := range lines {
				if i > 0 && !strings.HasPrefix(line, "  ") {
					t.Errorf("text %q: line %d begins where only cassidy may: %q", text, i, line)
				}
				if strings.ContainsFunc(line, func(c rune) bool { return !ui.Seen(c) }) {
					t.Errorf("text %q: line %d has what is not seen: %q", text, i, line)
				}
			}
		}
	}
}

func TestAskInterrupted(t *testing.T) {
	for _, confirm := range []bool{true, false} {
		p := newPerson()
		p.asked = make(chan struct{}, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-p.asked
			cancel()
		}()
		if _, err := askerOf(p, nil).Ask(ctx, host.Question{Kind: kindOf(confirm), Text: "?"}); err != context.Canceled {
			t.Errorf("after Ctrl-C the answer is %v, want that it was canceled", err)
		}
		close(p.typed)
		a := askerOf(newPerson("y\n"), nil)
		if _, err := a.Ask(ctx, host.Question{Kind: kindOf(confirm), Text: "?"}); err != context.Canceled || len(a.turn) > 0 {
			t.Errorf("in a run that is over the answer is %v, and the terminal taken %d times", err, len(a.turn))
		}
	}
}

// TestAskNobody checks that where there is no terminal nobody is there, whatever
// the flags say of approvals.
func TestAskNobody(t *testing.T) {
	for _, args := range [][]string{nil, {"--yes"}, {"--deny"}} {
		c := commandIn(&world{in: strings.NewReader("y\n"), out: io.Discard, err: io.Discard, env: func(string) (string, bool) { return "", false }})
		app := &cli.App{Flags: approvalFlags(), Action: func(ctx *cli.Context) error {
			_, err := c.chooseApprover(ctx)
			return err
		}}
		if err := app.Run(append([]string{"x"}, args...)); err != nil {
			t.Fatal(err)
		}
		if c.asker != nil {
			t.Errorf("with %q there is somebody to ask", args)
		}
		if _, err := newAsker(c).Ask(t.Context(), host.Question{Kind: tool.QuestionAsk, Text: "?"}); value.KindOf(err) != value.Parked {
			t.Errorf("with %q the answer is %v, want that there is none", args, err)
		}
	}
}
