package gate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestWaits checks what a run waits for after several parts of it wait: all questions, the
// first time, and the reason that somebody can do something about.
func TestWaits(t *testing.T) {
	type part struct {
		why      value.LimitName
		question string
		hours    int
	}
	at := func(hours int) time.Time {
		if hours == 0 {
			return time.Time{}
		}
		return time.Date(2026, 1, 2, hours, 0, 0, 0, time.UTC)
	}
	for _, tt := range []struct {
		parts             []part
		reason, questions string
		hours             int
		text, hint        string
	}{
		{[]part{{reasonSleep, "", 3}}, "sleep", "", 3, "the run r sleeps until 2026-01-02", "cassidy runs resume r"},
		{[]part{{reasonSleep, "", 3}, {reasonSleep, "", 2}, {reasonSleep, "", 4}}, "sleep", "", 2, "sleeps until", "runs resume"},
		{[]part{{reasonApproval, "a?", 0}}, "approval", "a?", 0, "the run r waits for an answer: a?", "cassidy runs answer r yes"},
		{[]part{{reasonQuestion, "b?", 0}}, "question", "b?", 0, "waits for an answer: b?", "cassidy runs answer r --text"},
		{[]part{{reasonSleep, "", 3}, {reasonQuestion, "b?", 0}}, "question", "b?", 3, "waits for an answer: b?", "--text"},
		{[]part{{reasonApproval, "a?", 0}, {reasonSleep, "", 3}, {reasonUnknownOutcome, "c?", 0}}, "approval", "a? c?", 3, "waits for 2 answers: a?; c?", "cassidy runs answer r STEP yes"},
	} {
		var w waits
		if w.Parked() != nil || !w.Wake().IsZero() {
			t.Fatal("a run waits before anything waits")
		}
		for _, p := range tt.parts {
			var q *tool.Question
			if p.question != "" {
				q = &tool.Question{Text: p.question, Kind: tool.QuestionApproval}
				if p.why == reasonQuestion {
					q.Kind = tool.QuestionAsk
				}
			}
			one, ok := errors.AsType[*history.ParkedError](w.Add("r", p.why, q, at(p.hours)))
			if !ok || one.Reason != string(p.why) || len(one.Questions) > 1 || !one.Until.Equal(at(p.hours)) {
				t.Errorf("%v: the effect ends with %+v", p, one)
			}
		}
		e := w.Parked()
		all, ok := errors.AsType[*history.ParkedError](e)
		if !ok || e.Kind != value.Parked || e.Limit != value.LimitName(tt.reason) {
			t.Fatalf("%v: %v", tt.parts, e)
		}
		var texts []string
		for _, q := range all.Questions {
			texts = append(texts, q.Text)
		}
		if all.Run != "r" || all.Reason != tt.reason || strings.Join(texts, " ") != tt.questions || !all.Until.Equal(at(tt.hours)) || !w.Wake().Equal(at(tt.hours)) {
			t.Errorf("%v: the run waits for %+v", tt.parts, all)
		}
		if !strings.Contains(e.Message(), tt.text) || !strings.Contains(e.Hint, tt.hint) {
			t.Errorf("%v: %s (hint: %s)", tt.parts, e.Message(), e.Hint)
		}
	}
}

// TestHintOfRules checks that the hint of an approval says how to allow it from now on, if rules can.
func TestHintOfRules(t *testing.T) {
	rule := []tool.Rule{{Verdict: tool.Allow, Tool: "t", Capability: tool.Capability{Name: "http", Target: "a.example"}}}
	for _, tt := range []struct {
		questions []tool.Question
		want      string
	}{
		{[]tool.Question{{Rules: rule}}, "cassidy runs answer r yes; to allow it from now on: cassidy runs answer r --rule"},
		{[]tool.Question{{Each: true}}, "cassidy runs answer r yes; to allow it from now on: cassidy runs answer r --rule"},
		{[]tool.Question{{NoRule: "a rule asks each time"}}, "cassidy runs answer r yes"},
		{[]tool.Question{{NoRule: "it was read", Sources: []string{"http:a.example", "tool:@mcp:x y"}}}, "cassidy runs answer r yes; to trust what was read, if only people whom you trust can write it: cassidy config set --add trusted_sources http:a.example 'tool:@mcp:x y'"},
		{[]tool.Question{{NoRule: "a rule asks each time"}, {Rules: rule}}, "cassidy runs show r lists the questions; cassidy runs answer r STEP yes; to allow one from now on: cassidy runs answer r STEP --rule"},
		{[]tool.Question{{}, {}}, "cassidy runs show r lists the questions; cassidy runs answer r STEP yes"},
	} {
		var w waits
		for i := range tt.questions {
			tt.questions[i].Kind = tool.QuestionApproval
			w.Add("r", reasonApproval, &tt.questions[i], time.Time{})
		}
		if got := w.Parked().Hint; got != tt.want {
			t.Errorf("%+v: the hint is %q, want %q", tt.questions, got, tt.want)
		}
	}
}

// TestBy checks that the error of a run that can be resumed stays what it was.
func TestBy(t *testing.T) {
	cause := errors.New("no connection")
	was := &value.Error{Kind: value.Unavailable, Op: "ask", Err: cause, Hint: "try again"}
	e := ParkedBy("r", reasonUnavailable, was)
	parked, ok := errors.AsType[*history.ParkedError](e)
	if !ok || parked.Run != "r" || parked.Reason != "unavailable" || !errors.Is(e, cause) {
		t.Errorf("the error is %+v", e)
	}
	if e.Kind != was.Kind || e.Hint != "try again; then: cassidy runs resume r" || e.Error() != was.Error() || errors.As(was, &parked) {
		t.Errorf("%v is not %v any more", e, was)
	}
	missing := &value.Error{Kind: value.NotFound, Err: cause, Hint: "use one of the tools: a", Limit: value.LimitTool}
	if e, want := ParkedBy("r", ReasonTool, missing), history.Repair("tool")+"; use one of the tools: a; then: cassidy runs resume r"; e.Hint != want {
		t.Errorf("the hint is %q, want %q", e.Hint, want)
	}
}

// TestHintOfParkedRuns checks that it is before what is only for programs in Go.
func TestHintOfParkedRuns(t *testing.T) {
	e := value.Errorf(value.Timeout, "no data").WithHint("try again; in Go, wait longer")
	if got, want := ParkedBy("r", reasonUnavailable, e).Hint, "try again; then: cassidy runs resume r; in Go, wait longer"; got != want {
		t.Errorf("hint = %q, want %q", got, want)
	}
	secret := value.Errorf(value.Unavailable, "no value").WithLimit(value.OfSecret("KEY"))
	if got, want := ParkedBy("r", Repairable(secret), secret), "cassidy secret set KEY; then: cassidy runs resume r"; got.Hint != want || !isEnvironment(secret) {
		t.Errorf("hint = %q, want %q", got.Hint, want)
	}
	if got, want := ParkedBy("r", reasonUnavailable, value.Errorf(value.Unavailable, "away")).Hint, "wait until the server or the file can be reached, or correct the key; then: cassidy runs resume r"; got != want {
		t.Errorf("hint = %q, want %q", got, want)
	}
}
