package repl

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent/codemode"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
)

// A session runs inputs. A program in the sandbox, the prompt, has the variables: it asks for each
// line with an effect, and reports what the input before did.
type session struct {
	*app.App
	host   *host.Host
	tool   string // whose capabilities inputs have, or ""
	tools  []tool.Tool
	needs  []tool.Capability
	narrow []tool.Rule
	input  input

	sources map[string]string // the inputs, by their names in errors
	number  int               // of the last input
	failed  bool              // an input failed
	read    bool              // the program has asked for a line
	over    bool              // no input follows
	called  *value.Error      // the error of the last tool that failed

	mu   sync.Mutex
	turn context.Context // of the input that runs; nil between inputs
	done func()          // ends the turn
}

// The name of the program, and the path of its script: the engine knows its suffix.
const (
	programName = "repl"
	promptFile  = "prompt.repl"
	nextLine    = "repl.next"
)

// run runs inputs until there is none. If the process of the prompt ends, a person gets another one.
func (s *session) run(ctx context.Context) error {
	defer s.Interrupts.InSession()()
	ctx, stop := ui.UntilEnded(ctx)
	defer stop()
	s.input.begin()
	show := calls.Shower(s.App)
	stopEvents := calls.Follow(s.App, s.host, func(e tool.Event) { s.show(e, show) })
	defer stopEvents()
	for !s.over {
		s.read = false
		_, err := s.host.RunProgram(ctx, s.program(ctx))
		s.endTurn()
		switch {
		case ctx.Err() != nil:
			return value.Errorf(value.Canceled, "interrupted")
		case err == nil:
			s.over = true
		case !s.read || !s.input.isPerson():
			if e := value.ErrorOf(err, value.Failed); e.Limit == value.LimitEffects {
				return e.WithHint("write longer programs as a tool or a workflow: each line and each effect of a session counts")
			}
			return err
		default:
			s.Report(value.ErrorOf(err, value.Failed))
			s.Log("the variables were lost: a new session begins")
		}
	}
	if s.failed && !s.input.isPerson() {
		return ui.ErrSilent
	}
	return nil
}

// program returns the prompt as a program of the host.
func (s *session) program(ctx context.Context) *host.Program {
	text := []tool.Param{tool.Required("text", tool.TypeString, "a printed line")}
	p := &host.Program{
		Name: programName, Args: &value.Dict{}, Needs: s.needs,
		Script: tool.Script{Name: programName, Path: promptFile, Libs: codemode.Library(s.tools)},
		Modules: []tool.Module{{Name: "repl", Funcs: []tool.Func{
			// A repeatable effect: what the input before has written is committed first.
			{Name: "next", Kind: tool.Repeatable, Params: []tool.Param{tool.Required("report", tool.TypeAny, "what the last input did")},
				Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
					report, _ := e.Args.Get("report")
					d, _ := report.(*value.Dict)
					v, err := s.next(ctx, d.OrEmpty())
					return tool.Outcome{Value: v}, err
				}},
			{Name: "print", Kind: tool.Recorded, Params: text, Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
				s.printed(e.Args.Text("text"))
				return tool.Outcome{}, s.interrupted()
			}},
			{Name: "poll", Kind: tool.Recorded, Do: func(context.Context, tool.Effect, tool.Grant) (tool.Outcome, error) {
				return tool.Outcome{}, s.interrupted()
			}},
		}}},
	}
	p.Narrow, p.Within = s.narrow, s.within
	return p
}

// within returns the context of an effect: that of the input that runs.
func (s *session) within(ctx context.Context, effect string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	s.mu.Lock()
	turn := s.turn
	s.mu.Unlock()
	if turn == nil || effect == nextLine {
		return ctx, func() { cancel(nil) }
	}
	stop := context.AfterFunc(turn, func() { cancel(context.Cause(turn)) })
	return ctx, func() { stop(); cancel(nil) }
}

// interrupted returns the error of an input that Ctrl-C has ended, or nil.
func (s *session) interrupted() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil || s.turn.Err() == nil {
		return nil
	}
	return value.Errorf(value.Canceled, "interrupted")
}

// beginTurn begins an input, which Ctrl-C ends.
func (s *session) beginTurn(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		s.turn, s.done = s.Interrupts.During(ctx)
	}
}

func (s *session) endTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		s.done()
		s.turn, s.done = nil, nil
	}
}

