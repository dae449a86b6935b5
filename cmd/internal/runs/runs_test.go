package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	tools "github.com/cassidy-run/cassidy/cmd/internal/tool"
	"github.com/cassidy-run/cassidy/cmd/internal/trust"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestMain has this binary be a worker of itself, see [testworker.Main].
func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }

// commands are what the tests run: besides this package's, what makes runs and uses what
// was made of them.
func commands() []func(*app.App) *cli.Command {
	return []func(*app.App) *cli.Command{Command, RunCommand, tools.Command, trust.Command}
}

// A testHome is a folder of a user's own, with the record of runs in it.
type testHome struct {
	testing.TB
	home string
	j    *history.Journal
	done func()
}

func newHome(t testing.TB) *testHome {
	t.Helper()
	h := &testHome{TB: t, home: t.TempDir()}
	h.open()
	t.Cleanup(h.close)
	return h
}

func (h *testHome) folder() string { return filepath.Join(h.home, "state", "runs") }

func (h *testHome) open() {
	h.Helper()
	var err error
	h.j, h.done, err = app.New(&app.World{Env: func(string) (string, bool) { return "", false }}).OpenRuns(h.folder())
	h.check(err)
}

func (h *testHome) close() {
	if h.j != nil {
		h.done()
	}
	h.j = nil
}

func (h *testHome) check(err error) {
	h.Helper()
	if err != nil {
		h.Fatal(err)
	}
}

// begin begins a run.
func (h *testHome) begin(id string) *history.Log {
	h.Helper()
	l, err := h.j.Begin(context.Background(), history.Run{ID: id, Kind: "task", Title: "Do " + id,
		Options: value.NewDict("model", "script:model.star", "policy", "task")}, tool.Script{Source: "x"})
	h.check(err)
	return l
}

// ended makes a run that has ended.
func (h *testHome) ended(id string) {
	h.Helper()
	h.check(h.begin(id).End(context.Background(), "final", tool.Outcome{Value: "well"}, nil))
}

// parked makes a run that has parked with a question.
func (h *testHome) parked(id string, q history.Asked) {
	h.Helper()
	l := h.begin(id)
	_, err := l.Ask(context.Background(), q)
	h.check(err)
	h.check(l.Park(context.Background(), "question", time.Time{}))
}

// asleep makes a run that sleeps.
func (h *testHome) asleep(id, at string, until time.Time) {
	h.Helper()
	l := h.begin(id)
	h.check(l.Intend(context.Background(), history.Intent{StepPath: h.place(at), Func: "time.sleep", Args: value.NewDict("seconds", int64(9)), Kind: tool.Repeatable}))
	h.check(l.Note(context.Background(), h.place(at), value.NewDict("until", until.UTC().Format(time.RFC3339Nano))))
	h.check(l.Park(context.Background(), "sleep", until))
}

// answers answers the only question of a run.
func (h *testHome) answers(run string, a tool.Answer) {
	h.Helper()
	open, err := h.j.Questions(context.Background(), run)
	h.check(err)
	h.check(h.j.Answer(context.Background(), run, open[0].StepPath, open[0].N, a))
}

// did records a step of a run, with an outcome unless that is an open one.
func (h *testHome) did(l *history.Log, at, name string, args *value.Dict, value value.Value, failure error) {
	h.Helper()
	h.intend(l, at, name, args)
	h.check(l.Settle(context.Background(), h.place(at), tool.Outcome{Value: value}, failure))
}

func (h *testHome) intend(l *history.Log, at, name string, args *value.Dict) {
	h.Helper()
	h.check(l.Intend(context.Background(), history.Intent{StepPath: h.place(at), Func: name, Args: args, Kind: tool.External}))
}

func (h *testHome) place(at string) tool.StepPath {
	h.Helper()
	p, err := history.ParseStepPath(at)
	h.check(err)
	return p
}

// cassidy runs the command with what it reads.
func (h *testHome) cassidy(in string, args ...string) (stdout, stderr string, code int) {
	h.Helper()
	var out, errs bytes.Buffer
	code = app.Run(context.Background(), args, &app.World{In: strings.NewReader(in), Out: &out, Err: &errs, Env: h.env}, commands()...)
	return out.String(), errs.String(), code
}

func (h *testHome) env(name string) (string, bool) { return h.home, name == "CASSIDY_HOME" }

