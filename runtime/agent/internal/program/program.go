// Package program runs the programs that models write, and describes what they did.
package program

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// File is the path of a program. The engine recognizes its extension.
const File = "program.code"

// The files with the functions of a program, and with the types of their parameters.
const (
	codeLib  = "tools.star"
	typesLib = "tools.json"
	// uncheckedLib says that the calls of the program are not checked before it runs.
	uncheckedLib = "unchecked"
)

const (
	// maxPrinted and maxPrintedLines limit the output of a program in its result, in
	// bytes and lines.
	maxPrinted      = 8 << 10
	maxPrintedLines = 64
	// maxProgress is how many calls the error of a failed program lists: the last ones.
	maxProgress = 20
	// codeRefusals is how many calls that are not approved end a program, so that it
	// cannot ask forever.
	codeRefusals = 3
)

// Run runs a program with tools as functions, as the run id. It returns the result, or an object
// with the result and the output if there is one. The engine checks the whole program first: an
// error with all faults that are certain comes before the first call. A program that has begun, see
// [Begun], is not checked again: a tool may have changed since.
func Run(ctx context.Context, h *host.Host, id, code string, tools []tool.Tool, begun bool) (value.Value, error) {
	p := &host.Program{Name: "program", Args: &value.Dict{}, ID: id}
	p.FromModel = true
	functions := stub.BindTools(tools)
	for i := range functions {
		p.Needs = append(p.Needs, tool.Capability{Name: "tool", Target: functions[i].Tool.Name})
	}
	p.Script = tool.Script{Name: p.Name, Path: File, Source: code, Libs: libsOf(functions, begun)}
	limited, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	w := &codeWatch{id: p.ID, stop: cancel, open: map[string]*madeByCode{}}
	p.Watch = w.note
	out, err := h.RunProgram(limited, p)
	if err != nil {
		return nil, w.failed(ctx, code, err)
	}
	if printed := w.printed(maxPrintedLines, maxPrinted); printed != "" {
		return value.NewDict("result", out.Value, "output", printed), nil
	}
	return out.Value, nil
}

// maxTypes is the limit of the types of a library, in bytes: some hundred tools. Beyond it the types
// of arguments are checked only by the calls.
const maxTypes = 512 << 10

// Library returns the library of a script with tools as functions.
func Library(tools []tool.Tool) map[string]string { return libsOf(stub.BindTools(tools), true) }

// libsOf returns the library of a program.
func libsOf(functions []stub.Function, begun bool) map[string]string {
	libs := map[string]string{codeLib: stub.LibText(functions)}
	if begun {
		libs[uncheckedLib] = ""
		return libs
	}
	if types, err := stub.TypesText(functions); err == nil && len(types) <= maxTypes {
		libs[typesLib] = types
	}
	return libs
}

// Begun reports whether a recorded run has made calls in a program with this code.
func Begun(ctx context.Context, h *host.Host, run, code string) bool {
	var calls []tool.StepPath // that run the program
	for e, err := range host.Operate(h).Steps(ctx, run) {
		if err != nil {
			return true // the resumed run reports it
		}
		if slices.ContainsFunc(calls, func(c tool.StepPath) bool { return isBelow(e.StepPath, c) }) {
			return true
		}
		if hasText(e.Args, code, maxArgs) {
			calls = append(calls, e.StepPath)
		}
	}
	return false
}

// BegunAt reports whether a recorded run has made calls in the program that the call at a step runs. It is
// false if run is "".
func BegunAt(ctx context.Context, h *host.Host, run string, step tool.StepPath) bool {
	if run == "" {
		return false
	}
	for e, err := range host.Operate(h).Steps(ctx, run) {
		if err != nil || isBelow(e.StepPath, step) { // the resumed run reports the error
			return true
		}
	}
	return false
}

// isBelow reports whether a step is below another one.
func isBelow(step, above tool.StepPath) bool {
	return len(step) > len(above) && slices.Equal(step[:len(above)], above)
}

// maxArgs is how deep the code of a program is in the arguments of a call: a list of decisions
// has objects with the arguments.
const maxArgs = 6

// hasText reports whether a value is or contains a text.
func hasText(v value.Value, text string, depth int) bool {
	if s, ok := v.(string); ok || depth == 0 {
		return s == text && ok
	}
	if d, ok := v.(*value.Dict); ok {
		for _, v := range d.All() {
			if hasText(v, text, depth-1) {
				return true
			}
		}
		return false
	}
	items, _ := value.Elements(v)
	return slices.ContainsFunc(items, func(v value.Value) bool { return hasText(v, text, depth-1) })
}

// A codeWatch records what a program does while it runs: the events of the calls whose IDs
// begin with its own.
type codeWatch struct {
	id   string
	stop context.CancelCauseFunc

	mu      sync.Mutex
	calls   []*madeByCode // the last ones
	open    map[string]*madeByCode
	number  int // of all calls
	refused int
	lines   []string // the first printed lines
	dropped int      // number of other printed lines
	size    int      // of lines, in bytes
}

// A madeByCode is a call that a program makes.
type madeByCode struct {
	number int
	tool   string
	args   *value.Dict
	ended  bool
	err    string // "" if it succeeded
}

// note records an event of the program or of one of its own calls, and ignores others.
func (w *codeWatch) note(e tool.Event) {
	id, inside := strings.CutPrefix(e.Call, w.id)
	if !inside || id != "" && (id[0] != '/' || strings.Contains(id[1:], "/")) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if id == "" {
		if line, ok := e.Data.(tool.Log); ok {
			w.print(line.Message)
		}
		return
	}
	c := w.open[id]
	switch d := e.Data.(type) {
	case tool.ToolCallStart:
		w.start(id, e.Tool, d.Args)
	case tool.ErrorEvent:
		if c == nil {
			break
		}
		c.err = d.Error
		if d.ErrorType == value.Denied.Type() && strings.Contains(c.err, "not approved") {
			w.refuse()
		}
	case tool.ToolCallEnd:
		if c != nil {
			c.ended = true
			delete(w.open, id)
		}
	}
}

