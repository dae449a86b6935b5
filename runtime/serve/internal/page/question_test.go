package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestQuestionWords(t *testing.T) {
	t.Parallel()
	own := review.About{Tool: "Run Command (run_command)", Caller: "a model"}
	for _, test := range []struct {
		q             tool.Question
		about         review.About
		heading, deed string
	}{
		{tool.Question{Kind: tool.QuestionApproval, Tool: "bill", Changes: sampleChanges()}, own, "May bill change these 2 files?", "change 2 files"},
		{tool.Question{Kind: tool.QuestionApproval, Tool: "bill", Changes: sampleChanges()[:1]}, own, "May bill change this file?", "change 1 file"},
		{tool.Question{Kind: tool.QuestionApproval, Tool: "run_command", Args: value.NewDict("command", "ls")}, own, "May run_command run this command?", "run it"},
		{tool.Question{Kind: tool.QuestionApproval, Tool: "rates", Func: "http.get", Args: value.NewDict("url", "https://a.example")}, own, "May rates send this request?", "send it"},
		{tool.Question{Kind: tool.QuestionApproval, Tool: "rates", Func: "memory.add", Args: value.NewDict("text", "x")}, own, "May rates do this?", "do it"},
		{tool.Question{Kind: tool.QuestionApproval, Tool: "rates", Args: value.NewDict("x", 1)}, review.About{}, "May rates be called?", "call it"},
		{tool.Question{Kind: tool.QuestionConfirm, Tool: "release", Text: " Release now? "}, review.About{}, "Release now?", ""},
		{tool.Question{Kind: tool.QuestionAsk, Tool: "release", Text: "Who?\nAnn or Bob"}, review.About{}, "A question for you", ""},
		{tool.Question{Kind: tool.QuestionUnknown, Tool: "sync", Func: "http.post", Text: "again?", Args: value.NewDict("url", "https://a.example")}, review.About{}, "Was this request sent?", ""},
		{tool.Question{Kind: tool.QuestionUnknown, Tool: "sync", Func: "shell.run", Text: "again?", Args: value.NewDict("command", "x")}, review.About{}, "Was this done?", ""},
	} {
		if test.q.Args == nil {
			test.q.Args = &value.Dict{}
		}
		q := QuestionOf(&test.q, &test.about)
		if q.Heading != test.heading || q.Deed != test.deed {
			t.Errorf("%q, %q, want %q, %q", q.Heading, q.Deed, test.heading, test.deed)
		}
	}
}

// TestSeen checks that an answer holds only for what was shown.
func TestSeen(t *testing.T) {
	t.Parallel()
	q, same, other := sampleFiles(), sampleFiles(), sampleFiles()
	seen := q.Seen()
	if files, changed := same.Changed(seen); changed {
		t.Errorf("the same question has changed: %v", files)
	}
	other.Files[1] = Files([]tool.Change{{Path: "ledger.csv", Before: state("a\n"), After: state("b\n")}})[0]
	if files, changed := other.Changed(seen); !changed || !cmp.Equal(files, []string{"ledger.csv"}) {
		t.Errorf("a changed file gives %v, %t", files, changed)
	}
	if got, want := (&Conflict{Changed: []string{"a", "b"}}).Names(), "a and b have changed since you looked."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	other = sampleFiles()
	other.Sources = nil
	if files, changed := other.Changed(seen); !changed || files != nil {
		t.Errorf("other facts give %v, %t", files, changed)
	}
	for _, wrong := range []string{"", "x", strings.Split(seen, ".")[0]} {
		if _, changed := same.Changed(wrong); !changed {
			t.Errorf("%q is taken for what was seen", wrong)
		}
	}
}

