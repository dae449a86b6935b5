package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

func TestRunsAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  string
		in    string
		code  int
		want  string // in the output
		saved tool.Value
	}{
		{"yes", "sure yes", "", 0, "answered yes: Sure?", true},
		{"no, at a place", "sure 2 no", "", 0, "cassidy runs resume sure goes on", false},
		{"a text", "who --text Ann", "", 0, "answered Ann: Who?", "Ann"},
		{"a text that is read", "who 2 --text -", "Ann\nB\n", 0, "answered Ann⟨U+000A⟩B: Who?", "Ann\nB"},
		{"a text for yes or no", "sure --text maybe", "", 2, `"Sure?" wants yes or no`, nil},
		{"neither", "sure maybe", "", 2, `"maybe" is neither yes nor no`, nil},
		{"no answer", "sure", "", 2, "the answer is missing", nil},
		{"no ID", "", "", 2, "ID is missing", nil},
		{"too much", "sure 2 3 yes", "", 2, `one argument too many: "3"`, nil},
		{"a place that asks nothing", "sure 1 yes", "", 2, `asks nothing at step "1"`, nil},
		{"no place", "sure at yes", "", 2, `"at" is no step of a run`, nil},
		{"a run that asks nothing", "going yes", "", 2, "the run 'going' asks nothing", nil},
		{"a sleeper", "asleep yes", "", 2, "asks nothing: it sleeps until", nil},
		{"an ended run", "ended yes", "", 1, "the run 'ended' has ended: done", nil},
		{"a run that there is not", "shure yes", "", 2, `there is no run "shure"; did you mean "sure"?`, nil},
		{"answered already", "told no", "", 1, "has been answered already", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newRunsHome(t)
			two := h.place("2")
			h.ended("ended")
			h.parked("sure", history.Question{Place: two, Text: "Sure?", Confirm: true})
			h.parked("who", history.Question{Place: two, Text: "Who?"})
			h.parked("told", history.Question{Place: two, Text: "Sure?", Confirm: true})
			h.check(h.j.Answer(context.Background(), "told", two, true))
			h.parked("asleep", history.Question{Place: two, Until: time.Now().Add(time.Hour)})
			h.check(h.begin("going").Close())
			args := append([]string{"runs", "answer"}, strings.Fields(tt.args)...)
			stdout, stderr, code := h.cassidy(tt.in, args...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
				t.Fatalf("exit %d, %q, %q, want %d and %q", code, stdout, stderr, tt.code, tt.want)
			}
			run, _, _ := strings.Cut(tt.args, " ")
			if run != "sure" && run != "who" {
				return
			}
			l, err := h.j.Read(context.Background(), run)
			h.check(err)
			if said, _, err := l.Answer(context.Background(), two); said != tt.saved || err != nil {
				t.Errorf("the answer is %v, %v, want %v", said, err, tt.saved)
			}
		})
	}
	h := newRunsHome(t)
	h.parked("r", history.Question{Place: h.place("2"), Text: "Sure?", Confirm: true})
	if stdout, _, code := h.cassidy("", "--json", "runs", "answer", "r", "yes"); code != 0 || stdout != `{"id":"r","place":"2","question":"Sure?","answer":true}`+"\n" {
		t.Errorf("as JSON: exit %d, %s", code, stdout)
	}
}

// TestRunsAnswerResumes checks that --resume hands an answered run on, and only
// such a one.
func TestRunsAnswerResumes(t *testing.T) {
	h := newRunsHome(t)
	h.parked("r", history.Question{Place: h.place("2"), Text: "Sure?", Confirm: true})
	h.close()
	var out, errs bytes.Buffer
	c := &command{world: &world{in: strings.NewReader(""), out: &out, err: &errs, env: h.env}}
	var resumed []string
	app := &cli.App{Name: "cassidy", Commands: []*cli.Command{c.answerCommand(func(_ *cli.Context, id string) error {
		resumed = append(resumed, id)
		return nil
	})}, ExitErrHandler: func(*cli.Context, error) {}}
	h.check(app.Run([]string{"cassidy", "answer", "--resume", "r", "yes"}))
	if err := app.Run([]string{"cassidy", "answer", "--resume", "r", "yes"}); tool.KindOf(err) != tool.Conflict {
		t.Errorf("a second answer = %v, want a conflict", err)
	}
	if diff := cmp.Diff([]string{"r"}, resumed); diff != "" || out.Len() > 0 {
		t.Errorf("printed %q, resumed (-want +got):\n%s", out.String(), diff)
	}
}
