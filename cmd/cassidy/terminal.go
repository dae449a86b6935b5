package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A terminal is where a person is asked: text goes out, and lines come in.
type terminal struct {
	in      *bufio.Reader
	file    *os.File // what in reads from; nil in tests
	out     io.Writer
	pending chan typedLine // of a read that is under way, or nil
}

type typedLine struct {
	text string
	err  error
}

// maxLine is how long a typed line may be; terminals end one at 4 KB.
const maxLine = 1 << 20

// openTerminal returns the terminal of the person who runs the command, or nil
// where there is none: standard input and standard error must both be one.
// Where standard input held the arguments, the terminal is asked for by name.
func openTerminal(c *command, inputRead bool) *terminal {
	if f, ok := c.err.(*os.File); !ok || columns(f) == 0 {
		return nil
	}
	f, ok := c.in.(*os.File)
	if ok && columns(f) > 0 {
		return newTerminal(f, c.err)
	}
	if !inputRead {
		return nil
	}
	f, err := os.Open("/dev/tty")
	if err != nil || columns(f) == 0 {
		return nil
	}
	return newTerminal(f, c.err) // it stays open as long as the command runs
}

func newTerminal(f *os.File, out io.Writer) *terminal {
	return &terminal{in: bufio.NewReader(f), file: f, out: out}
}

func (t *terminal) print(text string) { _, _ = io.WriteString(t.out, text) }

// width returns how many columns a line has.
func (t *terminal) width() int { return widthOf(t.out) }

// widthOf returns how many columns a line has of what is written to.
func widthOf(w io.Writer) int {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	if f, ok := w.(*os.File); ok {
		if n := columns(f); n > 0 {
			return n
		}
	}
	return pageWidth
}

// drop forgets what was typed before the question: it was no answer to it, and
// a tool may have talked somebody into typing it.
func (t *terminal) drop() {
	select {
	case <-t.pending:
		t.pending = nil
	default:
	}
	if t.file == nil {
		return
	}
	dropInput(t.file)
	if t.pending == nil {
		_, _ = t.in.Discard(t.in.Buffered())
	}
}

// line reads a line, without its end. It waits no longer than the context
// lasts; a read cannot be called off, so one that is under way serves the next
// line.
func (t *terminal) line(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if t.pending == nil {
		t.pending = make(chan typedLine, 1)
		go func(to chan<- typedLine) {
			text, err := readLine(t.in)
			to <- typedLine{text, err}
		}(t.pending)
	}
	select {
	case typed := <-t.pending:
		t.pending = nil
		return typed.text, typed.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads a line that is ended; half a line is none.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return "", errors.New("the line is too long")
		case err == nil:
			return strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r"), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
}

// object reads lines until they are a JSON value, or one is empty.
func (t *terminal) object(ctx context.Context) (string, error) {
	var text strings.Builder
	for {
		line, err := t.line(ctx)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(line) == "" {
			return text.String(), nil
		}
		text.WriteString(line + "\n")
		if text.Len() > maxInput {
			return "", tool.Errorf(tool.Limit, "the input is longer than %d MB", maxInput>>20)
		}
		if strings.HasSuffix(strings.TrimSpace(line), "}") {
			if _, err := tool.ParseJSON([]byte(text.String())); err == nil {
				return text.String(), nil
			}
		}
	}
}

// fold cuts a line into pieces of at most so many columns. A character that
// may be wide counts as two, so that no terminal breaks a piece again.
func fold(line string, width int) []string {
	line = strings.ReplaceAll(line, "\t", "    ")
	var pieces []string
	start, used := 0, 0
	for i, r := range line {
		columns := 1
		if r >= 0x1100 { // the first that East Asian terminals show wide
			columns = 2
		}
		if used+columns > width {
			pieces = append(pieces, line[start:i])
			start, used = i, 0
		}
		used += columns
	}
	return append(pieces, line[start:])
}
