package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Terminal is where a person is asked: text goes out, and lines come in.
type Terminal struct {
	In      io.Reader
	File    *os.File // what in is; nil in tests
	Out     io.Writer
	typed   []byte         // what was read and not taken yet
	reading chan typedPart // of a read that is under way, or nil
}

type typedPart struct {
	text []byte
	err  error
}

// maxLine is how long a typed line may be; terminals end one at 4 KB.
const maxLine = 1 << 20

// OpenTerminal returns the terminal of the person who runs the command, or nil
// where there is none: standard input and standard error must both be one.
// Where standard input held the arguments, the terminal is asked for by name.
func OpenTerminal(in io.Reader, shown io.Writer, inputRead bool) *Terminal {
	if f, ok := shown.(*os.File); !ok || Columns(f) == 0 {
		return nil
	}
	f, ok := in.(*os.File)
	if ok && Columns(f) > 0 {
		return newTerminal(f, shown)
	}
	if !inputRead {
		return nil
	}
	f, err := os.Open("/dev/tty")
	if err != nil || Columns(f) == 0 {
		return nil
	}
	return newTerminal(f, shown) // it stays open as long as the command runs
}

func newTerminal(f *os.File, out io.Writer) *Terminal {
	return &Terminal{In: f, File: f, Out: out}
}

// Print writes text as it is.
func (t *Terminal) Print(text string) { _, _ = io.WriteString(t.Out, text) }

// Width returns how many columns a line has.
func (t *Terminal) Width() int { return WidthOf(t.Out) }

// WidthOf returns how many columns a line has of what is written to.
func WidthOf(w io.Writer) int {
	if o, ok := w.(*output); ok {
		w = o.w
	}
	if f, ok := w.(*os.File); ok {
		if n := Columns(f); n > 0 {
			return n
		}
	}
	return PageWidth
}

// Drop forgets what was typed before the question: it was no answer to it, and
// a tool may have talked somebody into typing it.
func (t *Terminal) Drop() {
	select {
	case <-t.reading:
		t.reading = nil
	default:
	}
	if t.File == nil {
		return
	}
	dropInput(t.File)
	t.typed = nil
}

// more waits for more to be typed, no longer than the context lasts. A read
// cannot be called off, so one that is under way serves whoever reads next.
func (t *Terminal) more(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.reading == nil {
		t.reading = make(chan typedPart, 1)
		go func(to chan<- typedPart) {
			part := make([]byte, 4096)
			n, err := t.In.Read(part)
			to <- typedPart{part[:n], err}
		}(t.reading)
	}
	select {
	case part := <-t.reading:
		t.reading = nil
		t.typed = append(t.typed, part.text...)
		if part.err != nil && len(part.text) == 0 { // else it comes again
			t.typed = nil // half a line is none
			return part.err
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ReadLine reads a line, without its end.
func (t *Terminal) ReadLine(ctx context.Context) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	for {
		if end := bytes.IndexByte(t.typed, '\n'); end >= 0 {
			line := string(t.typed[:end])
			t.typed = t.typed[end+1:]
			return strings.TrimSuffix(line, "\r"), nil
		}
		if len(t.typed) > maxLine {
			t.typed = nil
			return "", errors.New("the line is too long")
		}
		if err := t.more(ctx); err != nil {
			return "", err
		}
	}
}

// ReadObject reads lines until they are a JSON value, or one is empty.
func (t *Terminal) ReadObject(ctx context.Context) (string, error) {
	var text strings.Builder
	for {
		line, err := t.ReadLine(ctx)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(line) == "" {
			return text.String(), nil
		}
		text.WriteString(line + "\n")
		if text.Len() > maxInput {
			return "", value.Errorf(value.Limit, "the input is longer than %d MB", maxInput>>20)
		}
		if strings.HasSuffix(strings.TrimSpace(line), "}") {
			if _, err := value.ParseJSON([]byte(text.String())); err == nil {
				return text.String(), nil
			}
		}
	}
}
