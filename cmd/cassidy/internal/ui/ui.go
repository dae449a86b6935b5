// Package ui prints for people and for programs, and reads what people type on
// a terminal. It knows no command. The rules of what the command prints:
//
//   - The result goes to standard output, everything else to standard error,
//     one line each, as "cassidy: message": lower case, no full stop.
//   - An error has what and where; the next line, "cassidy: hint: …", has what
//     to type next. No stack of ours is ever printed.
//   - With --json, standard output holds one JSON value, whatever happens.
//   - Colour only on a terminal, and not if NO_COLOR is set.
package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Printer writes what the command has for people and for programs.
type Printer struct {
	Out, Err io.Writer
	Env      func(string) (string, bool)
	JSON     bool
	Quiet    bool
	Verbose  bool
}

// NewPrinter returns a printer of results to out and of everything else to err.
func NewPrinter(out, err io.Writer, env func(string) (string, bool)) *Printer {
	return &Printer{Out: &output{w: out}, Err: err, Env: env}
}

// An output is a writer that remembers its first error, so that a result that
// went nowhere is no success.
type output struct {
	w   io.Writer
	err error
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// exitCodes are what the command ends with for each kind of error.
var exitCodes = map[value.Kind]int{
	value.Failed:      1,
	value.Invalid:     2,
	value.NotFound:    2,
	value.Denied:      3,
	value.Security:    3,
	value.Limit:       4,
	value.Timeout:     4,
	value.Unavailable: 5,
	value.Canceled:    130,
	value.Command:     1,
	value.Internal:    1,
	value.Conflict:    1,
	value.Parked:      6,
	value.Busy:        4,
	value.Closed:      1,
	value.Unanswered:  3,
}

// ErrSilent ends the command with code 1: what was wrong has been said.
var ErrSilent = errors.New("silent")

// Exit prints the error, if there is one, and returns the exit code.
func (p *Printer) Exit(ctx context.Context, err error) int {
	code := p.exitWith(ctx, err)
	if o, ok := p.Out.(*output); ok && o.err != nil && code == 0 {
		p.Log("cannot write the output: %v", o.err)
		return 1
	}
	return code
}

func (p *Printer) exitWith(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrSilent):
		return 1
	}
	var told *toldError
	if errors.As(err, &told) {
		return ExitCode(told.err.Kind)
	}
	e := value.ErrorOf(err, value.Internal)
	if ctx.Err() != nil {
		e = value.Errorf(value.Canceled, "interrupted")
	}
	p.Report(e)
	if p.JSON {
		_ = p.PrintJSON(value.NewDict("success", false, "error", e.Error(), "error_type", e.Kind.Type(), "suggestion", e.Hint))
	}
	return ExitCode(e.Kind)
}

// ExitCode returns what the command ends with for a kind of error.
func ExitCode(k value.Kind) int {
	if code, ok := exitCodes[k]; ok {
		return code
	}
	return 1
}

// A toldError is an error of which the user has been told.
type toldError struct{ err *value.Error }

func (e *toldError) Error() string { return e.err.Error() }

// Reported ends the command with the code of an error that the user has seen.
func Reported(e *value.Error) error { return &toldError{e} }

// Report prints an error for a person.
func (p *Printer) Report(e *value.Error) {
	ours := strings.HasPrefix(e.Pos.File, "builtin/") && e.Kind != value.Internal
	if (ours || e.Kind == value.Parked) && !p.Verbose {
		p.Log("%s", e.Message()) // where in our own script is of no use to anybody
	} else {
		p.Log("%s", e.Error())
	}
	if p.Verbose || len(e.Trace) > 1 && !ours && e.Kind != value.Parked {
		for _, line := range e.Trace {
			fmt.Fprintf(p.Err, "  %s\n", Printable(line))
		}
	}
	if e.Hint != "" {
		p.Log("hint: %s", e.Hint)
	}
}

// Log prints a message on standard error. Its later lines are indented: what a
// stranger wrote must not pass for another message of ours.
func (p *Printer) Log(format string, args ...any) {
	text := Printable(fmt.Sprintf(format, args...))
	fmt.Fprintf(p.Err, "cassidy: %s\n", strings.ReplaceAll(text, "\n", "\n  "))
}

// Note prints a message that --quiet suppresses.
func (p *Printer) Note(format string, args ...any) {
	if !p.Quiet {
		p.Log(format, args...)
	}
}

// Print writes a result.
func (p *Printer) Print(text string) { _, _ = io.WriteString(p.Out, text) }

// PrintJSON writes a result as JSON, on several lines on a terminal and on one
// elsewhere.
func (p *Printer) PrintJSON(v value.Value) error {
	if IsTerminal(p.Out) {
		p.Print(value.FormatJSON(v, "  ") + "\n")
		return nil
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return err
	}
	p.Print(string(text) + "\n")
	return nil
}

// IsTerminal reports whether somebody reads this as it is written.
func IsTerminal(w io.Writer) bool {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a character device that nobody reads
	return err != nil || !os.SameFile(info, null)
}

// Paint returns the function that colours text for standard output.
func (p *Printer) Paint() func(code, text string) string { return p.PaintOn(p.Out) }

// PaintOn returns the function that colours text for where it is written to.
// The code "" is no colour.
func (p *Printer) PaintOn(w io.Writer) func(code, text string) string {
	_, noColor := p.Env("NO_COLOR")
	term, _ := p.Env("TERM")
	if noColor || term == "dumb" || !IsTerminal(w) {
		return func(_, text string) string { return text }
	}
	return func(code, text string) string {
		if code == "" {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
}

// FileError is an error of the user's own files, in plain words.
func FileError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return value.Errorf(value.Failed, "cannot %s %s: %w", path.Op, path.Path, path.Err)
	}
	return value.Errorf(value.Failed, "%w", err)
}

// ErrorList returns what --json tells of broken files.
func ErrorList(broken []*value.Error) value.List {
	list := value.List{}
	for _, e := range broken {
		list = append(list, value.NewDict("file", e.Pos.File, "line", int64(e.Pos.Line), "column", int64(e.Pos.Col),
			"reason", e.Message(), "suggestion", e.Hint))
	}
	return list
}

// Debug prints a message with --verbose only.
func (p *Printer) Debug(format string, args ...any) {
	if p.Verbose {
		p.Log(format, args...)
	}
}

// LogLine prints a line that may hold colours: what strangers wrote in it has
// been made visible.
func (p *Printer) LogLine(line string) { _, _ = io.WriteString(p.Err, "cassidy: "+line+"\n") }

// LineWidth is how wide a line for people may be: that of the terminal.
func (p *Printer) LineWidth() int {
	if IsTerminal(p.Out) {
		return WidthOf(p.Out)
	}
	return LineWidth
}

// ReportAll tells of each file that is not right.
func (p *Printer) ReportAll(broken []*value.Error) {
	for _, e := range broken {
		p.Report(e)
	}
}

// NewSpinner returns a spinner for a screen, or nil where nobody would see it
// turn.
func (p *Printer) NewSpinner() *Spinner {
	_, noColor := p.Env("NO_COLOR")
	if noColor || p.Quiet || p.JSON || p.Dumb() || !IsTerminal(p.Err) {
		return nil
	}
	return &Spinner{out: p.Err}
}

// Dumb reports whether the terminal only writes lines.
func (p *Printer) Dumb() bool {
	term, _ := p.Env("TERM")
	return term == "dumb" || term == ""
}
