package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A terminal is where a person is asked: text goes out, and lines come in.
type terminal struct {
	in      io.Reader
	file    *os.File // what in is; nil in tests
	out     io.Writer
	typed   []byte         // what was read and not taken yet
	reading chan typedPart // of a read that is under way, or nil
}

type typedPart struct {
	text []byte
	err  error
}

// maxLine is how long a typed line may be; terminals end one at 4 KB.
const maxLine = 1 << 20

// openTerminal returns the terminal of the person who runs the command, or nil
// where there is none: standard input and standard error must both be one.
// Where standard input held the arguments, the terminal is asked for by name.
func openTerminal(in io.Reader, shown io.Writer, inputRead bool) *terminal {
	if f, ok := shown.(*os.File); !ok || columns(f) == 0 {
		return nil
	}
	f, ok := in.(*os.File)
	if ok && columns(f) > 0 {
		return newTerminal(f, shown)
	}
	if !inputRead {
		return nil
	}
	f, err := os.Open("/dev/tty")
	if err != nil || columns(f) == 0 {
		return nil
	}
	return newTerminal(f, shown) // it stays open as long as the command runs
}

func newTerminal(f *os.File, out io.Writer) *terminal {
	return &terminal{in: f, file: f, out: out}
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
	case <-t.reading:
		t.reading = nil
	default:
	}
	if t.file == nil {
		return
	}
	dropInput(t.file)
	t.typed = nil
}

// more waits for more to be typed, no longer than the context lasts. A read
// cannot be called off, so one that is under way serves whoever reads next.
func (t *terminal) more(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if t.reading == nil {
		t.reading = make(chan typedPart, 1)
		go func(to chan<- typedPart) {
			part := make([]byte, 4096)
			n, err := t.in.Read(part)
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

// line reads a line, without its end.
func (t *terminal) line(ctx context.Context) (string, error) {
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
			return "", value.Errorf(value.Limit, "the input is longer than %d MB", maxInput>>20)
		}
		if strings.HasSuffix(strings.TrimSpace(line), "}") {
			if _, err := value.ParseJSON([]byte(text.String())); err == nil {
				return text.String(), nil
			}
		}
	}
}
