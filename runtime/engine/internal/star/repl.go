package star

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Repl is Starlark for a person at a prompt. A script of this language has no text: its one call
// asks for lines with the effect repl.next, runs each input when it is complete, and reports the
// outcome with the request for the next line. All inputs have the same variables, of any type.
// An error ends its input and nothing else. The functions of the library file tools.star are
// available, as in programs.
//
// Each input has the limits of a call. The effect repl.print gets what an input prints, and
// repl.poll is requested some times a second while one computes: its error ends the input.
type Repl struct {
	code *Code
}

// NewRepl returns the language of prompts.
func NewRepl(code *Code) *Repl { return &Repl{code} }

// The effects of a prompt.
const (
	replNext  = "repl.next"
	replPrint = "repl.print"
	replPoll  = "repl.poll"
)

// The bounds of an input.
const (
	maxInput      = 64 << 10
	maxInputLines = 1000
	maxPrints     = 200      // lines that an input may print
	maxShown      = 64 << 10 // bytes of the text of a value or a printed line
	pollEvery     = 100 * time.Millisecond
)

// clearLine stands for the end of an input that is not run. No line ends so.
const clearLine = "\n"

// replOptions is the dialect of programs, with statements outside of functions.
var replOptions = &syntax.FileOptions{Set: true, While: true, TopLevelControl: true, GlobalReassign: true}

// Declare returns an error: a prompt declares no tool.
func (l *Repl) Declare(src script.Source) (*script.Declaration, error) { return l.code.Declare(src) }

// Statements returns no lines: a prompt has no text.
func (l *Repl) Statements(tool.Script) ([]int, error) { return nil, nil }

// Compile prepares the names that inputs can use.
func (l *Repl) Compile(s tool.Script) (script.Program, error) {
	names, err := l.code.predeclaredOf(s.Libs)
	if err != nil {
		return nil, err
	}
	return &replProgram{names}, nil
}

type replProgram struct {
	names starlark.StringDict
}

// A repl is a session at a prompt.
type repl struct {
	run     *script.Run
	thread  *starThread
	globals starlark.StringDict
	lines   []string // of the current input
	size    int
	pushed  *string // a line that begins the next input
	input   int     // the number of the current input
	prints  int     // of the current input
	asked   time.Time
}

// Call runs inputs until there is none.
func (p *replProgram) Call(r *script.Run, _ string) (value.Value, error) {
	s := &repl{run: r, globals: maps.Clone(p.names)}
	s.thread = newStarThread(r, "repl")
	s.thread.Print = func(_ *starlark.Thread, text string) { s.print(text) }
	s.thread.poll = s.poll
	report := &value.Dict{}
	for {
		source, err := s.read(report)
		if err == nil && source == "" {
			return nil, nil
		}
		if err == nil {
			s.input++
			report = s.evaluate(source)
			continue
		}
		var failed *inputError
		if !errors.As(err, &failed) {
			return nil, err
		}
		report = s.failed(failed.error, "")
	}
}

// An inputError is the error of an input, not of the session.
type inputError struct{ error }

// read returns the next complete input, or "" at the end. The report on the last one goes with the
// request for its first line. If that cannot be sent, or what the last input did cannot be
// committed, the error is reported instead.
func (s *repl) read(report *value.Dict) (string, error) {
	s.lines, s.size = nil, 0
	block := false
	for {
		line, blankEnds, more, err := s.line(report)
		if err != nil && report.Has("input") {
			line, blankEnds, more, err = s.line(s.failed(err, report.Text("source")))
		}
		if err != nil {
			return "", err
		}
		report = &value.Dict{}
		if cleared := line == clearLine; cleared {
			s.lines, s.size, block = nil, 0, false
			continue
		}
		blank := strings.TrimSpace(strings.SplitN(line, "#", 2)[0]) == ""
		switch {
		case !more, block && blankEnds && strings.TrimSpace(line) == "":
			return strings.Join(s.lines, ""), nil
		case len(s.lines) == 0 && blank:
			continue
		case block && !blank && !continues(line):
			s.pushed = &line
			return strings.Join(s.lines, ""), nil
		}
		s.lines = append(s.lines, line+"\n")
		if s.size += len(line) + 1; s.size > maxInput || len(s.lines) > maxInputLines {
			return "", &inputError{value.Limitf(value.LimitSource, "the input is longer than %d KB or %d lines", maxInput>>10, maxInputLines)}
		}
		complete := false
		if complete, block = s.complete(); complete {
			return strings.Join(s.lines, ""), nil
		}
	}
}

// continues reports whether a line that is not blank continues a block.
func continues(line string) bool {
	word, _, _ := strings.Cut(strings.TrimRight(line, " \t:"), " ")
	return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || word == "else" || word == "elif"
}

