// Package ui prints for people and for programs, and reads what people type on a
// terminal. It does not depend on any command. The rules of the output:
//
//   - The result goes to standard output. Messages go to standard error, in lower case and without a
//     full stop: a line each, as "cassidy: message", or on a terminal behind a symbol.
//   - An error names the operation and its object, then the cause. The line after it, "cassidy: hint: …",
//     or on a terminal "try …", has what to type. Stack traces of Go are not printed.
//   - With --json, standard output holds one JSON value, also after an error.
//   - Colours are used on a terminal only, and not if NO_COLOR is set, unless CLICOLOR_FORCE is 1.
//   - Characters that nobody can see, or that control the terminal, are never printed and never dropped:
//     each becomes a mark. [Visible] and [VisibleLine] also mark white space and look-alikes, for text on
//     which a person decides, and [Printer.Print] marks what was not marked before. JSON has escapes
//     instead, and a result that a program reads stays as it is.
package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Printer writes the output of a command.
type Printer struct {
	Out, Err io.Writer
	Env      func(string) (string, bool)
	Live     *Live  // what is in progress
	About    string // what errors are about, such as "run ID"
	JSON     bool
	Quiet    bool
	Verbose  bool
	All      bool   // all rows of a result are shown
	Wide     bool   // all columns of a result are shown
	SaveTo   string // the file that gets the result; "": it is printed
}

// NewPrinter returns a printer of results to out and of messages to err.
func NewPrinter(out, err io.Writer, env func(string) (string, bool)) *Printer {
	p := &Printer{Env: env}
	p.Live = &Live{p: p, out: err, now: time.Now}
	p.Out, p.Err = newOutput(out, p.Live), newOutput(err, p.Live)
	return p
}

// An output is a writer that remembers its first error: a command whose result was not
// written has failed.
type output struct {
	w        io.Writer
	terminal bool
	live     *Live // is in the way on a terminal; else nil
	err      error
}

func newOutput(w io.Writer, live *Live) *output {
	o := &output{w: w, terminal: IsTerminal(w)}
	if o.terminal {
		o.live = live
	}
	return o
}

// Write implements [io.Writer].
func (o *output) Write(p []byte) (int, error) {
	if o.live != nil && len(p) > 0 {
		o.live.mu.Lock()
		defer o.live.mu.Unlock()
		o.live.erase()
		o.live.inLine = p[len(p)-1] != '\n'
	}
	n, err := o.w.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// exitCodes are the exit codes of the kinds of errors.
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
	value.System:      5,
}

// ErrSilent ends the command with code 1, without a message.
var ErrSilent = errors.New("silent")

// ErrPartly ends the command with code 7, without a message: a part of what was asked for was
// not done, as the output shows.
var ErrPartly = errors.New("partly")

// Exit reports the error of the command, if any, and returns the exit code.
func (p *Printer) Exit(ctx context.Context, err error) int {
	code := p.exitWith(ctx, err)
	if o, ok := p.Out.(*output); ok && o.err != nil && code == 0 {
		p.Log("write the output: %v", o.err)
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
	case errors.Is(err, ErrPartly):
		return 7
	case ctx.Err() != nil && !isReported(err), err == context.Canceled: // also by Ctrl-C or Ctrl-D where a question was asked
		err = value.Errorf(value.Canceled, "interrupted")
	}
	return ExitCode(value.KindOf(p.ReportOnce(err)))
}

// ReportOnce reports an error unless it was reported before, with --json also as JSON. It
// returns the error as reported.
func (p *Printer) ReportOnce(err error) error {
	if err == nil || isReported(err) {
		return err
	}
	e := value.ErrorOf(err, value.Internal)
	p.Report(e)
	if p.JSON {
		e := describe.ForUsers(e)
		_ = p.PrintJSON(value.NewDict("success", false, "error", e.Error(), "error_type", e.Kind.Type(), "suggestion", e.Hint))
	}
	return Reported(e)
}

// ExitCode returns the exit code of a kind of errors.
func ExitCode(k value.Kind) int {
	if code, ok := exitCodes[k]; ok {
		return code
	}
	return 1
}

