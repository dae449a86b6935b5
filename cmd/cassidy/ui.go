package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

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

// exit tells the error, if there is one, and returns the exit code.
func (c *command) exit(ctx context.Context, err error) int {
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
	c.tell(e)
	if c.json {
		_ = c.printJSON(value.NewDict("success", false, "error", e.Error(), "error_type", e.Kind.Type(), "suggestion", e.Hint))
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

// tell prints an error for a person.
func (c *command) tell(e *value.Error) {
	ours := strings.HasPrefix(e.Pos.File, "builtin/") && e.Kind != value.Internal
	if (ours || e.Kind == value.Parked) && !c.verbose {
		c.say("%s", e.Message()) // where in our own script is of no use to anybody
	} else {
		c.say("%s", e.Error())
	}
	if c.verbose || len(e.Trace) > 1 && !ours && e.Kind != value.Parked {
		for _, line := range e.Trace {
			fmt.Fprintf(c.err, "  %s\n", printable(line))
		}
	}
	if e.Hint != "" {
		c.say("hint: %s", e.Hint)
	}
}

// say prints a message on standard error. Its later lines are indented: what a
// stranger wrote must not pass for another message of ours.
func (c *command) say(format string, args ...any) {
	text := printable(fmt.Sprintf(format, args...))
	fmt.Fprintf(c.err, "cassidy: %s\n", strings.ReplaceAll(text, "\n", "\n  "))
}

// note prints a message that --quiet suppresses.
func (c *command) note(format string, args ...any) {
	if !c.quiet {
		c.say(format, args...)
	}
}

// print writes a result.
func (c *command) print(text string) { _, _ = io.WriteString(c.out, text) }

// printJSON writes a result as JSON, on several lines on a terminal and on one
// elsewhere.
func (c *command) printJSON(v value.Value) error {
	if c.terminal(c.out) {
		c.print(value.FormatJSON(v, "  ") + "\n")
		return nil
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return err
	}
	c.print(string(text) + "\n")
	return nil
}

// printable drops the characters that a stranger's text could steer the
// terminal with: controls, and those that change the order in which what
// follows is shown. See [visible] for what a person is to decide on.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if ' ' <= r && r <= '~' || r == '\n' || r == '\t' {
			return r
		}
		if unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
}

// visible writes out what a person would not see, or not as what it is:
// ⟨U+202E⟩ for a character that turns the text around, ⟨U+000D⟩ for one that has
// the rest of a line written over it, ⟨ff⟩ for a byte that is no UTF-8. Line
// ends and tabs stay.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, "⟨%02x⟩", text[i])
		case r == '\n' || r == '\t' || seen(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// visibleLine is visible for a text that must stay on one line.
func visibleLine(text string) string {
	return strings.ReplaceAll(visible(text), "\n", "⟨U+000A⟩")
}

// seen reports whether a character is seen as what it is: it leaves ink, or is
// the plain space.
func seen(r rune) bool {
	const braille = 0x2800 // a pattern without dots
	return unicode.IsPrint(r) && r != braille &&
		!unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// terminal reports whether somebody reads this as it is written.
func (c *command) terminal(w io.Writer) bool {
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
func (c *command) paint() func(code, text string) string { return c.paintOn(c.out) }

// paintOn returns the function that colours text for where it is written to.
// The code "" is no colour.
func (c *command) paintOn(w io.Writer) func(code, text string) string {
	_, noColor := c.env("NO_COLOR")
	term, _ := c.env("TERM")
	if noColor || term == "dumb" || !c.terminal(w) {
		return func(_, text string) string { return text }
	}
	return func(code, text string) string {
		if code == "" {
			return text
		}
		return "\x1b[" + code + "m" + text + "\x1b[0m"
	}
}

// The colours in use.
const (
	bold   = "1"
	dim    = "2"
	yellow = "33"
	green  = "32"
	red    = "31"
)

// pageWidth is how wide the lines of a page are: what every terminal shows.
const pageWidth = 80

// wrap breaks text at spaces into lines of a width, each after the indent.
func wrap(text, indent string, width int) string {
	var b strings.Builder
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n") {
		line := indent + leading(paragraph)
		empty := true
		for _, word := range strings.Fields(paragraph) {
			if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
				b.WriteString(line + "\n")
				line, empty = indent+leading(paragraph), true
			}
			if !empty {
				line += " "
			}
			line += word
			empty = false
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// leading returns the spaces that a line begins with.
func leading(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " "))] }

// clip cuts a line to a width.
func clip(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:max(width-1, 1)])) + "…"
}

// pad fills a text up with spaces.
func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}
