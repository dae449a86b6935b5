package human

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// somebody answers each question with the same thing, and keeps what they were
// asked.
type somebody struct {
	answer   value.Value
	err      error
	question string
	confirm  bool
	timeout  time.Duration
}

func (s *somebody) ask(_ context.Context, question string, confirm bool, timeout time.Duration) (value.Value, error) {
	s.question, s.confirm, s.timeout = question, confirm, timeout
	return s.answer, s.err
}

// askOf carries out a row of the module human for somebody.
func askOf(d *rowtest.Caller, s *somebody, row string, args ...value.Value) (value.Value, error) {
	d.T.Helper()
	f := d.Func(row)
	bound, err := f.Bind(nil, value.NewDict(args...))
	if err != nil {
		return nil, err
	}
	out, err := f.Do(context.Background(), tool.Effect{Func: row, Args: bound}, tool.Grant{Ask: s.ask})
	return out.Value, err
}

func TestHuman(t *testing.T) {
	d := &rowtest.Caller{T: t, Modules: []tool.Module{Module()}}
	for _, tt := range []struct {
		row    string
		args   []value.Value
		answer value.Value
		asked  string
		want   value.Value
	}{
		{"human.ask", []value.Value{"question", "which?"}, "the first", "which?", "the first"},
		{"human.ask", []value.Value{"question", "which?"}, "", "which?", ""},
		{"human.ask", []value.Value{"question", "which?", "default", "all"}, "", "which?\n(default: all)", "all"},
		{"human.ask", []value.Value{"question", "which?", "default", "all"}, "one", "which?\n(default: all)", "one"},
		{"human.ask", []value.Value{"question", "which?", "default", ""}, "", "which?", ""},
		{"human.ask", []value.Value{"question", " a\tb\n\x1b[2Jc\r\a\u202ed\n", "default", "\x1b[1m"}, "x", "a\tb\n\\u001b[2Jc\\u000d\\u0007\\u202ed\n\n(default: \\u001b[1m)", "x"},
		{"human.ask", []value.Value{"question", strings.Repeat("q", maxQuestion)}, strings.Repeat("a", maxAnswer), strings.Repeat("q", maxQuestion), strings.Repeat("a", maxAnswer)},
		{"human.confirm", []value.Value{"question", "really?"}, true, "really?", true},
		{"human.confirm", []value.Value{"question", "really?"}, false, "really?", false},
	} {
		s := &somebody{answer: tt.answer}
		got, err := askOf(d, s, tt.row, tt.args...)
		if err != nil || got != tt.want {
			t.Errorf("%s(%.200v) = %.200v, %v, want %.200v", tt.row, tt.args, got, err, tt.want)
		}
		if s.question != tt.asked || s.confirm != (tt.row == "human.confirm") {
			t.Errorf("%s(%.200v) asked %.200q, confirm %v, want %.200q", tt.row, tt.args, s.question, s.confirm, tt.asked)
		}
	}
}

func TestHumanRefuses(t *testing.T) {
	d := &rowtest.Caller{T: t, Modules: []tool.Module{Module()}}
	long := strings.Repeat("x", maxQuestion+1)
	for _, tt := range []struct {
		row      string
		question string
		answer   value.Value
		kind     value.Kind
		says     string
		asked    bool
	}{
		{"human.ask", "", "x", value.Invalid, "empty", false},
		{"human.ask", " \n\t", "x", value.Invalid, "empty", false},
		{"human.confirm", "", true, value.Invalid, "empty", false},
		{"human.ask", long, "x", value.Limit, "4 KB", false},
		{"human.confirm", long, true, value.Limit, "4 KB", false},
		{"human.ask", "which?", strings.Repeat("x", maxAnswer+1), value.Limit, "64 KB", true},
		{"human.ask", "which?", "\xff", value.Failed, "UTF-8", true},
		{"human.ask", "which?", true, value.Internal, "invalid answer: expected a string but got ", true},
		{"human.ask", "which?", nil, value.Internal, "invalid answer: expected a string but got ", true},
		{"human.confirm", "really?", "yes", value.Internal, "yes or no", true},
		{"human.confirm", "really?", nil, value.Internal, "yes or no", true},
	} {
		s := &somebody{answer: tt.answer}
		got, err := askOf(d, s, tt.row, "question", tt.question)
		if got != nil || value.KindOf(err) != tt.kind || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s(%.50q) = %v, %v, want %s with %q", tt.row, tt.question, got, err, tt.kind, tt.says)
		}
		if (s.question != "") != tt.asked {
			t.Errorf("%s(%.50q) asked %.50q, want that to be %v", tt.row, tt.question, s.question, tt.asked)
		}
	}
	d.Grant("human")
	d.Fails(value.Denied, "no user can answer questions in this run", "human.ask", "question", "which?")
	d.Fails(value.Denied, "no user can answer questions in this run", "human.confirm", "question", "really?")
	d.Grant()
	d.Fails(value.Denied, "human is not granted", "human.ask", "question", "which?")
}

// TestHumanParked checks that what parks a run goes up as it is.
func TestHumanParked(t *testing.T) {
	d := &rowtest.Caller{T: t, Modules: []tool.Module{Module()}}
	for _, row := range []string{"human.ask", "human.confirm"} {
		for _, want := range []error{value.Errorf(value.Parked, "waits for an answer"), context.Canceled} {
			if _, err := askOf(d, &somebody{answer: "x", err: want}, row, "question", "?"); err != want {
				t.Errorf("%s = %v, want the very error %v", row, err, want)
			}
		}
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	s := &somebody{answer: "x"}
	_, err := d.Func("human.ask").Do(stopped, tool.Effect{Args: value.NewDict("question", "?")}, tool.Grant{Ask: s.ask})
	if value.KindOf(err) != value.Canceled || s.question != "" {
		t.Errorf("human.ask in a call that is over = %v, and it asked %q", err, s.question)
	}
}