// A reportedError is an error that the user has seen.
type reportedError struct{ err *value.Error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

func isReported(err error) bool {
	var reported *reportedError
	return errors.As(err, &reported)
}

// Reported returns an error that ends the command with the exit code of e, which was
// reported before.
func Reported(e *value.Error) error { return &reportedError{e} }

// Sprintf is [fmt.Sprintf] for untrusted arguments: texts are shown by [VisibleLine].
func Sprintf(format string, args ...any) string {
	shown := make([]any, len(args))
	for i, arg := range args {
		shown[i] = arg
		switch arg := arg.(type) {
		case error, fmt.Stringer:
			shown[i] = VisibleLine(fmt.Sprint(arg))
		default:
			if reflect.ValueOf(arg).Kind() == reflect.String {
				shown[i] = VisibleLine(fmt.Sprint(arg))
			}
		}
	}
	return fmt.Sprintf(format, shown...)
}

// Print writes a text for people. What cannot be seen in it is marked, except for our colours.
func (p *Printer) Print(text string) { _, _ = io.WriteString(p.Out, p.shown(p.Out, text)) }

// PrintLines writes lines as [Printer.Print] does.
func (p *Printer) PrintLines(lines []string) {
	if len(lines) > 0 {
		p.Print(strings.Join(lines, "\n") + "\n")
	}
}

// shown returns a text for people as a writer gets it.
func (p *Printer) shown(w io.Writer, text string) string {
	return onScreen(p.ScreenOf(w), text)
}

// onScreen returns a text for people as a screen shows it: nothing in it but our colours steers the terminal, and marks stand out.
func onScreen(s draw.Screen, text string) string {
	if !s.Color {
		return s.Shown(Printable(text))
	}
	return s.Shown(marks().ReplaceAllString(styled(text), "\x1b["+draw.Reverse+"m$0\x1b[27m"))
}

// marks finds the marks of package visible.
var marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("⟨[^⟨⟩\n]+⟩") })

// PrintData writes what programs may read. A terminal gets it as [Printer.Print] writes it.
func (p *Printer) PrintData(text string) {
	if s := p.ScreenOf(p.Out); s.Width > 0 {
		text = s.Shown(Printable(text))
	}
	_, _ = io.WriteString(p.Out, text)
}

// PrintText writes the text of a result, as data, unless it is "".
func (p *Printer) PrintText(text string) {
	if text != "" {
		p.PrintData(strings.TrimSuffix(text, "\n") + "\n")
	}
}

// PrintResult writes the value of a result: to a file if the user named one; drawn on a terminal; else as data.
func (p *Printer) PrintResult(r *tool.Result) error {
	if err := p.SaveResult(r); err != nil || p.SaveTo != "" {
		return err
	}
	p.showResult(r)
	return nil
}

// SaveResult writes the value of a result to the file that the user named, if there is one: an image or a text as it is,
// anything else as JSON.
func (p *Printer) SaveResult(r *tool.Result) error {
	if p.SaveTo == "" {
		return nil
	}
	var data []byte
	about := ""
	switch v := r.Value.(type) {
	case value.Media:
		data, about = v.Data, " "+v.String()
	case string:
		data = []byte(v)
	default:
		text, err := value.AppendJSON(nil, v)
		if err != nil {
			return err
		}
		var b bytes.Buffer
		_ = json.Indent(&b, append(text, '\n'), "", "  ") // it is JSON
		data = b.Bytes()
	}
	if err := folder.Replace(p.SaveTo, data, 0o644); err != nil {
		return value.Errorf(value.Failed, "write the result to %s: %w", p.SaveTo, FileError(err))
	}
	p.Note("saved %s%s", p.SaveTo, about)
	return nil
}

func (p *Printer) showResult(r *tool.Result) {
	parts, _ := r.Display.(value.List)
	switch r.Value.(type) {
	case nil, string, value.Media:
	default:
		parts = value.List{r.Value}
	}
	if len(parts) == 0 || !IsTerminal(p.Out) {
		p.PrintText(r.Text())
		return
	}
	s, folds := p.ScreenOf(p.Out), draw.Folds{AllRows: p.All, AllColumns: p.Wide, Rows: "--all", Columns: "--wide"}
	for _, part := range parts {
		p.PrintLines(s.Value(part, folds))
	}
}