func (w *codeWatch) start(id, name string, args *value.Dict) {
	w.number++
	c := &madeByCode{number: w.number, tool: name, args: args}
	w.open[id] = c
	w.calls = append(w.calls, c)
	if len(w.calls) > maxProgress {
		w.calls = w.calls[1:]
	}
}

// refuse counts a call that the user did not approve.
func (w *codeWatch) refuse() {
	if w.refused++; w.refused == codeRefusals {
		w.stop(value.Errorf(value.Denied, "the program was stopped: %d calls of the program were not approved", codeRefusals))
	}
}

func (w *codeWatch) print(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if len(w.lines) == maxPrintedLines || w.size+len(line) >= maxPrinted {
			w.dropped++
			continue
		}
		w.lines = append(w.lines, line)
		w.size += len(line) + 1
	}
}

// printed returns the output, cut to a number of lines and bytes.
func (w *codeWatch) printed(lines, size int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	kept, left := 0, w.dropped
	for _, line := range w.lines {
		if kept == lines || len(line)+1 > size {
			break
		}
		size -= len(line) + 1
		kept++
	}
	left += len(w.lines) - kept
	text := strings.Join(w.lines[:kept], "\n")
	if left > 0 {
		text = strings.TrimPrefix(text+fmt.Sprintf("\n[… %d more lines: print less]", left), "\n")
	}
	return text
}

// failed returns the error of a program with the details that the model needs to write the
// next one. An error that ends the run is not the program's and is returned as it is.
func (w *codeWatch) failed(ctx context.Context, code string, err error) error {
	e := *value.ErrorOf(err, value.Failed)
	if Final(err) || ctx.Err() != nil {
		return err
	}
	const lines, size, least = 12, 600, 1000
	rest := []string{w.progress()}
	if text := w.printed(lines, size); text != "" {
		rest = append(rest, "It printed:\n"+text)
	}
	about := strings.Join(rest, "\n\n")
	// All of it must fit into the limit of an error's text.
	what := value.Clean(located(code, &e), max(least, value.MaxErrorText-len(about)-len("…\n\n")))
	e.Op, e.Err = "", errors.New(what+"\n\n"+about)
	e.Pos, e.Trace = value.Position{}, nil
	e.Hint = withoutDeclaration(e.Hint)
	return &e
}

// withoutDeclaration returns a hint without the advice to declare limits, which only tools can do.
func withoutDeclaration(hint string) string {
	before, after, found := strings.Cut(hint, ", or declare limits = {")
	if !found {
		return hint
	}
	_, rest, _ := strings.Cut(after, "}")
	if first, last, several := cutLast(before, ", "); several {
		before = first + ", or " + last
	}
	return before + rest
}

func cutLast(text, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(text, sep); i >= 0 {
		return text[:i], text[i+len(sep):], true
	}
	return text, "", false
}

// located returns the message of an error with its line of the program, unless the message
// has it.
func located(code string, e *value.Error) string {
	const most = 200
	n := lineOf(e)
	lines := strings.Split(code, "\n")
	if n < 1 || n > len(lines) || strings.HasPrefix(e.Message(), "line ") {
		return e.Message()
	}
	return fmt.Sprintf("line %d of your program: %s\n    %s", n, e.Message(), value.Clean(strings.TrimSpace(lines[n-1]), most))
}

// lineOf returns the line of the program in which an error occurred, or 0. In a trace it is
// the innermost one.
func lineOf(e *value.Error) int {
	for _, at := range slices.Backward(e.Trace) {
		if rest, ok := strings.CutPrefix(at, File+":"); ok {
			number, _, _ := strings.Cut(rest, ":")
			if n, err := strconv.Atoi(number); err == nil {
				return n
			}
		}
	}
	if e.Pos.File == File {
		return e.Pos.Line
	}
	return 0
}

// progress lists the calls that were made, which are not undone.
func (w *codeWatch) progress() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.number == 0 {
		return "No tool was called."
	}
	head := "Before the failure, the program made these calls. They took effect: do not repeat calls that changed something."
	if w.number > len(w.calls) {
		head = fmt.Sprintf("Before the failure, the program made %d calls. The last ones are listed below. All calls took effect: do not repeat calls that changed something.", w.number)
	}
	lines := value.Map(w.calls, func(c *madeByCode) string { return strconv.Itoa(c.number) + ". " + c.String() })
	return head + "\n" + strings.Join(lines, "\n")
}

// String returns the call and its outcome as a short line.
func (c *madeByCode) String() string {
	const call, value, failure = 60, 24, 48
	var args []string
	for k, v := range c.args.All() {
		if name, ok := k.(string); ok {
			args = append(args, name+" = "+prose.Clip(stub.StarText(v), value))
		}
	}
	text := prose.Clip(c.tool+"("+strings.Join(args, ", "), call)
	switch {
	case !c.ended:
		return text + ") did not end"
	case c.err != "":
		return text + ") failed: " + prose.Clip(prose.OneLine(c.err), failure)
	}
	return text + ") ok"
}

// Final reports whether an error ends the run at any depth: the run waits, its record is
// damaged, it has used what it may use, or a worker was killed, after which it can be resumed.
// Such an error is returned as it is.
func Final(err error) bool {
	e := value.ErrorOf(err, value.Failed)
	return e != nil && (e.Kind == value.Parked || e.Limit == value.LimitRecord || e.Limit == value.LimitWorker || e.Limit == value.LimitUsage)
}
