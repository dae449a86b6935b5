package ui

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
)

// A Terminal asks a person: it prints text and reads lines.
type Terminal struct {
	In      io.Reader
	File    *os.File // In as a file; nil in tests
	Out     io.Writer
	Screen  draw.Screen    // how Out shows lines
	typed   []byte         // read from In and not used yet
	reading chan typedPart // the result of a read in progress, or nil
}

type typedPart struct {
	text []byte
	err  error
}

// maxLine is the maximum length of a typed line in bytes.
const maxLine = 1 << 20

// Terminal returns a terminal for the messages of p that reads what a person types.
func (p *Printer) Terminal(in io.Reader) *Terminal {
	return &Terminal{In: in, File: fileOf(in), Out: Unwrapped(p.Err), Screen: p.ScreenOf(p.Err)}
}

// OpenTerminal returns the terminal of the person who runs the command, or nil if
// standard input or standard error is not one. If standard input held the arguments,
// it opens the controlling terminal instead.
func (p *Printer) OpenTerminal(in io.Reader, inputRead bool) *Terminal {
	if !IsTerminal(p.Err) {
		return nil
	}
	f, _ := in.(*os.File)
	if !IsTerminal(in) {
		if !inputRead {
			return nil
		}
		var err error // the file stays open as long as the command runs
		if f, err = os.Open("/dev/tty"); err != nil || !IsTerminal(f) {
			return nil
		}
	}
	return p.Terminal(f)
}

// Print writes a text for people, as [Printer.Print] does on a terminal.
func (t *Terminal) Print(text string) {
	_, _ = io.WriteString(t.Out, onScreen(t.Screen, text))
}

// PrintLines writes lines as [Terminal.Print] does.
func (t *Terminal) PrintLines(lines []string) { t.Print(strings.Join(lines, "\n") + "\n") }

// Width returns how many columns a line has.
func (t *Terminal) Width() int { return WidthOf(t.Out) }

// Height returns how many lines the terminal shows.
func (t *Terminal) Height() int {
	if f := fileOf(t.Out); f != nil {
		if _, height, err := term.GetSize(int(f.Fd())); err == nil && height > 0 {
			return height
		}
	}
	return pageHeight
}

// pageHeight is the height of a terminal that does not report it.
const pageHeight = 24

// fileOf returns the file that a stream is, or nil.
func fileOf(stream any) *os.File {
	if o, ok := stream.(*output); ok {
		stream = o.w
	}
	f, _ := stream.(*os.File)
	return f
}

// Unwrapped returns what a writer of a printer writes to, for a process that inherits it.
func Unwrapped(w io.Writer) io.Writer {
	if o, ok := w.(*output); ok {
		return o.w
	}
	return w
}

// IsTerminal reports whether a reader or writer is a terminal.
func IsTerminal(stream any) bool {
	if o, ok := stream.(*output); ok { // a list asks for each of its lines
		return o.terminal
	}
	f := fileOf(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// Asks reports whether somebody can answer a question who reads both the question and what is printed before it.
func (p *Printer) Asks(in io.Reader) bool {
	return !p.JSON && IsTerminal(in) && IsTerminal(p.Out) == IsTerminal(p.Err)
}

// WidthOf returns how many columns a line of w has: [draw.PageWidth] unless w is a terminal.
func WidthOf(w io.Writer) int {
	if f := fileOf(w); f != nil {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return draw.PageWidth
}

// UntilEnded returns a context that ends when the system asks the program to end, or
// the terminal hangs up, unless nohup ignores that.
func UntilEnded(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return signal.NotifyContext(ctx, syscall.SIGTERM)
	}
	return signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGHUP)
}

// Drop discards what was typed before a question: it was not an answer, and a tool may
// have persuaded somebody to type it.
func (t *Terminal) Drop() {
	select {
	case <-t.reading:
		t.reading = nil
	default:
	}
	if t.File == nil {
		return
	}
	flushInput(t.File)
	t.typed = nil
}

// more waits for input until the context ends. A read cannot be cancelled, so its result
// goes to the next call.
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
		if part.err != nil && len(part.text) == 0 { // else the next read returns the error again
			t.typed = nil // an incomplete line is dropped
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
			return "", errors.New("the input line is too long")
		}
		if err := t.more(ctx); err != nil {
			return "", err
		}
	}
}
