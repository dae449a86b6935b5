package approve

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
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
			got, err := askerOf(p, nil).Ask(t.Context(), tool.Question{Kind: kindOf(tt.confirm), Tool: "choose", Text: "Which?"})
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

// TestAskWhetherDone checks the third answer to the question whether to repeat an effect.
func TestAskWhetherDone(t *testing.T) {
	for _, tt := range []struct {
		says []string
		want string
	}{
		{[]string{"d\n", "\n"}, `done null`},
		{[]string{"Done\n", "{\"id\": 5}\n"}, `done {"id":5}`},
		{[]string{"done\n", "five\n", "5\n"}, `done 5`},
		{[]string{"d\n", "a\n", "b\n", "c\n"}, "parked"},
		{[]string{"d\n"}, "parked"},
		{[]string{"y\n"}, "yes"},
	} {
		p := newPerson(tt.says...)
		a, err := askerOf(p, nil).Ask(t.Context(), tool.Question{Kind: tool.QuestionUnknown, Func: "http.post", Text: "Again?"})
		got := "no"
		switch {
		case value.KindOf(err) == value.Parked:
			got = "parked"
		case a.Done:
			got = "done " + value.FormatJSON(a.Value, "")
		case a.Yes:
			got = "yes"
		}
		if got != tt.want {
			t.Errorf("%q: %s, %v, want %s", tt.says, got, err, tt.want)
		}
	}
	p := newPerson("d\n", "n\n")
	if a, err := askerOf(p, nil).Ask(t.Context(), tool.Question{Kind: tool.QuestionConfirm, Text: "Go on?"}); err != nil || a.Done || p.prompts() != 2 {
		t.Errorf("a confirm: %+v, %v", a, err)
	}
}

