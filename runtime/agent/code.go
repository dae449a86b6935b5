package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/stub"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ProgramFile is the path of the script that such a program is: by its ending the
// engine knows it.
const ProgramFile = "program.code"

// codeLib has the functions that a program is given.
const codeLib = "tools.star"

const (
	// maxPrinted and maxPrintedLines are how much a model is told of what its
	// program printed, in bytes and lines.
	maxPrinted      = 8 << 10
	maxPrintedLines = 64
	// maxProgress is how many calls it is told of that a program made before it
	// failed: the last.
	maxProgress = 20
	// codeRefusals is how many refusals end a program: it could go on asking
	// until somebody tires of saying no.
	codeRefusals = 3
)

// RegisterCode gives a host the tool execute_code(code): it runs a program in
// Starlark, in which the other tools are functions, and gives what the program
// ends with. A program may call what the model was offered, or where no model
// is, every tool that is ready; not execute_code itself, no agent, and not
// task_complete, which would end nothing. It has no other rights, and whoever
// called it bounds its calls as any. It fails where the host has a tool of that
// name.
//
// The host needs a sandbox that runs programs, see package engine. The tool is
// offered to a model in the format [Code], and in others where it is named.
func RegisterCode(h *host.Host) error {
	var made atomic.Int64
	return h.Register(tool.Tool{
		Name:  decision.ProgramTool,
		Title: "Execute Code",
		Description: "Run a program that calls other tools, and get what it ends with.\n\n" +
			"Use this for work of many calls of which only the outcome matters: what they return stays in the program. " +
			"It is written in Starlark, a small Python without import, class, try, while and f-strings. " +
			"Each of your tools is a function, with _ for each dash of its name: read_file(filepath = \"a.txt\"). " +
			"The value of the last expression is the result, with what was printed. " +
			"A call that fails ends the program; attempt(read_file, filepath = \"a.txt\") gives {\"ok\", \"value\", \"error\"} instead.",
		Group:     "context",
		Hints:     tool.Hints{OpenWorld: true},
		OnlyCalls: true,
		Params: []tool.Param{
			{Name: "code", Type: tool.Type{Name: tool.TypeString}, Description: "the program", Required: true},
		},
		ReturnsDoc: `what the program ends with, or where it printed something {"result", "output"}`,
		Tags:       []string{"code"},
	}, func(ctx context.Context, args *value.Dict) (value.Value, error) {
		return runCode(ctx, h, args.Text("code"), made.Add(1))
	})
}

// runCode runs a program for whoever the context is of.
func runCode(ctx context.Context, h *host.Host, code string, number int64) (value.Value, error) {
	p := &host.Program{Name: "program", Args: &value.Dict{}, ID: "code-" + strconv.FormatInt(number, 10)}
	var tools []tool.Tool
	if above, _ := ctx.Value(turnKey{}).(*turn); above != nil {
		p.ID, tools = above.runID+"/"+p.ID, above.agent.tools
	} else {
		tools = h.Tools()
	}
	functions := stub.BindTools(tools)
	for i := range functions {
		p.Needs = append(p.Needs, tool.Capability{Name: "tool", Target: functions[i].Tool.Name})
	}
	p.Script = tool.Script{Name: p.Name, Path: ProgramFile, Source: code, Libs: map[string]string{codeLib: stub.LibText(functions)}}
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

// A codeWatch notes what a program does while it runs, by the events of the
// calls whose IDs begin with its own.
type codeWatch struct {
	id   string
	stop context.CancelCauseFunc

	mu      sync.Mutex
	calls   []*madeByCode // the last
	open    map[string]*madeByCode
	number  int // of the calls in all
	refused int
	lines   []string // that were printed, the first
	dropped int      // lines that were not kept
	size    int      // of those that were
}

// A madeByCode is a call that a program makes.
type madeByCode struct {
	number int
	tool   string
	args   *value.Dict
	ended  bool
	err    string // "" where it succeeded
}

// note takes an event of the program, or of a call that it made itself.
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
		if d.ErrorType == value.Denied.Type() && strings.Contains(c.err, "was not approved") {
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

// refuse counts a no of the user.
func (w *codeWatch) refuse() {
	if w.refused++; w.refused == codeRefusals {
		w.stop(value.Errorf(value.Denied, "a call of the program was not approved %d times, so the program was ended", codeRefusals))
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

// printed returns what was printed, at most so many lines and bytes of it.
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

// failed is the error of a program, with all that its writer must know to write
// the next. That the run waits, was broken off, or cannot be followed any more is
// no failure of the program, and is passed up as it is.
func (w *codeWatch) failed(ctx context.Context, code string, err error) error {
	e := *value.ErrorOf(err, value.Failed)
	if isFinal(err) || ctx.Err() != nil {
		return err
	}
	const lines, size, least = 12, 600, 1000
	rest := []string{w.progress()}
	if text := w.printed(lines, size); text != "" {
		rest = append(rest, "It printed:\n"+text)
	}
	about := strings.Join(rest, "\n\n")
	// All of it must fit into what is kept of an error.
	what := value.Clean(located(code, &e), max(least, host.MaxErrorText-len(about)-len("…\n\n")))
	e.Op, e.Err = "", errors.New(what+"\n\n"+about)
	e.Pos, e.Trace = value.Position{}, nil
	return &e
}

// located says what went wrong in which line of a program, and shows it, unless
// the error says so itself.
func located(code string, e *value.Error) string {
	const most = 200
	n := lineOf(e)
	lines := strings.Split(code, "\n")
	if n < 1 || n > len(lines) || strings.HasPrefix(e.Message(), "line ") {
		return e.Message()
	}
	return fmt.Sprintf("line %d of your program: %s\n    %s", n, e.Message(), value.Clean(strings.TrimSpace(lines[n-1]), most))
}

// lineOf returns the line of the program that an error comes from, the innermost
// one of its calls, or 0.
func lineOf(e *value.Error) int {
	for _, at := range slices.Backward(e.Trace) {
		if rest, ok := strings.CutPrefix(at, ProgramFile+":"); ok {
			number, _, _ := strings.Cut(rest, ":")
			if n, err := strconv.Atoi(number); err == nil {
				return n
			}
		}
	}
	if e.Pos.File == ProgramFile {
		return e.Pos.Line
	}
	return 0
}

// progress says which calls were made: what they changed stays changed.
func (w *codeWatch) progress() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.number == 0 {
		return "No tool was called."
	}
	head := "Before it failed it made these calls. They have happened: do not repeat those that changed something."
	if w.number > len(w.calls) {
		head = fmt.Sprintf("Before it failed it made %d calls; these are the last. All have happened: do not repeat those that changed something.", w.number)
	}
	lines := []string{head}
	for _, c := range w.calls {
		lines = append(lines, strconv.Itoa(c.number)+". "+c.String())
	}
	return strings.Join(lines, "\n")
}

// String shows the call and what came of it in a short line.
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