// line returns the next line. blankEnds says that a blank line ends a block, since a person types.
// more is false at the end.
func (s *repl) line(report *value.Dict) (line string, blankEnds, more bool, err error) {
	if s.pushed != nil && !report.Has("input") {
		line, s.pushed = *s.pushed, nil
		return line, false, true, nil
	}
	report.Put("more", len(s.lines) > 0)
	report.Put("ahead", s.pushed != nil)
	s.run.Fatal = nil
	out, err := s.run.Effect(replNext, value.NewDict("report", report))
	s.asked = time.Now()
	s.run.Fatal = nil
	if err == nil && s.run.Ctx.Err() != nil {
		err = s.run.Stopped()
	}
	if err != nil {
		return "", false, false, err
	}
	if s.pushed != nil {
		line, s.pushed = *s.pushed, nil
		return line, false, true, nil
	}
	reply, ok := out.Value.(*value.Dict)
	if !ok {
		return "", false, false, nil
	}
	if clear, _ := reply.Get("clear"); clear == true {
		return clearLine, false, true, nil
	}
	typed, _ := reply.Get("blank_ends")
	blankEnds, _ = typed.(bool)
	return strings.TrimRight(reply.Text("line"), "\r\n"), blankEnds, true, nil
}

// complete reports whether the lines so far are an input, valid or not, and if they are not, whether
// a blank line would end it: they are a block then, and else in brackets or a string.
func (s *repl) complete() (complete, block bool) {
	text := strings.Join(s.lines, "")
	if stripped, err := scan.StripAnnotations("", text); err == nil {
		text = stripped.Text
	}
	// The parser would take a blank line for the end of a block.
	lines := slices.DeleteFunc(strings.SplitAfter(text, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || line[0] == '#' && !strings.Contains(line, `"""`) && !strings.Contains(line, "'''")
	})
	if !wantsMore(lines) {
		return true, false
	}
	return false, !wantsMore(append(lines, "\n"))
}

// wantsMore reports whether the parser reads beyond the end of some lines.
func wantsMore(lines []string) bool {
	wanted := false
	_, _ = replOptions.ParseCompoundStmt("", func() ([]byte, error) {
		if len(lines) == 0 {
			wanted = true
			return nil, errors.New("the input is incomplete")
		}
		line := lines[0]
		lines = lines[1:]
		return []byte(line), nil
	})
	return wanted
}

// evaluate runs an input, and returns the report on it.
func (s *repl) evaluate(source string) *value.Dict {
	s.prints = 0
	v, err := s.execute(source)
	s.run.Steps += int64(s.thread.ExecutionSteps())
	if err != nil {
		return s.failed(err, source)
	}
	d := value.NewDict("input", int64(s.input), "source", source, "ok", true)
	if v == nil || v == starlark.None {
		return d
	}
	s.globals["_"] = v
	text := v.String()
	if s.run.Fatal != nil { // the text of a table is read from its file
		return s.failed(s.run.Fatal, source)
	}
	d.Put("text", value.Clean(text, maxShown))
	d.Put("type", v.Type())
	if plain, err := fromStar(v); err == nil {
		d.Put("value", plain)
	}
	return d
}

// failed returns the report on an input that failed.
func (s *repl) failed(err error, source string) *value.Dict {
	e := value.ErrorOf(err, value.Internal)
	return value.NewDict("input", int64(s.input), "source", source, "ok", false, "error", e.Value())
}

// execute runs an input. It returns the value of its last statement, if that is an expression, or
// nil.
func (s *repl) execute(source string) (starlark.Value, error) {
	name := fmt.Sprintf("input %d", s.input)
	text, err := script.PlainText(name, source)
	if err != nil {
		return nil, err
	}
	stripped, err := scan.StripAnnotations(name, text)
	if err != nil {
		return nil, err
	}
	known := &Language{predeclared: s.globals} // for hints
	tree, err := replOptions.Parse(name, stripped.Text, 0)
	if err != nil {
		return nil, known.syntaxError(err, stripped.Text)
	}
	if err := refuseLoads(tree); err != nil {
		return nil, err
	}
	if n := len(tree.Stmts); n > 0 {
		if last, ok := tree.Stmts[n-1].(*syntax.ExprStmt); ok {
			at, _ := last.Span()
			tree.Stmts[n-1] = assignment(at, valueName, last.X)
		}
	}
	delete(s.globals, valueName)
	s.thread.Uncancel()
	s.thread.begin(s.run, s.thread.Name)
	err = starlark.ExecREPLChunk(tree, &s.thread.Thread, s.globals)
	v := s.globals[valueName]
	delete(s.globals, valueName)
	var unresolved resolve.ErrorList
	switch {
	case errors.As(err, &unresolved):
		return nil, known.compileError(err)
	case err == nil && s.run.Fatal != nil:
		return nil, s.run.Fatal
	case err != nil:
		return nil, scriptError(err, s.run.Fatal)
	}
	return v, nil
}

// print passes on a line that an input prints.
func (s *repl) print(text string) {
	if s.prints++; s.prints > maxPrints+1 {
		return
	}
	if s.prints > maxPrints {
		text = fmt.Sprintf("(more output is dropped: an input may print %d lines)", maxPrints)
	}
	_, _ = s.run.Effect(replPrint, value.NewDict("text", value.Clean(text, maxShown)))
	s.asked = time.Now()
	if s.run.Fatal != nil {
		s.thread.Cancel("stopped")
	}
}

// poll asks whether the input may continue.
func (s *repl) poll() {
	if s.run.Fatal == nil && time.Since(s.asked) >= pollEvery {
		_, _ = s.run.Effect(replPoll, &value.Dict{})
		s.asked = time.Now()
	}
}