// next shows what the last input did, and returns the next line, or nil if there is none.
func (s *session) next(ctx context.Context, report *value.Dict) (value.Value, error) {
	s.read = true
	if report.Has("input") {
		s.endTurn()
		s.Screen.Hold()
		s.report(report)
		s.Screen.Release()
	}
	if ahead, _ := report.Get("ahead"); ahead == true {
		s.beginTurn(ctx)
		return &value.Dict{}, nil
	}
	more, _ := report.Get("more")
	for {
		s.endTurn()
		s.Screen.Hold()
		line, err := s.input.line(ctx, more == true)
		s.Screen.Release()
		switch {
		case err == errEnd:
			return nil, nil
		case err == errClear:
			return value.NewDict("clear", true), nil
		case ctx.Err() != nil:
			return nil, value.AsError(context.Cause(ctx), value.Canceled)
		case err != nil:
			s.invalid(value.ErrorOf(err, value.Invalid))
			return value.NewDict("clear", true), nil
		case more != true && strings.HasPrefix(strings.TrimSpace(line), ":"):
			if s.do(strings.TrimSpace(line)) {
				return nil, nil
			}
			continue
		}
		s.beginTurn(ctx)
		return value.NewDict("line", line, "blank_ends", s.input.isPerson()), nil
	}
}

// report shows what an input did.
func (s *session) report(d *value.Dict) {
	s.number = int(d.Int("input"))
	s.sources["input "+itoa(s.number)] = d.Text("source")
	failure, failed := d.Get("error")
	if !failed {
		s.result(d)
		return
	}
	e, ok := value.ErrorFromValue(failure)
	if !ok {
		e = value.Errorf(value.Internal, "the prompt reported an invalid error")
	}
	s.fail(e)
}

// result shows the value of an input, if it has one.
func (s *session) result(d *value.Dict) {
	if !s.JSON {
		if d.Has("text") {
			s.PrintText(d.Text("text"))
		}
		return
	}
	line := value.NewDict("type", "result", "input", int64(s.number), "ok", true)
	for _, name := range []string{"value", "text"} {
		if v, ok := d.Get(name); ok {
			line.Put(name, v)
		}
	}
	if d.Has("type") {
		line.Put("value_type", d.Text("type"))
	}
	if s.PrintLine(line) != nil { // the value has no JSON form
		line.Put("value", nil)
		_ = s.PrintLine(line)
	}
}

// fail shows the error of an input, with its lines.
func (s *session) fail(e *value.Error) {
	s.failed = true
	e = s.explained(withoutLibrary(e))
	e = value.ErrorOf(sandbox.WithExcerpts(e, &tool.Script{Path: promptFile, Libs: s.sources}), value.Failed)
	if s.called != nil && e.Pos == s.called.Pos {
		located := *e
		located.Excerpts = s.called.Excerpts
		e = &located
	}
	if len(e.Trace) == 1 {
		e.Trace = nil // it has nothing that the position has not
	}
	s.Report(e)
	if !s.JSON {
		return
	}
	line := value.NewDict("type", "result", "input", int64(s.number), "ok", false)
	describe.PutError(line, e)
	ui.PutFrames(line, e)
	_ = s.PrintLine(line) // texts have a JSON form
}

// libraryFile is the file with the functions that call tools. It is internal.
const libraryFile = "tools.star"

// withoutLibrary returns an error without the frames of the functions that call tools. Its position is
// that of the call, in the input or in a function of an earlier one.
func withoutLibrary(e *value.Error) *value.Error {
	shown := *e
	shown.Trace = slices.DeleteFunc(slices.Clone(e.Trace), func(line string) bool { return strings.HasPrefix(line, libraryFile+":") })
	if e.Pos.File != libraryFile || len(shown.Trace) == 0 {
		return &shown
	}
	place, _, _ := strings.Cut(shown.Trace[len(shown.Trace)-1], ": in ")
	if parts := strings.Split(place, ":"); len(parts) == 3 {
		shown.Pos.File = parts[0]
		shown.Pos.Line, _ = strconv.Atoi(parts[1])
		shown.Pos.Col, _ = strconv.Atoi(parts[2])
	}
	return &shown
}

// explained returns an error with a hint for an input that lacks a capability of its tool.
func (s *session) explained(e *value.Error) *value.Error {
	if advice, _, ok := strings.Cut(e.Hint, ", or declare limits"); ok { // an input declares nothing
		return e.WithHint("%s", advice)
	}
	if s.tool == "" || e.Kind != value.Denied || !strings.HasPrefix(e.Message(), "the "+programName+" may not use ") {
		return e
	}
	return e.WithHint("with --tool %s, an input can do only what the tool can do; to use everything, omit --tool", s.tool)
}

// invalid shows the error of a line that was not run.
func (s *session) invalid(e *value.Error) {
	s.number = 0
	s.fail(e)
}

// printed shows a line that an input prints.
func (s *session) printed(text string) {
	if !s.JSON {
		s.PrintText(text + "\n")
		return
	}
	_ = s.PrintLine(value.NewDict("type", "print", "text", text)) // a text has a JSON form
}

// show shows an event of a tool that an input calls.
func (s *session) show(e tool.Event, show func(tool.Event)) {
	switch d := e.Data.(type) {
	case tool.ToolCallEnd:
		s.called = d.Err
	case tool.EffectDone:
		if strings.HasPrefix(d.Func, programName+".") {
			return
		}
	}
	show(e)
}