func TestAskPages(t *testing.T) {
	long := strings.Repeat("long ", 500) + "MIDDLE" + strings.Repeat("long ", 500) + "END"
	tests := []struct {
		name string
		q    tool.Question
		want string
	}{
		{"a text", tool.Question{Kind: tool.QuestionAsk, Tool: "choose", Text: "Which of these?\n\x1b[2J1 or 2"}, `
? A question for you                                                                          choose
  │ Which of these?
  │ ⟨U+001B⟩[2J1 or 2
! 1 invisible character
your answer in one line › `},
		{"a yes", tool.Question{Kind: tool.QuestionConfirm, Run: "r1", Tool: "the workflow nightly", Text: "Go on?"}, `
? A question for you                                                            the workflow nightly
  run        r1
  │ Go on?
y yes · n no · v view › ✗ no
`},
		{"an unknown outcome", tool.Question{Kind: tool.QuestionUnknown, Run: "r1", Tool: "notify", Text: "Send it again?",
			Func: "http.post", Args: value.NewDict("url", "https://example.com", "body", "hi")}, `
? Do this again?                                                                              notify
  run        r1
  began      http.post with
  │ url: "https://example.com"
  │ body: "hi"
  but        the run was interrupted, and the result is unknown
  yes        does it again
  done       it was carried out; you give its result
  │ Send it again?
y yes · n no · d done · v view › ✗ no
`},
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
	p := newPerson("y\n", "v\n", "y\n")
	q := tool.Question{Kind: tool.QuestionUnknown, Text: "Again?", Func: "shell.run", Args: value.NewDict("argv", long)}
	if got, err := askerOf(p, nil).Ask(t.Context(), q); err != nil || !got.Yes || p.prompts() != 3 {
		t.Fatalf("answer = %+v, %v after %d prompts, want a yes after the view", got, err, p.prompts())
	}
	before, after, _ := strings.Cut(p.shown.String(), enter)
	if strings.Contains(before, "MIDDLE") || !strings.Contains(before, "not shown: v, before y") || !strings.Contains(strings.ReplaceAll(after, "\n  ┊ ", ""), "MIDDLE") || !strings.Contains(before, "END") {
		t.Errorf("long arguments are not cut at first, or not shown by v:\n%s", p.shown.String())
	}
}

// TestAskHostile checks that nothing of a question can pass for what cassidy
// says, nor steer the terminal.
func TestAskHostile(t *testing.T) {
	for _, text := range hostile {
		for _, kind := range []tool.QuestionKind{tool.QuestionConfirm, tool.QuestionUnknown} {
			r := Page{Screen: draw.Screen{Width: 80}, All: true}
			r.Review(Question(&tool.Question{Kind: kind, Run: text, Tool: text, Text: text, Func: text, Args: value.NewDict(text, text)}, nil, nil))
			lines := strings.Split(strings.TrimSuffix(r.String(), "\n"), "\n")
			for i, line := range lines {
				if i > 0 && !strings.HasPrefix(line, "  ") && !strings.HasPrefix(line, "! ") {
					t.Errorf("text %q: line %d begins where only cassidy may: %q", text, i, line)
				}
				if strings.ContainsFunc(line, func(c rune) bool { return value.IsInvisible(c) }) {
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
		if _, err := askerOf(p, nil).Ask(ctx, tool.Question{Kind: kindOf(confirm), Text: "?"}); err != context.Canceled {
			t.Errorf("after Ctrl-C the answer is %v, want that it was canceled", err)
		}
		close(p.typed)
		a := askerOf(newPerson("y\n"), nil)
		if _, err := a.Ask(ctx, tool.Question{Kind: kindOf(confirm), Text: "?"}); err != context.Canceled || len(a.turn) > 0 {
			t.Errorf("in a run that is over the answer is %v, and the terminal taken %d times", err, len(a.turn))
		}
	}
}

// TestAskNobody checks that where there is no terminal nobody is there, whatever
// the flags say of approvals.
func TestAskNobody(t *testing.T) {
	for _, args := range [][]string{nil, {"--yes"}, {"--deny"}} {
		a := New(ui.NewPrinter(io.Discard, io.Discard, noEnv), strings.NewReader("y\n"), &ui.Screen{})
		app := &cli.App{Flags: Flags(), Action: func(ctx *cli.Context) error {
			_, err := a.Approver(ctx)
			return err
		}}
		if err := app.Run(append([]string{"x"}, args...)); err != nil {
			t.Fatal(err)
		}
		if a.Present() {
			t.Errorf("with %q there is somebody to ask", args)
		}
		if _, err := a.Ask(t.Context(), tool.Question{Kind: tool.QuestionAsk, Text: "?"}); value.KindOf(err) != value.Parked {
			t.Errorf("with %q the answer is %v, want none", args, err)
		}
	}
}

// TestAskForm checks that the fields of a form are asked for one after the other, and checked.
func TestAskForm(t *testing.T) {
	form := value.NewDict("required", value.List{"city"}, "properties", value.NewDict(
		"city", value.NewDict("type", "string"), "days", value.NewDict("type", "integer", "default", int64(3)), "ok", value.NewDict("type", "boolean")))
	for _, tt := range []struct {
		says []string
		want value.Value // or the kind of the error
	}{
		{[]string{"y\n", "Rome\n", "\n", "yes\n"}, `{"action":"accept","content":{"city":"Rome","ok":true}}`},
		{[]string{"?\n", "yes\n", "\n", "Rome\n", "many\n", "2\r\n", "\n"}, `{"action":"accept","content":{"city":"Rome","days":2}}`},
		{[]string{"n\n"}, nil},
		{[]string{"y\n", "\n", "\n", "\n"}, value.Parked},
		{[]string{"y\n", "Rome\n"}, value.Parked},
	} {
		p := newPerson(tt.says...)
		got, err := askerOf(p, nil).Ask(t.Context(), tool.Question{Kind: tool.QuestionAsk, Tool: "weather.get", Text: "Which?", Form: form})
		val, _ := value.FromGo(got.Value)
		if err != nil {
			val = value.KindOf(err)
		}
		if val != tt.want {
			t.Errorf("after %q: %v, %v, want %v:\n%s", tt.says, val, err, tt.want, p.shown.String())
		}
	}
}

// TestAskFormOfAction checks that the fields of a form can be named as those of a response.
func TestAskFormOfAction(t *testing.T) {
	text := value.NewDict("type", "string")
	q := tool.Question{Kind: tool.QuestionAsk, Text: "Which?", Form: value.NewDict("properties", value.NewDict("action", text, "content", text))}
	for typed, want := range map[string]string{
		"decline\n": `{"action":"accept","content":{"action":"decline"}}`,
		"\n":        `{"action":"accept","content":{}}`,
	} {
		a, err := askerOf(newPerson("y\n", typed, "\n"), nil).Ask(t.Context(), q)
		if err == nil {
			a, err = q.Accepts(a)
		}
		if err != nil || a.Value != want {
			t.Errorf("after %q: %+v, %v, want %s", typed, a, err, want)
		}
	}
}
