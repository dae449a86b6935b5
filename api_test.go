package cassidy_test

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/journal/sqlite"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func TestErrorTargets(t *testing.T) {
	t.Parallel()
	for kind, target := range map[value.Kind]error{
		value.Failed: cassidy.ErrFailed, value.Invalid: cassidy.ErrInvalid, value.NotFound: cassidy.ErrNotFound,
		value.Denied: cassidy.ErrDenied, value.Limit: cassidy.ErrLimit, value.Canceled: cassidy.ErrCanceled,
		value.Unavailable: cassidy.ErrUnavailable, value.Timeout: cassidy.ErrTimeout, value.Conflict: cassidy.ErrConflict,
		value.Parked: cassidy.ErrParked, value.Busy: cassidy.ErrBusy, value.Closed: cassidy.ErrClosed,
		value.Unanswered: cassidy.ErrUnanswered,
	} {
		if err := value.Errorf(kind, "no"); !errors.Is(err, target) {
			t.Errorf("an error of kind %s is not %v", kind, target)
		}
	}
}

// TestContextErrors checks that a call whose context ended, or that took too long, has the error of a context.
func TestContextErrors(t *testing.T) {
	t.Parallel()
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	h, err := r.Open(cassidy.Scripts(nil), &cassidy.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wait := func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	for name, wall := range map[string]time.Duration{"wait": 0, "short": time.Millisecond} {
		limited := cassidy.Tool{Name: name, Description: "Wait.", Timeout: wall}
		if err := cassidy.AddTool(h, limited, wait); err != nil {
			t.Fatal(err)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	late, done := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer done()
	for _, tt := range []struct {
		ctx     context.Context
		tool    string
		is, not error
	}{
		{cancelled, "wait", context.Canceled, context.DeadlineExceeded},
		{late, "wait", context.DeadlineExceeded, context.Canceled},
		{t.Context(), "short", context.DeadlineExceeded, context.Canceled},
		{t.Context(), "missing", cassidy.ErrNotFound, context.Canceled},
	} {
		_, err := h.Call(tt.ctx, cassidy.Call{Tool: tt.tool})
		if !errors.Is(err, tt.is) || errors.Is(err, tt.not) {
			t.Errorf("%s: %v is %v: %v, and %v: %v", tt.tool, err, tt.is, errors.Is(err, tt.is), tt.not, errors.Is(err, tt.not))
		}
	}
}

// The shapes that programs are compiled against: runtimes and sources.
var (
	_ func(string, *cassidy.Options) (*cassidy.Host, error)                           = cassidy.Open
	_ func(*cassidy.RuntimeOptions) (*cassidy.Runtime, error)                         = cassidy.New
	_ func(*cassidy.Runtime, cassidy.Source, *cassidy.Options) (*cassidy.Host, error) = (*cassidy.Runtime).Open
	_ func(*cassidy.Runtime, context.Context) error                                   = (*cassidy.Runtime).Shutdown
	_ func(*cassidy.Runtime) error                                                    = (*cassidy.Runtime).Close
	_ func(string) cassidy.Source                                                     = cassidy.Dir
	_ func(fs.FS) cassidy.Source                                                      = cassidy.FS
	_ func(map[string]string) cassidy.Source                                          = cassidy.Scripts
	_ cassidy.Mode                                                                    = cassidy.Process
	_ cassidy.Mode                                                                    = cassidy.Strict
	_ cassidy.Mode                                                                    = cassidy.Inline
)

// Hosts.
var (
	_ func(*cassidy.Host, context.Context, cassidy.Call, ...cassidy.CallOption) (cassidy.Result, error)          = (*cassidy.Host).Call
	_ func(*cassidy.Host, context.Context, string, *cassidy.Dict, ...cassidy.CallOption) (cassidy.Result, error) = (*cassidy.Host).Run
	_ func(string) cassidy.CallOption                                                                            = cassidy.Durable
	_ func(...cassidy.Rule) cassidy.CallOption                                                                   = cassidy.Narrow
	_ func(*cassidy.Host, context.Context, cassidy.Source) error                                                 = (*cassidy.Host).Swap
	_ func(*cassidy.Host, context.Context) error                                                                 = (*cassidy.Host).Refresh
	_ func(*cassidy.Host) []cassidy.ToolInfo                                                                     = (*cassidy.Host).Tools
	_ func(*cassidy.Host) []*cassidy.Error                                                                       = (*cassidy.Host).Broken
	_ func(*cassidy.Host, string) error                                                                          = (*cassidy.Host).RemoveTool
	_ func(*cassidy.Host, context.Context, cassidy.EventFilter) <-chan cassidy.Event                             = (*cassidy.Host).Subscribe
	_ func(*cassidy.Host, context.Context, string, uint64) iter.Seq2[cassidy.Event, error]                       = (*cassidy.Host).Events
	_ func(*cassidy.Host, context.Context) iter.Seq2[cassidy.Question, error]                                    = (*cassidy.Host).Waiting
	_ func(*cassidy.Host, context.Context, string, cassidy.Answer) error                                         = (*cassidy.Host).Answer
	_ func(*cassidy.Host, context.Context, string) (cassidy.Result, error)                                       = (*cassidy.Host).Resume
	_ func(*cassidy.Host, context.Context, cassidy.RunFilter) iter.Seq2[cassidy.Run, error]                      = (*cassidy.Host).Runs
	_ func(*cassidy.Host, context.Context, string) error                                                         = (*cassidy.Host).Cancel
	_ func(*cassidy.Host, context.Context, string) (cassidy.Result, error)                                       = (*cassidy.Host).Undo
	_ func(*cassidy.Host) error                                                                                  = (*cassidy.Host).Close
)

// Tools in Go, values and questions.
var (
	_ func(*cassidy.Host, cassidy.Tool, func(context.Context, struct{}) (int, error), ...cassidy.ToolOption) error = cassidy.AddTool[struct{}, int]
	_ func(func(context.Context, struct{}, int) error) cassidy.ToolOption                                          = cassidy.UndoFunc[struct{}, int]
	_ func(func(context.Context) error) cassidy.ToolOption                                                         = cassidy.AvailableFunc
	_ func(cassidy.Value) (int, error)                                                                             = cassidy.Decode[int]
	_ func(any) (cassidy.Value, error)                                                                             = cassidy.Encode
	_ func(...any) *cassidy.Dict                                                                                   = cassidy.NewDict
	_ func(cassidy.Approver) cassidy.Approver                                                                      = cassidy.Serial
	_ cassidy.CallFunc                                                                                             = func(context.Context, *cassidy.Call) (cassidy.Result, error) { return cassidy.Result{}, nil }
	_ cassidy.Middleware                                                                                           = func(next cassidy.CallFunc) cassidy.CallFunc { return next }
	_ cassidy.Approver                                                                                             = foreign{}
	_ cassidy.Asker                                                                                                = foreign{}
	_ error                                                                                                        = (*cassidy.ParkedError)(nil)
	_ error                                                                                                        = (*cassidy.Error)(nil)
)

// The other packages. A host of the root is one of the packages below it.
var (
	_ func(string) (*sqlite.Store, error)                                 = sqlite.Open
	_ journal.Store                                                       = (*sqlite.Store)(nil)
	_ func() journal.Store                                                = journal.Memory
	_ func(*cassidy.Host, *agent.Options) (*agent.Agent, error)           = agent.New
	_ func(*agent.Agent, context.Context, string) (*agent.Session, error) = (*agent.Agent).Session
	_ func(*agent.Session, context.Context, string) (agent.Reply, error)  = (*agent.Session).Send
	_ func(...tool.Module)                                                = sandbox.Main
	_ func() []tool.Module                                                = stdlib.Pure
	_ []cassidy.Module                                                    = []tool.Module(nil)
	_                                                                     = []error{cassidy.ErrFailed, cassidy.ErrClosed, cassidy.ErrBusy, cassidy.ErrNotFound, cassidy.ErrInvalid, cassidy.ErrDenied, cassidy.ErrLimit,
		cassidy.ErrTimeout, cassidy.ErrConflict, cassidy.ErrCanceled, cassidy.ErrUnavailable, cassidy.ErrUnanswered}
)

// foreign answers as a program does that knows the interfaces alone.
type foreign struct{}

func (foreign) Approve(context.Context, cassidy.Question) (cassidy.Answer, error) {
	return cassidy.Answer{}, cassidy.ErrUnanswered
}

func (foreign) Ask(context.Context, cassidy.Question) (cassidy.Answer, error) {
	return cassidy.Answer{}, cassidy.ErrUnanswered
}

// TestFields writes every field as programs do, each with a value that is not zero
// and of the type that is documented.
func TestFields(t *testing.T) {
	t.Parallel()
	lookup := func(context.Context, string) (string, error) { return "", cassidy.ErrNotFound }
	text, now := "x", time.Unix(1, 0)
	var none *cassidy.Error = &cassidy.Error{Kind: value.Limit, Hint: text, Limit: value.LimitSteps}
	for _, v := range []any{
		cassidy.RuntimeOptions{
			Workers: cassidy.Workers{Max: 1, PerTenant: 1, PerTool: 1, Idle: 1, IdleTime: time.Second, Program: text},
			Sandbox: cassidy.Strict, AllowUnconfined: true, Store: journal.Memory(), OpenStore: func() (cassidy.Store, error) { return journal.Memory(), nil }, Logger: slog.Default(), Clock: time.Now,
		},
		cassidy.Workers{Max: 1, PerTenant: 1, PerTool: 1, Idle: 1, IdleTime: time.Second, Program: text},
		cassidy.EventFilter{Run: text, Call: text, Session: text, Buffer: 1},
		cassidy.Question{
			ID: text, Run: text, Step: text, Tool: text, Func: text, Text: text, Why: text, Reasoning: text, Kind: cassidy.QuestionApproval,
			Args: cassidy.NewDict(), Capabilities: []cassidy.Capability{{Name: text}}, Changes: []cassidy.Change{{}}, Asked: now, Expires: now,
			Rules: []cassidy.Rule{{Tool: text}}, NoRule: text, Sources: []string{text}, Each: true, Form: cassidy.NewDict(),
		},
		cassidy.Answer{Yes: true, Always: true, Value: any(1), Args: cassidy.NewDict(), Rules: []cassidy.Rule{{Tool: text}}, Each: true, Done: true, Why: text, By: text},
		cassidy.Event{Seq: uint64(1), Time: now, Run: text, Call: text, Tool: text, Session: text, Data: any(cassidy.Lost{N: 1})},
	} {
		r := reflect.ValueOf(v)
		for i := range r.NumField() {
			if r.Type().Field(i).IsExported() && r.Field(i).IsZero() {
				t.Errorf("%T.%s is not documented", v, r.Type().Field(i).Name)
			}
		}
	}
	_ = cassidy.Options{
		Tenant: text, Dir: text, TrustSource: true, Rules: []cassidy.Rule{{}}, Limits: cassidy.Limits{}, MaxLimits: cassidy.Limits{},
		Modules: []cassidy.Module{{}}, Env: lookup, Secrets: lookup, HTTP: func(base http.RoundTripper) http.RoundTripper { return base },
		Approver: foreign{}, Asker: foreign{}, Middleware: []cassidy.Middleware{}, Home: text, State: text, Cache: text, Config: text, Audit: text,
	}
	_ = &cassidy.ParkedError{Run: text, Reason: text, Questions: []cassidy.Question{}, Until: now}
	_ = cassidy.ToolCallEnd{Duration: time.Second, Usage: tool.Usage{}, Err: none}
	_ = []any{cassidy.ToolCallStart{}, cassidy.EffectDone{}, cassidy.Progress{}, cassidy.Text{}, cassidy.Lost{}}
	info := cassidy.ToolInfo{}
	_, _ = string(info.State), info.Reason
	_ = tool.Func{Risk: tool.RiskSafe, Kind: tool.Read}
	for kind, name := range map[cassidy.QuestionKind]string{
		cassidy.QuestionApproval: "approval", cassidy.QuestionConfirm: "confirm", cassidy.QuestionAsk: "ask", cassidy.QuestionUnknown: "unknown",
	} {
		if string(kind) != name {
			t.Errorf("the kind %q is not %q", kind, name)
		}
	}
	if (cassidy.RuntimeOptions{}).Sandbox != cassidy.Process {
		t.Error("the zero value of Mode is not Process")
	}
}