// ids returns the runs that there are, the newest first.
func (h *testHome) ids() string {
	h.Helper()
	runs, err := all(context.Background(), h.j, history.Filter{})
	h.check(err)
	var ids []string
	for _, r := range runs {
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

// changing is what no two runs have in common: moments and how long something took.
var changing = regexp.MustCompile(`(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|<1ms|\d+(\.\d+)?m?s( ago)?\b)`)

// TestShow shows steps of every kind as people see them.
func TestShow(t *testing.T) {
	h := newHome(t)
	l := h.begin("one")
	ctx := context.Background()
	decision := value.NewDict("decision", value.NewDict("kind", "call", "action", "write_file", "input", value.NewDict("filepath", "a.txt")))
	h.did(l, "1", "agent.limits", nil, value.NewDict("tools", 3), nil)
	h.did(l, "2", "agent.ask", value.NewDict("message", "go"), value.NewDict("text", "\n I write.\nMore.", "iteration", 1, "input_tokens", 1200, "output_tokens", 34), nil)
	h.did(l, "3.1", "fs.exists", value.NewDict("path", "a.txt"), false, nil)
	h.check(l.Answered(ctx, history.Asked{StepPath: h.place("3.2"), Question: tool.Question{Kind: tool.QuestionApproval, Text: "May it?"}}, tool.Answer{Yes: true, Why: "a rule allows it"}))
	h.did(l, "3.2", "fs.commit", &value.Dict{}, value.List{
		value.NewDict("path", "a.txt", "kind", "file", "action", "created", "bytes", 1229),
		value.NewDict("path", "b", "kind", "dir", "action", "removed", "bytes", 0),
	}, nil)
	h.did(l, "3", "agent.call", decision, value.NewDict("success", true, "result", strings.Repeat("x", 2048), "text", "RESULT"), nil)
	h.did(l, "4", "agent.call", decision, value.NewDict("success", false, "result", nil, "error", "No such thing\nsee there"), nil)
	h.did(l, "5", "tools.call", value.NewDict("name", "slug", "args", value.NewDict("title", "A b")), "a-b", nil)
	h.did(l, "6", "tools.call_all", value.NewDict("calls", value.List{value.Tuple{"slug", &value.Dict{}}, value.Tuple{"now", &value.Dict{}}}), value.List{}, nil)
	h.did(l, "7", "http.get", value.NewDict("url", "https://example.com/x", "timeout", 10), value.NewDict("status", 404, "text", "gone"), nil)
	h.did(l, "8", "http.request", value.NewDict("method", "put", "url", "https://example.com"), value.NewDict("status", 200, "bytes", []byte("abc")), nil)
	h.did(l, "9", "shell.run", value.NewDict("argv", value.List{"git", "log", "-n 1"}), value.NewDict("exit_code", 1, "stdout", "", "stderr", "fatal: no\n"), nil)
	h.did(l, "10", "human.ask", value.NewDict("question", "Who?"), "Ann", nil)
	h.did(l, "11", "time.sleep", value.NewDict("seconds", 90), nil, nil)
	h.did(l, "12", "fs.read", value.NewDict("path", "a\x1b[2Jb\u202e.txt"), nil, value.Errorf(value.NotFound, "there is no \x1b[31ma"))
	h.check(l.Answered(ctx, history.Asked{StepPath: h.place("13"), Question: tool.Question{Kind: tool.QuestionApproval, Text: "May it?"}}, tool.Answer{Why: "not now"}))
	h.did(l, "14", "agent.ask", value.NewDict("message", ""), value.NewDict("text", "Done.", "iteration", 2, "input_tokens", 100, "output_tokens", 2), nil)
	one, _ := decision.Get("decision")
	h.did(l, "16", "agent.calls", value.NewDict("decisions", value.List{one, value.NewDict("action", "slug"), one}), value.NewDict("outcomes", value.List{
		value.NewDict("success", false, "error", "No such thing\nsee there"), value.NewDict("success", true, "result", "a-b"),
	}), nil)
	h.intend(l, "15", "agent.call", decision)
	h.did(l, "15.1", "fs.stat", value.NewDict("path", "a"), nil, nil)
	h.intend(l, "15.2", "shell.run", value.NewDict("argv", value.List{"ls"}))
	h.check(l.Close())

	stdout, stderr, code := h.cassidy("", "runs", "show", "one")
	want := `run      one
kind     task
title    Do one
state    running (broken off)
started  TIME
model    script:model.star
policy   task
used     2 requests, 1,300 tokens in, 36 out, cost unknown

2      ✓ model, reply 1  TIME · 16 B · 1200 in, 34 out tokens  I write.
3      ✓ write_file filepath=a.txt  TIME · 2.0 KB  ` + strings.Repeat("x", 47) + `…
  3.1  ✓ fs.exists path=a.txt  TIME · 5 B  false
  3.2  ✓ fs.commit  TIME  created a.txt (1.2 KB), removed b
         ↳ approved: a rule allows it
4      ✗ write_file filepath=a.txt  TIME  No such thing
5      ✓ slug title="A b"  TIME · 3 B  a-b
6      ✓ 2 calls: slug, now  TIME · 2 B  []
7      ✓ GET https://example.com/x  TIME · 4 B  404 gone
8      ✓ PUT https://example.com  TIME · 3 B  200
9      ✓ $ git log "-n 1"  TIME · 10 B  exit 1 fatal: no
10     ✓ human.ask question=Who?  TIME · 3 B  Ann
11     ✓ sleep 1m30s  TIME
12     ✗ fs.read path=a⟨U+001B⟩[2Jb⟨U+202E⟩.txt  TIME  there is no ⟨U+001B⟩[31ma
13     · decision
         ↳ refused: not now
14     ✓ model, reply 2  TIME · 5 B · 100 in, 2 out tokens  Done.
15     … write_file filepath=a.txt
  15.1 ✓ fs.stat path=a  TIME
  15.2 ? $ ls  the step began, but its outcome is unknown
16     ✓ 3 calls: write_file, slug, write_file  TIME
         ↳ ✗ write_file filepath=a.txt  No such thing
         ↳ ✓ slug  a-b

  to continue: cassidy runs resume one
`
	// How long a step took is of no width that is known, so what is cut is not.
	got := regexp.MustCompile(`x{30,}…`).ReplaceAllString(changing.ReplaceAllString(stdout, "TIME"), strings.Repeat("x", 47)+"…")
	got = strings.ReplaceAll(got, "sleep 1mTIME", "sleep 1m30s")
	if diff := cmp.Diff(want, got); diff != "" || code != 0 {
		t.Errorf("runs show, exit %d (-want +got):\n%s", code, diff)
	}
	if want := "cassidy: 1 internal step hidden (use --verbose)\n"; stderr != want {
		t.Errorf("stderr is %q, want %q", stderr, want)
	}
	for line := range strings.Lines(stdout) {
		if n := len([]rune(line)) - 1; n > draw.MaxText {
			t.Errorf("a line has %d columns: %q", n, line)
		}
	}
	if stdout, _, _ := h.cassidy("", "--json", "runs", "show", "one"); !strings.Contains(stdout, `"state":"running","reason":"broken off"`) {
		t.Errorf("runs show --json does not report that the run was broken off:\n%s", stdout)
	}
	if stdout, _, _ := h.cassidy("", "runs", "show", "one", "--verbose"); !strings.Contains(stdout, "✓ agent.limits") {
		t.Errorf("--verbose hides steps:\n%s", stdout)
	}
}

// TestShowJSON checks what programs get of a run.
func TestShowJSON(t *testing.T) {
	h := newHome(t)
	l := h.begin("one")
	h.did(l, "1", "agent.ask", nil, value.NewDict("text", "Hello", "input_tokens", 7, "output_tokens", 8), nil)
	h.did(l, "2", "f.odd", nil, value.List{infinity()}, nil)
	h.check(l.Note(context.Background(), h.place("3"), value.NewDict("decision", "denied")))
	_, err := l.Ask(context.Background(), history.Asked{StepPath: h.place("3"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Go?"}})
	h.check(err)
	h.check(l.Park(context.Background(), "question", time.Time{}))
	h.answers("one", tool.Answer{Yes: true, Why: "it is time", By: "Ann"})

	stdout, _, code := h.cassidy("", "--json", "runs", "show", "one")
	var got struct {
		ID     string
		Input  int `json:"input_tokens"`
		Output int `json:"output_tokens"`
		Waits  struct {
			Place, Question string
			Confirm, Answer bool
			Questions       []struct{ ID, Kind, Why, By string }
		}
		Steps []struct {
			Place, Func string
			Size        int
			Input       int `json:"input_tokens"`
			Notes       []map[string]string
			Questions   []struct{ Text string }
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil || code != 0 {
		t.Fatalf("exit %d, %v: %s", code, err, stdout)
	}
	if got.ID != "one" || got.Input != 7 || got.Output != 8 || got.Waits.Place != "3" || got.Waits.Question != "Go?" || !got.Waits.Confirm || !got.Waits.Answer {
		t.Errorf("the run is %+v", got)
	}
	if len(got.Steps) != 3 || got.Steps[0].Size != 5 || got.Steps[0].Input != 7 || got.Steps[2].Notes[0]["decision"] != "denied" ||
		got.Steps[2].Questions[0].Text != "Go?" || len(got.Waits.Questions) != 1 || got.Waits.Questions[0].ID != "one:3:1" || got.Waits.Questions[0].Why != "it is time" || got.Waits.Questions[0].By != "Ann" {
		t.Errorf("the steps are %+v", got.Steps)
	}

	stdout, _, _ = h.cassidy("", "--json", "runs", "show", "one", "--step", "1")
	if !strings.HasPrefix(stdout, `{"place":"1","func":"agent.ask"`) || !json.Valid([]byte(stdout)) {
		t.Errorf("a step is %s", stdout)
	}
}

func infinity() float64 {
	zero := 0.0
	return 1 / zero
}

// TestShowStep shows one step whole, with nothing in it that passes for
// another line of ours.
func TestShowStep(t *testing.T) {
	h := newHome(t)
	l := h.begin("one")
	ctx := context.Background()
	h.check(l.Answered(ctx, history.Asked{StepPath: h.place("3.1"), Question: tool.Question{Kind: tool.QuestionApproval, Text: "May it?"}}, tool.Answer{Yes: true, Why: "it is needed", By: "Ann"}))
	h.check(l.Intend(ctx, history.Intent{StepPath: h.place("3.1"), Func: "fs.write", Args: value.NewDict("path", "a", "content", "one\nstep 9\n"),
		Kind: tool.Write, Change: value.NewDict("a", value.NewDict("before", "", "after", "abc"))}))
	h.check(l.Answered(ctx, history.Asked{StepPath: h.place("3.1"), Question: tool.Question{Kind: tool.QuestionUnknown, Text: "Really?\x1b[1A"}}, tool.Answer{}))
	h.check(l.Settle(ctx, h.place("3.1"), tool.Outcome{}, value.Errorf(value.Denied, "no").WithHint("ask again")))
	h.check(l.Close())
	stdout, _, code := h.cassidy("", "runs", "show", "one", "--step", "3.1")
	want := `step      3.1
effect    fs.write
state     failed
began     TIME
took      TIME
key       NONCE/3.1
arguments
  path: "a"
  content:
    one
    step 9
change
  a: {"before": "", "after": "abc"}
asked     TIME
question
  May it?
answered  TIME
answer
  yes
by        Ann
why       it is needed
asked     TIME
question
  Really?⟨U+001B⟩[1A
answered  TIME
answer
  no
error
  no
type      permission_error
hint      ask again
`
	got := changing.ReplaceAllString(regexp.MustCompile(`(:\d\d)\.\d{3}`).ReplaceAllString(stdout, "$1"), "TIME")
	got = regexp.MustCompile(`key       \w+/`).ReplaceAllString(got, "key       NONCE/")
	if diff := cmp.Diff(want, got); diff != "" || code != 0 {
		t.Errorf("runs show --step, exit %d (-want +got):\n%s", code, diff)
	}
	for at, want := range map[string]string{"9": "has no step", "x": `invalid step "x"`, "": "has no step"} {
		if _, stderr, code := h.cassidy("", "runs", "show", "one", "--step", at); code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("--step %q: exit %d, %q, want 2 and %q", at, code, stderr, want)
		}
	}
}

// TestWaiting shows what runs wait for, and what to type.
func TestWaiting(t *testing.T) {
	until := time.Date(2031, 2, 3, 4, 5, 6, 0, time.Local)
	for _, tt := range []struct {
		name     string
		question history.Asked
		answer   any    // or when a sleep ends
		line     string // of the list
		page     string // the end of the page
		step     string
	}{
		{"yes or no", history.Asked{Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Delete\nit?"}}, nil, "… waits for yes or no at step 2.1: Delete↵it?",
			"waits    for yes or no at step 2.1\n  │ Delete\n  │ it?\n  cassidy runs answer r yes|no\n", "question: Delete↵it?\n"},
		{"a text", history.Asked{Question: tool.Question{Kind: tool.QuestionAsk, Text: "Who?",
			Changes: []tool.Change{{Path: "a.txt", After: tool.FileState{Exists: true, Data: []byte("new\n"), Hash: "1"}}}}}, nil, "… waits for an answer at step 2.1: Who?",
			"  │ Who?\n  new  a.txt  +1\n  │   1 + new\n  cassidy runs answer r --text \"…\"\n", "question: Who?\n"},
		{"a time", history.Asked{}, until, "… sleeps until 2031-02-03 04:05:06",
			"sleeps until 2031-02-03 04:05:06\n  to continue after this time: cassidy runs resume r\n", "sleep 9s until 2031-02-03 04:05:06\n"},
		{"nothing any more", history.Asked{Question: tool.Question{Kind: tool.QuestionAsk, Text: "Who?"}}, "Ann", "… was answered Ann at step 2.1: Who?", "  │ Who?\n  cassidy runs resume r\n", "question: Who?\n        ↳ answered: Ann\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			h.ended("before")
			tt.question.StepPath = h.place("2.1")
			reason := "question"
			switch answer := tt.answer.(type) {
			case time.Time:
				reason = "sleep"
				h.asleep("r", "2.1", answer)
			case string:
				h.parked("r", tt.question)
				h.answers("r", tool.Answer{Value: answer})
			default:
				h.parked("r", tt.question)
			}
			stdout, _, code := h.cassidy("", "runs", "list", "--state", "parked")
			lines := strings.Split(stdout, "\n")
			if code != 0 || len(lines) != 3 || !strings.HasPrefix(lines[0], "r  task  parked  "+reason+"  ") || lines[1] != "  "+tt.line {
				t.Errorf("runs list, exit %d:\n%s\nwant %q", code, stdout, tt.line)
			}
			stdout, _, code = h.cassidy("", "runs", "show", "r")
			if code != 0 || !strings.HasSuffix(stdout, tt.page) || !strings.Contains(stdout, "\n  2.1 … "+tt.step) {
				t.Errorf("runs show, exit %d:\n%s\nwant at the end:\n%s", code, stdout, tt.page)
			}
		})
	}
}

// TestList checks the lines of the list and what is chosen.
func TestList(t *testing.T) {
	h := newHome(t)
	h.ended("long-name-of-a-run")
	l, err := h.j.Begin(context.Background(), history.Run{ID: "b", Kind: "chat", Title: strings.Repeat("word ", 60) + "\n\x1b[2J"}, tool.Script{})
	h.check(err)
	h.check(l.Close())
	stdout, _, code := h.cassidy("", "runs", "list")
	want := "b                   chat  running  broken off  TIME  " + strings.Repeat("word ", 8) + "…\n" +
		"  … to continue: cassidy runs resume b\n" +
		"long-name-of-a-run  task  done     final       TIME  Do long-name-of-a-run\n"
	got := regexp.MustCompile(`(word )+word?…|(word )+wo?r?d?…`).ReplaceAllString(changing.ReplaceAllString(stdout, "TIME"), strings.Repeat("word ", 8)+"…")
	if diff := cmp.Diff(want, got); diff != "" || code != 0 {
		t.Errorf("runs list, exit %d (-want +got):\n%s", code, diff)
	}
	for _, tt := range []struct{ args, want string }{
		{"--state done", `"id":"long-name-of-a-run"`},
		{"--kind chat", `"id":"b"`},
		{"--state failed", `{"runs":[]}`},
	} {
		stdout, _, _ := h.cassidy("", append([]string{"--json", "runs", "list"}, strings.Fields(tt.args)...)...)
		if !strings.Contains(stdout, tt.want) || strings.Count(stdout, `"id"`) > 1 {
			t.Errorf("runs list %s: %s, want only %s", tt.args, stdout, tt.want)
		}
	}
	h.ended("long-name-of-another")
	for _, tt := range []struct{ args, want string }{
		{"list --state parkd", `there is no state "parkd"; did you mean "parked"?`},
		{"list --kind chatt", `there is no kind "chatt"; did you mean "chat"?`},
		{"list --limit -1", "--limit must be 0 or more, not -1"},
		{"list --limit x", `--limit must be 0 or more, not "x"`},
		{"prune --keep=-1", "--keep must be 0 or more, not -1"},
		{"prune --older-than week", `--older-than must be a duration with a unit, not "week"`},
		{"show long", `"long" is a prefix of 2 run IDs`},
		{"cancel lo", `"lo" is a prefix of 2 run IDs`},
		{"answer b yes --args x", "hint: use --args with a JSON object"},
	} {
		if _, stderr, code := h.cassidy("", append([]string{"runs"}, strings.Fields(tt.args)...)...); code != 2 || !strings.Contains(stderr, tt.want) {
			t.Errorf("runs %s: exit %d, %s, want %s", tt.args, code, stderr, tt.want)
		}
	}
}

// TestRepairs checks that the list and the page of a run say what to type for one that waits for
// a repair or has failed, and that the list marks runs that were undone.
func TestRepairs(t *testing.T) {
	ctx, h := context.Background(), newHome(t)
	begin := func(r history.Run) *history.Log {
		l, err := h.j.Begin(ctx, r, tool.Script{})
		h.check(err)
		return l
	}
	h.check(begin(history.Run{ID: "p", Kind: "task"}).Park(ctx, "disk", time.Time{}))
	h.check(begin(history.Run{ID: "f", Kind: "task"}).End(ctx, "error", tool.Outcome{}, errors.New("no")))
	h.ended("d")
	h.check(begin(history.Run{ID: "u", Kind: "undo", Options: value.NewDict("run", "d")}).End(ctx, "", tool.Outcome{}, nil))
	h.check(begin(history.Run{ID: "x", Kind: "undo", Options: value.NewDict("run", "d2")}).End(ctx, "error", tool.Outcome{}, errors.New("no")))
	list, _, _ := h.cassidy("", "runs", "list")
	for id, want := range map[string]string{
		"p": "free space on the disk; then: cassidy runs resume p\n", "f": "to try again: cassidy runs retry f\n",
		"x": "to try again: cassidy runs undo d2\n", "d": "", "u": "",
	} {
		page, _, _ := h.cassidy("", "runs", "show", id)
		if !strings.Contains(list, want) || !strings.Contains(page, want) || want == "" && strings.Contains(page, "cassidy runs") {
			t.Errorf("the run %s is listed and shown as\n%s%s\nwant %q", id, list, page, want)
		}
	}
	undone := regexp.MustCompile(`(?m)^(\w+) .*done, undone`).FindAllStringSubmatch(list, -1)
	if len(undone) != 1 || undone[0][1] != "d" {
		t.Errorf("undone are %v, want d:\n%s", undone, list)
	}
	if stdout, _, _ := h.cassidy("", "--json", "runs", "list"); strings.Count(stdout, `"undone":true`) != 1 {
		t.Errorf("undone with --json:\n%s", stdout)
	}
	if page, _, _ := h.cassidy("", "runs", "show", "p"); !strings.Contains(page, "--due tries again after") {
		t.Errorf("the page does not say when it is tried again:\n%s", page)
	}
}

// TestDamaged shows what can be read of a run, then the damage.
func TestDamaged(t *testing.T) {
	const lost, marker = 100 << 10, "the text that will change"
	for _, tt := range []struct {
		name   string
		damage func(h *testHome)
		shown  []string
		want   string
	}{
		{"a value is lost", func(h *testHome) {
			h.check(filepath.WalkDir(filepath.Join(h.folder(), "blobs"), func(path string, d fs.DirEntry, err error) error {
				if info, e := d.Info(); err == nil && e == nil && info.Size() >= lost {
					return os.Remove(path)
				}
				return err
			}))
		}, []string{"1 ✓ fs.read path=a", "2 ✗ this step  its record is damaged", "3 ✓ fs.read path=c"}, "is damaged: step 2"},
		{"a record has changed", func(h *testHome) {
			file := filepath.Join(h.folder(), "journal.db")
			data, err := os.ReadFile(file)
			h.check(err)
			if !bytes.Contains(data, []byte(marker)) {
				h.Fatal("the record is not where it should be")
			}
			h.check(os.WriteFile(file, bytes.ReplaceAll(data, []byte(marker), []byte(strings.ToUpper(marker))), 0o600))
		}, []string{"1 ✓ fs.read path=a", "3 ? fs.read path=c"}, "is damaged: after step 3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHome(t)
			l := h.begin("r")
			h.did(l, "1", "fs.read", value.NewDict("path", "a"), "well", nil)
			h.did(l, "2", "fs.read", value.NewDict("path", "b"), strings.Repeat("y", lost), nil)
			h.did(l, "3", "fs.read", value.NewDict("path", "c"), marker, nil)
			h.check(l.End(context.Background(), "final", tool.Outcome{}, nil))
			h.close()
			tt.damage(h)
			stdout, stderr, code := h.cassidy("", "runs", "show", "r")
			for _, line := range tt.shown {
				if !strings.Contains(stdout, "\n"+line) {
					t.Errorf("runs show lacks %q:\n%s", line, stdout)
				}
			}
			if code != 1 || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "hint") {
				t.Errorf("exit %d, %q, want 1 and %q", code, stderr, tt.want)
			}
			stdout, stderr, code = h.cassidy("", "--json", "runs", "show", "r")
			if code != 1 || !json.Valid([]byte(stdout)) || !strings.Contains(stdout, tt.want) || !strings.Contains(stderr, tt.want) {
				t.Errorf("as JSON: exit %d, %s, valid %v, with the damage %v", code, stderr, json.Valid([]byte(stdout)), strings.Contains(stdout, tt.want))
			}
		})
	}
}

func TestCancel(t *testing.T) {
	h := newHome(t)
	h.ended("ended")
	h.parked("parked", history.Asked{StepPath: h.place("2"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Sure?"}})
	h.check(h.begin("broken").Close())
	l := h.begin("held")
	defer l.Close()
	for _, tt := range []struct {
		run  string
		code int
		want string
	}{
		{"parked", 0, "parked cancelled\n"},
		{"broken", 0, "broken cancelled\n"},
		{"parked", 1, "the run 'parked' has ended: cancelled"},
		{"ended", 1, "the run 'ended' has ended: done"},
		{"held", 0, "held: its process was asked to stop\n"},
		{"nobody", 2, "there is no run"},
	} {
		stdout, stderr, code := h.cassidy("", "runs", "cancel", tt.run)
		if code != tt.code || !strings.Contains(stdout+stderr, tt.want) {
			t.Errorf("cancel %s: exit %d, %q, %q, want %d and %q", tt.run, code, stdout, stderr, tt.code, tt.want)
		}
	}
	runs, err := all(context.Background(), h.j, history.Filter{States: []history.State{history.Cancelled}})
	h.check(err)
	if len(runs) != 2 || runs[0].Reason != "cancelled" || value.KindOf(runs[0].Err) != value.Canceled {
		t.Errorf("the cancelled runs are %+v", runs)
	}
}

func TestPrune(t *testing.T) {
	h := newHome(t)
	h.check(h.begin("broken").Close())
	for _, id := range []string{"a", "b", "c", "d"} {
		h.ended(id)
	}
	if _, stderr, code := h.cassidy("", "runs", "prune"); code != 2 || !strings.Contains(stderr, `"runs: {keep_for: 720h}" to your config.yaml`) {
		t.Errorf("prune without a word: exit %d, %s", code, stderr)
	}
	h.config("runs: {keep: 2, keep_for: 720h}")
	if stdout, _, code := h.cassidy("", "runs", "prune", "--keep", "3"); code != 0 || h.ids() != "d c b broken" {
		t.Errorf("prune --keep 3: exit %d, %s, left %q", code, stdout, h.ids())
	}
	if stdout, _, code := h.cassidy("", "--json", "runs", "prune"); code != 0 || stdout != "{\"removed\":1}\n" || h.ids() != "d c broken" {
		t.Errorf("prune: exit %d, %s, left %q", code, stdout, h.ids())
	}
}

func (h *testHome) config(text string) {
	h.Helper()
	h.check(os.WriteFile(filepath.Join(h.home, "config.yaml"), []byte(text+"\n"), 0o600))
}

// TestForgetRuns checks that runs are forgotten unasked at most once a day, as
// the user's config says, and that nothing that is wrong comes in the way.
func TestForgetRuns(t *testing.T) {
	h := newHome(t)
	c := app.New(&app.World{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}, Env: h.env})
	c.Records = true
	h.check(h.begin("broken").Close())
	h.ended("a")
	h.ended("b")
	forget := func(what, want string) {
		t.Helper()
		if c.ForgetRuns(context.Background()); h.ids() != want {
			t.Errorf("%s: %q is left, want %q", what, h.ids(), want)
		}
	}
	forget("no config", "b a broken")
	h.config("runs: {keep: none}")
	forget("a broken config", "b a broken")
	h.config("runs: {keep: 1}")
	c.Records = false
	forget("nothing is recorded", "b a broken")
	c.Records = true
	forget("the first time", "b broken")
	h.ended("c")
	forget("on the same day", "c b broken")
	for _, past := range []time.Duration{-2 * app.ForgetEvery, 2 * app.ForgetEvery} { // a clock may have been wrong
		at := time.Now().Add(past)
		h.check(os.Chtimes(filepath.Join(h.home, "state", "runs-pruned"), at, at))
		forget("another day", "c broken")
		h.ended("b")
		h.check(h.j.Delete(context.Background(), "c"))
		h.ended("c")
	}
	h.check(os.RemoveAll(filepath.Join(h.home, "state", "runs-pruned")))
	h.check(os.Mkdir(filepath.Join(h.home, "state", "runs-pruned"), 0o700))
	at := time.Now().Add(-2 * app.ForgetEvery)
	h.check(os.Chtimes(filepath.Join(h.home, "state", "runs-pruned"), at, at))
	forget("nothing can be written down", "c b broken")
}

// TestStuck shows a run whose step differs from its record, and a damaged one: the damage is
// reported by the first attempt to resume it, and afterwards nobody tries by himself.
func TestStuck(t *testing.T) {
	const marker = "the text that will change"
	h := newHome(t)
	l := h.begin("broken")
	h.did(l, "1", "fs.read", value.NewDict("path", "a"), marker, nil)
	h.did(l, "2", "fs.read", value.NewDict("path", "a"), strings.Repeat("x", 100), nil)
	h.check(l.Close())
	h.close()
	file := filepath.Join(h.folder(), "journal.db")
	data, err := os.ReadFile(file)
	h.check(err)
	h.check(os.WriteFile(file, bytes.ReplaceAll(data, []byte(marker), []byte(strings.ToUpper(marker))), 0o600))
	h.open()
	l = h.begin("r")
	h.did(l, "1", "fs.read", value.NewDict("path", "a"), "well", nil)
	h.check(l.Stick(context.Background(), h.place("1"), `step 1 differs from the record: recorded fs.read({"path":"a"}), got fs.read({"path":"b"})`))

	_, stderr, code := h.cassidy("", "runs", "resume", "--due")
	if code != 1 || !strings.Contains(stderr, "the record of run 'broken' is damaged") || !strings.Contains(stderr, "nobody can continue: 1 run") {
		t.Errorf("the first attempt: exit %d, %q", code, stderr)
	}
	_, stderr, code = h.cassidy("", "runs", "resume", "--due")
	if code != 0 || strings.Contains(stderr, "damaged") || !strings.Contains(stderr, "nobody can continue: 2 runs; to list: cassidy runs list --state stuck") {
		t.Errorf("the second attempt: exit %d, %q", code, stderr)
	}
	stdout, _, _ := h.cassidy("", "runs", "list", "--state", "stuck")
	for _, want := range []string{"r       task  stuck", "… step 1 differs from the record: recorded fs.read(", "broken  task  stuck", "… the record of run 'broken' is damaged"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("runs list lacks %q:\n%s", want, stdout)
		}
	}
	stdout, _, code = h.cassidy("", "runs", "show", "r")
	for _, want := range []string{"\nstate    stuck\n", `recorded fs.read({"path":"a"}), got fs.read({"path":"b"})` + "\nrecorded by cassidy ", "; this is ", "↳ the run was stuck here: step 1 differs",
		"to repeat the run from the step that differs: cassidy runs retry r; after the cause is gone: cassidy runs resume r\n"} {
		if code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("runs show: exit %d, it lacks %q:\n%s", code, want, stdout)
		}
	}
	stdout, stderr, code = h.cassidy("", "runs", "show", "broken")
	if code != 1 || !strings.Contains(stdout, "state    stuck") || !strings.Contains(stdout, "restore the journal from a backup") || !strings.Contains(stderr, "damaged") {
		t.Errorf("runs show of the damaged run: exit %d, %q:\n%s", code, stderr, stdout)
	}
	stdout, _, _ = h.cassidy("", "--json", "runs", "show", "r")
	if !strings.Contains(stdout, `"state":"stuck"`) || !strings.Contains(stdout, `"version":"`) || !strings.Contains(stdout, `"stuck":"step 1 differs`) {
		t.Errorf("as JSON: %s", stdout)
	}
	if stdout, stderr, code := h.cassidy("", "runs", "cancel", "r"); code != 0 || stdout != "r cancelled\n" {
		t.Errorf("runs cancel: exit %d, %q", code, stderr)
	}
}

// TestLostWrites lists and shows the other runs after the last writes of the journal were lost.
func TestLostWrites(t *testing.T) {
	h := newHome(t)
	h.ended("kept")
	h.close()
	file := filepath.Join(h.folder(), "journal.db")
	before, err := os.ReadFile(file)
	h.check(err)
	h.open()
	h.ended("lost")
	h.close()
	h.check(os.WriteFile(file, before, 0o600))
	const why = "its last writes are lost"
	stdout, stderr, code := h.cassidy("", "runs", "list")
	if code != 1 || !strings.Contains(stdout, "kept  task  done") || !strings.Contains(stderr, why) {
		t.Errorf("runs list: exit %d, %q, %q", code, stdout, stderr)
	}
	stdout, stderr, code = h.cassidy("", "runs", "show", "kept")
	if code != 0 || !strings.Contains(stdout, "state    done") {
		t.Errorf("runs show of a run that is there: exit %d, %q, %q", code, stdout, stderr)
	}
	_, stderr, code = h.cassidy("", "runs", "show", "lost")
	if code != 1 || !strings.Contains(stderr, `there is no run "lost" among those that can be read`) || !strings.Contains(stderr, why) {
		t.Errorf("runs show of a lost run: exit %d, %q", code, stderr)
	}
}

// TestTimes shows how long a run and its steps worked, without the three hours in which it waited for
// an answer, and the answer that it has not used yet.
func TestTimes(t *testing.T) {
	home := newHome(t)
	home.close()
	now := time.Now().Add(-24 * time.Hour)
	store, err := sqlite.Open(home.folder())
	home.check(err)
	home.j = history.Open(store, &history.Options{Clock: func() time.Time { return now }})
	home.done = func() { _, _ = home.j.Close(), store.Close() }
	l := home.begin("r")
	home.intend(l, "1", "tools.call", value.NewDict("name", "publish"))
	now = now.Add(2 * time.Second)
	_, err = l.Ask(context.Background(), history.Asked{StepPath: home.place("1.1"), Question: tool.Question{Kind: tool.QuestionConfirm, Text: "Publish?"}})
	home.check(err)
	home.check(l.Park(context.Background(), "question", time.Time{}))
	now = now.Add(3 * time.Hour)
	home.answers("r", tool.Answer{Yes: true, By: "Ann", Why: "tested"})
	home.close()
	stdout, _, _ := home.cassidy("", "runs", "show", "r")
	for _, want := range []string{"took     2s, waited 23h", "answered: yes by Ann (tested)", "was answered yes by Ann (tested) at step 1.1\n"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("with the answer, runs show lacks %q:\n%s", want, stdout)
		}
	}

	store, err = sqlite.Open(home.folder())
	home.check(err)
	home.j = history.Open(store, &history.Options{Clock: func() time.Time { return now }})
	l, err = home.j.Resume(context.Background(), "r")
	home.check(err)
	_, err = l.Answer(context.Background(), home.place("1.1"), 1)
	home.check(err)
	now = now.Add(500 * time.Millisecond)
	home.check(l.Settle(context.Background(), home.place("1"), tool.Outcome{Value: "published"}, nil))
	home.check(l.End(context.Background(), "final", tool.Outcome{Value: "well"}, nil))
	home.close()
	stdout, _, _ = home.cassidy("", "runs", "show", "r")
	for _, want := range []string{"took     2.5s, waited 3h0m0s\n", "publish  2.5s, waited 3h0m0s"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("runs show lacks %q:\n%s", want, stdout)
		}
	}
	stdout, _, _ = home.cassidy("", "--json", "runs", "show", "r")
	if n := strings.Count(stdout, `"duration_ms":2500.0,"waited_ms":10800000.0`); n != 2 {
		t.Errorf("the run and its step have the times %d times in %s", n, stdout)
	}
}

// A countingStore counts the rows that are listed.
type countingStore struct {
	journal.Store
	rows int
}

func (s *countingStore) List(ctx context.Context, f journal.Filter) iter.Seq2[journal.Row, error] {
	return func(yield func(journal.Row, error) bool) {
		for r, err := range s.Store.List(ctx, f) {
			if s.rows++; !yield(r, err) {
				return
			}
		}
	}
}

// TestFindReadsOneRun finds runs among many, and reads no others.
func TestFindReadsOneRun(t *testing.T) {
	t.Parallel()
	ctx, store := context.Background(), &countingStore{Store: journal.Memory()}
	j := history.Open(store, nil)
	defer j.Close()
	for i := range 50 {
		l, err := j.Begin(ctx, history.Run{ID: fmt.Sprintf("run-%02d", i), Kind: "task"}, tool.Script{Source: "x"})
		if err == nil {
			err = l.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{"run-07": "run-07", "run-31": "run-31", "run-4": "", "last": "run-49", "run-0": "", "nothing": "", "": ""} {
		store.rows = 0
		r, err := find(ctx, j, id)
		switch {
		case want == "" && (err == nil || r != nil):
			t.Errorf("%q finds %v, %v", id, r, err)
		case want != "" && (err != nil || r.ID != want || store.rows != 1):
			t.Errorf("%q finds %v, %v, and reads %d runs", id, r, err, store.rows)
		}
	}
	store.rows = 0
	if by := undosOf(ctx, j, "run-07"); len(by) > 0 || store.rows > 0 {
		t.Errorf("the undos of a run are %v, and %d runs are read", by, store.rows)
	}
}