// Say writes a line of a result for people, on a terminal behind a symbol.
func (p *Printer) Say(mark draw.Symbol, text string) {
	if s := p.ScreenOf(p.Out); s.Width > 0 {
		text = strings.Join(s.Message(mark, text), "\n")
	}
	p.Print(text + "\n")
}

// PrintMarkdown writes a text in Markdown: drawn on a terminal, else as data. It may come from outside, so it is not in the gutter.
func (p *Printer) PrintMarkdown(text string) {
	if !IsTerminal(p.Out) || strings.TrimSpace(text) == "" {
		p.PrintText(text)
		return
	}
	s := p.ScreenOf(p.Out)
	s.Width = max(1, s.Width-2)
	for _, line := range s.Markdown(Printable(text)) {
		p.Print(strings.TrimRight("  "+line, " ") + "\n")
	}
}

// PrintTable draws a table on standard output, unless it is empty.
func (p *Printer) PrintTable(t *draw.Table) {
	if len(t.Rows) > 0 {
		p.PrintLines(p.ScreenOf(p.Out).Table(t, ""))
	}
}

// A Held is what is written to a stream later: lines are drawn as on the stream, but nobody is asked there.
type Held struct {
	bytes.Buffer
	Stream io.Writer
}

// Reason returns why a file is not used, as a list shows it: on a terminal, the message below the list says how to review.
func (p *Printer) Reason(reason string) string {
	if IsTerminal(p.Out) {
		return strings.TrimSuffix(reason, "; run cassidy trust")
	}
	return reason
}

// ScreenOf returns how lines are drawn on a stream.
func (p *Printer) ScreenOf(w io.Writer) draw.Screen {
	width := 0
	if held, ok := w.(*Held); ok {
		w = held.Stream
	}
	if IsTerminal(w) {
		width = WidthOf(w)
	}
	return draw.On(width, p.Env)
}

// PrintJSON writes a result as JSON: indented on a terminal, else on one line.
func (p *Printer) PrintJSON(v value.Value) error {
	if IsTerminal(p.Out) {
		p.PrintIndented(v)
		return nil
	}
	text, err := value.AppendJSON(nil, v)
	if err == nil {
		p.Print(JSONText(string(text)) + "\n")
	}
	return err
}

// PrintIndented writes a result as JSON with indents.
func (p *Printer) PrintIndented(v value.Value) { p.Print(JSONText(value.FormatJSON(v, "  ")) + "\n") }

// PrintLine writes a value as a line of JSON.
func (p *Printer) PrintLine(v json.Marshaler) error {
	text, err := v.MarshalJSON()
	if err == nil {
		p.Print(JSONText(string(text)) + "\n")
	}
	return err
}

// Texts returns the texts of a list, as --json prints them.
func Texts[T any](list []T) value.List {
	return Map(list, func(v T) value.Value { return fmt.Sprint(v) })
}

// operations are words for the names of system calls.
var operations = map[string]string{
	"stat": "read", "lstat": "read", "statat": "read", "openat": "open", "readdirent": "read", "fsync": "write",
	"mkdir": "create", "mkdirat": "create", "removeat": "remove", "unlinkat": "remove",
}

// FileError returns an error of the file system as "cannot open NAME: …".
func FileError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return value.Errorf(value.Failed, "cannot %s %s: %w", cmp.Or(operations[path.Op], path.Op), path.Path, path.Err)
	}
	return value.Errorf(value.Failed, "%w", err)
}

// ReportAll reports the errors of files.
func (p *Printer) ReportAll(broken []*value.Error) {
	for _, e := range broken {
		p.Report(e)
	}
}

// Dumb reports whether the terminal has no escape sequences.
func (p *Printer) Dumb() bool {
	term, _ := p.Env("TERM")
	return term == "dumb" || term == ""
}