// TestShorten checks that a long question cannot be approved with what is seen of its beginning.
func TestShorten(t *testing.T) {
	t.Parallel()
	ask := func(n int) *Question {
		text := strings.Repeat("line\n", n)
		return sampleAsk(tool.Question{Kind: tool.QuestionApproval, Tool: "w", Args: &value.Dict{}, Changes: []tool.Change{{Path: "a", After: state(text)}, {Path: "b", After: state(text)}}}, review.About{})
	}
	short, long, whole := ask(900), ask(1500), ask(1500)
	short.Shorten()
	long.Shorten()
	if short.Cut || !long.Cut || long.AllLines != 3002 {
		t.Errorf("cut: %t, %t with %d lines", short.Cut, long.Cut, long.AllLines)
	}
	if a, b := &long.Files[0], &long.Files[1]; len(a.Lines) != shortLines || len(b.Lines) != 0 || a.Left+b.Left != 3002-shortLines {
		t.Errorf("shown: %d and %d, left: %d and %d", len(a.Lines), len(b.Lines), a.Left, b.Left)
	}
	if _, changed := whole.Changed(long.Seen()); !changed {
		t.Error("the beginning counts as everything")
	}
	text, err := newPages(t).RenderPart("question", long)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text, `value="yes"`) || !strings.Contains(text, "Show all 3,002 lines") {
		t.Error("a question that is not shown in full can be approved")
	}
}

// TestWordMarks checks which words of replaced lines are marked.
func TestWordMarks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ before, after, want string }{
		{"a,booked,1\n", "a,drafted,1\n", "−a,[booked],1 +a,[drafted],1"},
		{"one two three\n", "one three\n", "−one[ two] three +one three"},
		{"entirely different\n", "nothing in common here\n", "−entirely different +nothing in common here"},
		{"price = 10\nkeep\n", "price = 12\nkeep\n", "−price = [10] +price = [12] keep"},
		{"pay \u200b100 to Bob\n", "pay 100 to Bob\n", "−pay [⟨U+200B⟩]100 to Bob +pay 100 to Bob"},
	} {
		files := Files([]tool.Change{{Path: "f", Before: state(test.before), After: state(test.after)}})
		var got []string
		for _, l := range files[0].Lines {
			if l.Class() == "hunk" {
				continue
			}
			text := map[string]string{"add": "+", "del": "−"}[l.Class()]
			for _, w := range l.Words {
				if w.Changed {
					text += "[" + joinSpans(w.Spans) + "]"
				} else {
					text += joinSpans(w.Spans)
				}
			}
			got = append(got, text)
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("%q to %q: %s, want %s", test.before, test.after, got, test.want)
		}
	}
}

func TestMarked(t *testing.T) {
	t.Parallel()
	for m, want := range map[marks]string{
		{}:                         "",
		{invisible: 1}:             "1 invisible character is shown as ",
		{invisible: 2, alike: 1}:   "2 invisible characters and 1 character that looks like another one are shown as ",
		{alike: 3}:                 "3 characters that look like others are shown as ",
		{spaces: 1, invalid: 1200}: "1 long run of white space and 1,200 bytes that are not text are shown as ",
	} {
		if got := (&Question{marks: m}).Marked(); got != want {
			t.Errorf("%+v: %q, want %q", m, got, want)
		}
	}
}

// TestButtons checks what can be done with a run in each state.
func TestButtons(t *testing.T) {
	t.Parallel()
	all := RunRights{May: true, Failed: "3", Undo: true, Replay: true, Record: 2000}
	for _, test := range []struct {
		state  State
		rights RunRights
		want   string
	}{
		{Running, all, "Cancel the run… | Record as JSON (2 KB)"},
		{Waiting, all, "| Cancel the run…, Record as JSON (2 KB)"},
		{Broken, all, "Continue now | Cancel the run…, Record as JSON (2 KB)"},
		{Failed, all, "Retry from step 3…, Undo… | Record as JSON (2 KB)"},
		{Done, RunRights{May: true, Undo: true, Replay: true}, "Undo…, Replay | Run it again…"},
		{Failed, RunRights{Failed: "3", Undo: true}, "|"},
		{Running, RunRights{}, "|"},
	} {
		r := &Run{ID: "r", Status: Status{test.state, ""}}
		r.SetButtons(test.rights, "k")
		names := func(list []Button) string {
			var names []string
			for _, b := range list {
				if b.Copy == "" {
					names = append(names, b.Label)
				}
			}
			return strings.Join(names, ", ")
		}
		if got := strings.TrimSpace(fmt.Sprintf("%s | %s", names(r.Buttons), names(r.Menu))); got != test.want {
			t.Errorf("%s, %+v: %q, want %q", test.state, test.rights, got, test.want)
		}
	}
}
