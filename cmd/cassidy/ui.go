package main

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

// The words that cassidy says to people, and the rules they follow:
//
//   - The result goes to standard output, everything else to standard error,
//     one line each, as "cassidy: message": lower case, no full stop.
//   - An error says what and where; the next line, "cassidy: hint: …", what to
//     type next. No stack of ours is ever printed.
//   - With --json, standard output holds one JSON value, whatever happens.
//   - Colour only on a terminal, and not if NO_COLOR is set.

// A printer writes what the command has for people and for programs.
type printer struct {
	out, err io.Writer
	env      func(string) (string, bool)
	json     bool
	quiet    bool
	verbose  bool
}

// newPrinter returns a printer of results to out and of everything else to err.
func newPrinter(out, err io.Writer, env func(string) (string, bool)) *printer {
	return &printer{out: &output{w: out}, err: err, env: env}
}

// An output is a writer that remembers its first error, so that a result that
// went nowhere is no success.
type output struct {
	w   io.Writer
	err error
}

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

// errSilent ends the command with code 1: what was wrong has been said.
var errSilent = errors.New("silent")

// exit prints the error, if there is one, and returns the exit code.
func (p *printer) exit(ctx context.Context, err error) int {
	code := p.exitWith(ctx, err)
	if o, ok := p.out.(*output); ok && o.err != nil && code == 0 {
		p.say("cannot write the output: %v", o.err)
		return 1
	}
	return code
}

func (p *printer) exitWith(ctx context.Context, err error) int {
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errSilent):
		return 1
	}
	var told *toldError
	if errors.As(err, &told) {
		return exitCode(told.err.Kind)
	}
	e := value.ErrorOf(err, value.Internal)
	if ctx.Err() != nil {
		e = value.Errorf(value.Canceled, "interrupted")
	}
	p.tell(e)
	if p.json {
		_ = p.printJSON(value.NewDict("success", false, "error", e.Error(), "error_type", e.Kind.Type(), "suggestion", e.Hint))
	}
	return exitCode(e.Kind)
}

func exitCode(k value.Kind) int {
	if code, ok := exitCodes[k]; ok {
		return code
	}
	return 1
}

// A toldError is an error of which the user has been told.
type toldError struct{ err *value.Error }

func (e *toldError) Error() string { return e.err.Error() }

// reported ends the command with the code of an error that the user has seen.
func reported(e *value.Error) error { return &toldError{e} }

// tell prints an error for a person.
func (p *printer) tell(e *value.Error) {
	ours := strings.HasPrefix(e.Pos.File, "builtin/") && e.Kind != value.Internal
	if (ours || e.Kind == value.Parked) && !p.verbose {
		p.say("%s", e.Message()) // where in our own script is of no use to anybody
	} else {
		p.say("%s", e.Error())
	}
	if p.verbose || len(e.Trace) > 1 && !ours && e.Kind != value.Parked {
		for _, line := range e.Trace {
			fmt.Fprintf(p.err, "  %s\n", printable(line))
		}
	}
	if e.Hint != "" {
		p.say("hint: %s", e.Hint)
	}
}

// say prints a message on standard error. Its later lines are indented: what a
// stranger wrote must not pass for another message of ours.
func (p *printer) say(format string, args ...any) {
	text := printable(fmt.Sprintf(format, args...))
	fmt.Fprintf(p.err, "cassidy: %s\n", strings.ReplaceAll(text, "\n", "\n  "))
}

// note prints a message that --quiet suppresses.
func (p *printer) note(format string, args ...any) {
	if !p.quiet {
		p.say(format, args...)
	}
}

// print writes a result.
func (p *printer) print(text string) { _, _ = io.WriteString(p.out, text) }

// printJSON writes a result as JSON, on several lines on a terminal and on one
// elsewhere.
func (p *printer) printJSON(v value.Value) error {
	if isTerminal(p.out) {
		p.print(value.FormatJSON(v, "  ") + "\n")
		return nil
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return err
	}
	p.print(string(text) + "\n")
	return nil
}

// isTerminal reports whether somebody reads this as it is written.
func isTerminal(w io.Writer) bool {
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

// paint returns the function that colours text for standard output.
func (p *printer) paint() func(code, text string) string { return p.paintOn(p.out) }

// paintOn returns the function that colours text for where it is written to.
// The code "" is no colour.
func (p *printer) paintOn(w io.Writer) func(code, text string) string {
	_, noColor := p.env("NO_COLOR")
	term, _ := p.env("TERM")
	if noColor || term == "dumb" || !isTerminal(w) {
		return func(_, text string) string { return text }
	}
	return func(code, text string) string {
		if code == "" {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
}

// fileError is an error of the user's own files, in plain words.
func fileError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return value.Errorf(value.Failed, "cannot %s %s: %w", path.Op, path.Path, path.Err)
	}
	return value.Errorf(value.Failed, "%w", err)
}

// brokenList returns what --json tells of broken files.
func brokenList(broken []*value.Error) value.List {
	list := value.List{}
	for _, e := range broken {
		list = append(list, value.NewDict("file", e.Pos.File, "line", int64(e.Pos.Line), "column", int64(e.Pos.Col),
			"reason", e.Message(), "suggestion", e.Hint))
	}
	return list
}

func (p *printer) verbosely(format string, args ...any) {
	if p.verbose {
		p.say(format, args...)
	}
}

// sayLine prints a line that may hold colours: what strangers wrote in it has
// been made visible.
func (p *printer) sayLine(line string) { _, _ = io.WriteString(p.err, "cassidy: "+line+"\n") }

// lineWidth is how wide a line for people may be: that of the terminal.
func (p *printer) lineWidth() int {
	if isTerminal(p.out) {
		return widthOf(p.out)
	}
	return lineWidth
}

// tellBroken tells of each file that is not right.
func (p *printer) tellBroken(broken []*value.Error) {
	for _, e := range broken {
		p.tell(e)
	}
}

// newSpinner returns a spinner for a screen, or nil where nobody would see it
// turn.
func (p *printer) newSpinner() *spinner {
	_, noColor := p.env("NO_COLOR")
	if noColor || p.quiet || p.json || p.dumb() || !isTerminal(p.err) {
		return nil
	}
	return &spinner{out: p.err}
}

// dumb reports whether the terminal only writes lines.
func (p *printer) dumb() bool {
	term, _ := p.env("TERM")
	return term == "dumb" || term == ""
}
