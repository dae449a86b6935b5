package runs

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestAnswer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  string
		in    string
		code  int
		want  string // in the output
		saved value.Value
	}{
		{"yes", "sure yes", "", 0, "answered yes: Sure?", true},
		{"no, at a place", "sure 2 no", "", 0, "to continue: cassidy runs resume sure", false},
		{"a text", "who --text Ann", "", 0, "answered Ann: Who?", "Ann"},
		{"a text that is read", "who 2 --text -", "Ann\nB\n", 0, "answered Ann↵B: Who?", "Ann\nB"},
		{"a text for yes or no", "sure --text maybe", "", 2, `"Sure?" expects yes or no`, nil},
		{"neither", "sure maybe", "", 2, `invalid answer "maybe"`, nil},
		{"no answer", "sure", "", 2, "the answer is missing", nil},
		{"no answer at a step", "several 3.1", "", 2, `hint: cassidy runs answer several 3.1 --text "…"`, nil},
		{"no answer by the ID of a question", "several:2:1", "", 2, "hint: cassidy runs answer several:2:1 yes|no", nil},
		{"no answer to a form", "form", "", 2, `hint: cassidy runs answer form --text '{"city":"…"}'; to decline: cassidy runs answer form no`, nil},
		{"an answer that does not fit a form", "form --text town=Rome", "", 2, `hint: cassidy runs answer form --text '{"city":"…"}'`, nil},
		{"no ID", "", "", 2, "ID is missing", nil},
		{"too much", "sure 2 3 yes", "", 2, `unexpected argument "3"`, nil},
		{"a place that asks nothing", "sure 1 yes", "", 2, `no open question at step "1"`, nil},
		{"no place", "sure at yes", "", 2, `invalid step "at"`, nil},
		{"a run that asks nothing", "going yes", "", 2, "the run 'going' has no open question", nil},
		{"a sleeper", "asleep yes", "", 2, "has no open question: it sleeps until", nil},
		{"an ended run", "ended yes", "", 1, "the run 'ended' has ended: done", nil},
		{"a run that there is not", "shure yes", "", 2, `there is no run "shure"; did you mean "sure"?`, nil},
		{"an answer that was used", "told 2 no", "", 2, "has no open question\ncassidy: hint: continue it: cassidy runs resume told", nil},
		{"one of several, unnamed", "several yes", "", 2, "STEP is missing: there are 2 open questions, at the steps 2, 3.1", nil},
		{"one of several", "several 3.1 --text Ann", "", 0, "answered Ann: Who?", nil},
		{"by the ID of the question", "several:2:1 yes", "", 0, "answered yes: Sure?", nil},
		{"an ID that is not one", "several:2 yes", "", 2, "invalid question ID", nil},
		{"yes where a text is wanted", "who yes", "", 2, "expects a string\ncassidy: hint: cassidy runs answer who --text", nil},
		{"contradicting flags", "sure yes --resume --yes --deny", "", 2, "--yes and --deny are mutually exclusive", nil},
		{"always without an answer", "sure --always", "", 2, "--always needs the answer yes\ncassidy: hint: cassidy runs answer sure yes --always", nil},
		{"arguments without an answer", "sure 2 --args {}", "", 2, "--args needs the answer yes\ncassidy: hint: cassidy runs answer sure 2 yes --args JSON", nil},
		{"always with no", "sure no --always", "", 2, "--always needs the answer yes\ncassidy: hint: cassidy runs answer sure yes --always", nil},
		{"always with a text", "who --text Ann --always", "", 2, "--text cannot be used with --always or --args", nil},
		{"always with another word", "sure maybe --always", "", 2, `invalid answer "maybe"`, nil},
		{"done", "maybe done", "", 0, "answered done, with the result null: Again?", "done"},
		{"done, with a result", `maybe 2 done --result {"id":5} --why seen --by Ann`, "", 0, `answered done, with the result {"id":5}: Again?`, "done"},
		{"done, with a result that is read", "maybe done --result -", "[1]", 0, `answered done, with the result [1]: Again?`, "done"},
		{"done, with a result that is not JSON", "maybe done --result five", "", 2, "hint: use --result with JSON, @FILE, or - for standard input", nil},
		{"a result without done", "maybe yes --result 5", "", 2, "--result needs the answer done\ncassidy: hint: cassidy runs answer maybe done --result JSON", nil},
		{"done for yes or no", "sure done", "", 2, "the answer done is not one to the question \"Sure?\"", nil},
		{"no answer to whether it was done", "maybe", "", 2, "hint: cassidy runs answer maybe yes|no|done", nil},
		{"with a reason", "sure no --why later --by Bob", "", 0, "answered no: Sure?", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			two := h.place("2")
			h.ended("ended")
			h.parked("sure", history.Asked{StepPath: two, Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Sure?"}})
			h.parked("maybe", history.Asked{StepPath: two, Question: tool.Question{Kind: tool.QuestionUnknown, Func: "http.post", Text: "Again?"}})
			h.parked("who", history.Asked{StepPath: two, Question: tool.Question{Kind: tool.QuestionAsk, Text: "Who?"}})
			h.parked("told", history.Asked{StepPath: two, Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Sure?"}})
			h.answers("told", tool.Answer{Yes: true})
			l, err := h.j.Resume(context.Background(), "told")
			h.check(err)
			_, err = l.Answer(context.Background(), two, 1)
			h.check(err)
			h.check(l.Park(context.Background(), "question", time.Now().Add(time.Hour))) // when the question expires
			h.asleep("asleep", "2", time.Now().Add(time.Hour))
			h.parked("several", history.Asked{StepPath: two, Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Sure?"}})
			l, err = h.j.Resume(context.Background(), "several")
			h.check(err)
			_, err = l.Ask(context.Background(), history.Asked{StepPath: h.place("3.1"), Question: tool.Question{Kind: tool.QuestionAsk, Text: "Who?"}})
			h.check(err)
			h.check(l.Close())
			h.check(h.begin("going").Close())
			form := value.NewDict("properties", value.NewDict("city", value.NewDict("type", "string"), "days", value.NewDict("type", "integer")), "required", value.List{"city"})
			h.parked("form", history.Asked{StepPath: two, Question: tool.Question{Kind: tool.QuestionAsk, Text: "Where?", Form: form}})
			args := append([]string{"runs", "answer"}, strings.Fields(tt.args)...)
			stdout, stderr, code := h.cassidy(tt.in, args...)
			if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
				t.Fatalf("exit %d, %q, %q, want %d and %q", code, stdout, stderr, tt.code, tt.want)
			}
			run, _, _ := strings.Cut(tt.args, " ")
			if run != "sure" && run != "who" && run != "maybe" {
				return
			}
			open, err := h.j.Questions(context.Background(), run)
			h.check(err)
			var saved value.Value
			if open[0].Answer != nil {
				saved = describe.AnswerValue(&open[0])
			}
			if saved != tt.saved {
				t.Errorf("the answer is %v, want %v", saved, tt.saved)
			}
		})
	}
	h := newHome(t)
	h.parked("maybe", history.Asked{StepPath: h.place("2"), Question: tool.Question{Kind: tool.QuestionUnknown, Func: "http.post", Text: "Again?"}})
	if stdout, _, code := h.cassidy("", "--json", "runs", "answer", "maybe", "done", "--result", `{"id":5}`, "--why", "seen", "--by", "Ann"); code != 0 || !strings.Contains(stdout, `"answer":"done"`) || !strings.Contains(stdout, `"result":{"id":5}`) {
		t.Errorf("done as JSON: exit %d, %s", code, stdout)
	}
	if stdout, _, code := h.cassidy("", "runs", "show", "maybe"); code != 0 || !strings.Contains(stdout, `done, with the result {"id":5}`) || !strings.Contains(stdout, "by Ann") || !strings.Contains(stdout, "seen") {
		t.Errorf("shown: exit %d, %s", code, stdout)
	}
	h.parked("r", history.Asked{StepPath: h.place("2"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Sure?"}})
	if stdout, _, code := h.cassidy("", "--json", "runs", "answer", "r", "yes"); code != 0 || !strings.HasPrefix(stdout, `{"id":"r","question_id":"r:2:1","place":"2","question":"Sure?","answer":true,`) {
		t.Errorf("as JSON: exit %d, %s", code, stdout)
	}
}

// TestAnswerResumes checks that --resume hands an answered run on, and only
// such a one.
func TestAnswerResumes(t *testing.T) {
	h := newHome(t)
	h.parked("r", history.Asked{StepPath: h.place("2"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Sure?"}})
	h.close()
	var out, errs bytes.Buffer
	c := &command{app.New(&app.World{In: strings.NewReader(""), Out: &out, Err: &errs, Env: h.env})}
	var resumed []string
	app := &cli.App{Name: "cassidy", Commands: []*cli.Command{answerCommand(c, func(_ *cli.Context, id string) error {
		resumed = append(resumed, id)
		return nil
	})}, ExitErrHandler: func(*cli.Context, error) {}}
	h.check(app.Run([]string{"cassidy", "answer", "--resume", "r", "yes"}))
	h.check(app.Run([]string{"cassidy", "answer", "r", "no"})) // a correction
	if err := app.Run([]string{"cassidy", "answer", "--resume", "r", "--text", "x"}); value.KindOf(err) != value.Invalid {
		t.Errorf("an answer of the wrong kind = %v, want it invalid", err)
	}
	if diff := cmp.Diff([]string{"r"}, resumed); diff != "" || strings.Count(out.String(), "\n") != 1 {
		t.Errorf("printed %q, resumed (-want +got):\n%s", out.String(), diff)
	}
}
