package repl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The ends of a line that is not run.
var (
	errEnd   = errors.New("no line follows")
	errClear = errors.New("the input was cleared")
)

// An input is where lines come from: a person, or a pipe.
type input interface {
	begin()
	// line returns the next line, without its end. more says that it continues the lines before.
	// The error is errEnd, errClear, or that of an invalid line.
	line(ctx context.Context, more bool) (string, error)
	isPerson() bool
}

// maxLine is the length of a line in bytes.
const maxLine = 64 << 10

// checkLine returns the error of a line that is not text.
func checkLine(line string) error {
	switch {
	case len(line) > maxLine:
		return value.Errorf(value.Invalid, "the line is longer than %d KB", maxLine>>10)
	case !utf8.ValidString(line) || strings.ContainsRune(line, 0):
		return value.Errorf(value.Invalid, "the line is not text in UTF-8")
	}
	return nil
}

// A person types lines at a terminal.
type person struct {
	app        *session
	editor     ui.Editor
	interrupts *app.Interrupts
	pasted     []string // lines of a pasted text that were not returned yet
}

// The prompts of an input and of its later lines.
const (
	prompt     = ">>> "
	promptMore = "... "
)

func newPerson(s *session, console *ui.Terminal) *person {
	past := ""
	if state := s.State(); state != "" {
		past = filepath.Join(state, "repl_history")
	}
	return &person{app: s, interrupts: s.Interrupts, editor: ui.Editor{Term: console, Past: ui.OpenHistory(past), Plain: s.Dumb()}}
}

func (p *person) isPerson() bool { return true }

func (p *person) begin() {
	p.app.Note("Starlark with %s as functions; :help lists the commands, Ctrl-D ends the session", ui.Count(len(p.app.tools), "tool"))
}

func (p *person) line(ctx context.Context, more bool) (string, error) {
	if len(p.pasted) == 0 {
		ask := prompt
		if more {
			ask = promptMore
		}
		turn, done := p.interrupts.During(ctx)
		typed, err := p.editor.Read(turn, ask)
		done()
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case errors.Is(err, ui.ErrInterrupted), errors.Is(err, ui.ErrCleared), errors.Is(err, context.Canceled):
			return "", errClear
		case errors.Is(err, io.EOF):
			return "", errEnd
		case err != nil:
			return "", err
		}
		p.editor.Past.Add(strings.TrimRight(typed, " \n"))
		p.pasted = strings.Split(typed, "\n")
	}
	line := p.pasted[0]
	p.pasted = p.pasted[1:]
	if err := checkLine(line); err != nil {
		p.pasted = nil
		return "", err
	}
	return line, nil
}

// A pipe has the lines of standard input.
type pipe struct{ from *bufio.Reader }

func newPipe(in io.Reader) *pipe { return &pipe{bufio.NewReaderSize(in, maxLine+2)} }

func (p *pipe) isPerson() bool { return false }
func (p *pipe) begin()         {}

func (p *pipe) line(context.Context, bool) (string, error) {
	text, err := p.from.ReadSlice('\n')
	line := string(text)
	for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is too long
		_, err = p.from.ReadSlice('\n')
		line += " "
	}
	if err != nil && line == "" {
		if errors.Is(err, io.EOF) {
			return "", errEnd
		}
		return "", value.Errorf(value.Invalid, "read standard input: %w", err)
	}
	line = strings.TrimRight(string(bytes.TrimPrefix([]byte(line), []byte("\ufeff"))), "\r\n")
	return line, checkLine(line)
}

func itoa(n int) string { return strconv.Itoa(n) }

const help = `Type Starlark. The value of each expression is shown, and is also in the variable _.

  :help    show this text
  :tools   list the tools, which are functions here
  :quit    end the session, as Ctrl-D does

A block, such as def or for, ends with an empty line. Ctrl-C cancels the current input.
The modules are those of tools: fs, http, shell, text, data and others.
`

// do runs a command of the session, and reports whether the session ends.
func (s *session) do(command string) (over bool) {
	switch command {
	case ":quit", ":q", ":exit":
		return true
	case ":help", ":h":
		s.Print(help)
	case ":tools":
		for i := range s.tools {
			t := &s.tools[i]
			s.Print(draw.Pad(ui.VisibleLine(tool.Key(t.Name)), 20, false) + "  " + ui.Brief(t.Summary(), draw.PageWidth-22) + "\n")
		}
	default:
		s.failed = true
		s.Report(value.Errorf(value.Invalid, "unknown command: %s", command).WithHint("list the commands: :help"))
	}
	return false
}
