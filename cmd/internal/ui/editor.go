package ui

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Ctrl-C at a prompt.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrCleared     = errors.New("cleared") // something had been typed
)

const esc = '\x1b'

// An Editor reads lines that a person edits with the keys of [term.Terminal].
// Where the terminal does not report single keys, the system's own editing is used.
type Editor struct {
	Term  *Terminal
	Past  *History
	Plain bool // the terminal has no escape sequences
}

// Read reads a line, in which pasted text may have line ends. The error is [io.EOF]
// for Ctrl-D, [ErrInterrupted] or [ErrCleared] for Ctrl-C, or the context's. Read
// restores the terminal's mode.
func (e *Editor) Read(ctx context.Context, prompt string) (string, error) {
	if e.Plain || e.Term.File == nil {
		return e.readPlain(ctx, prompt)
	}
	k, done, err := e.Term.raw(ctx, prompt)
	if err != nil {
		return e.readPlain(ctx, prompt)
	}
	defer done()
	k.editor.History = recalled{e.Past}
	k.editor.SetBracketedPasteMode(true)
	defer k.editor.SetBracketedPasteMode(false)
	line, err := k.editor.ReadLine()
	if err == nil {
		return fromPictures.Replace(line), nil
	}
	if errors.Is(err, ErrInterrupted) {
		_, _ = io.WriteString(e.Term.Out, "^C")
		if k.pressed {
			err = ErrCleared
		}
	}
	_, _ = io.WriteString(e.Term.Out, "\r\n")
	return "", err
}

// raw returns a keyboard that reports single keys. Call done to restore the terminal's mode.
func (t *Terminal) raw(ctx context.Context, prompt string) (k *keyboard, done func(), err error) {
	fd := int(t.File.Fd())
	mode, err := term.MakeRaw(fd)
	if err != nil {
		return nil, nil, err
	}
	k = &keyboard{ctx: ctx, Terminal: t}
	k.editor = term.NewTerminal(k, prompt)
	k.resize()
	return k, func() { _ = term.Restore(fd, mode) }, nil // fails if the terminal has hung up
}

// ReadHidden reads a line that is not shown. The error is [io.EOF] for Ctrl-D, [ErrInterrupted] for Ctrl-C, or the
// context's. It fails if the terminal would show what is typed.
func (t *Terminal) ReadHidden(ctx context.Context, prompt string) (string, error) {
	k, done, err := t.raw(ctx, prompt)
	if err != nil {
		return "", err
	}
	defer done()
	line, err := k.editor.ReadPassword(prompt)
	if err != nil {
		_, _ = io.WriteString(t.Out, "\r\n")
	}
	return line, err
}

// readPlain reads a line with the system's own editing. Ctrl-C ends the context.
func (e *Editor) readPlain(ctx context.Context, prompt string) (string, error) {
	e.Term.Print(prompt)
	line, err := e.Term.ReadLine(ctx)
	if err != nil {
		e.Term.Print("\n")
	}
	return line, err
}

// While a text is edited, line ends and tabs are Control Pictures: [term.Terminal]
// ends the line at the one and would not know the width of the other.
var (
	toPictures   = strings.NewReplacer("\r", "␊", "\n", "␊", "\t", "␉")
	fromPictures = strings.NewReplacer("␊", "\n", "␉", "\t")
)

// recalled is the history as [term.Terminal] shows it.
type recalled struct{ past *History }

// Add does nothing: a message may have several lines, and is added when it is complete.
func (recalled) Add(string) {}

func (r recalled) Len() int { return len(r.past.lines) }

func (r recalled) At(i int) string {
	return toPictures.Replace(typeable(r.past.lines[len(r.past.lines)-1-i]))
}

// A keyboard is a terminal as [term.Terminal] reads it: with one sequence for each
// key that it knows, and without characters that could steer the terminal.
type keyboard struct {
	*Terminal
	ctx     context.Context
	editor  *term.Terminal
	pasting bool
	pressed bool   // a key was read
	next    string // what Read returns next
}

// Write implements [io.Writer].
func (k *keyboard) Write(p []byte) (int, error) { return k.Out.Write(p) }

// Read implements [io.Reader]. It returns one key at a time: what was typed after the
// end of a line belongs to the next prompt.
func (k *keyboard) Read(p []byte) (int, error) {
	for k.next == "" {
		size := keySize(k.typed)
		if size == 0 {
			if err := k.more(k.ctx); err != nil {
				return 0, err
			}
			k.resize()
			continue
		}
		key := string(k.typed[:size])
		k.typed = k.typed[size:]
		if key == "\x03" {
			return 0, ErrInterrupted
		}
		k.pressed = true
		k.next = k.translate(key)
	}
	n := copy(p, k.next)
	k.next = k.next[n:]
	return n, nil
}

// resize has the editor use the width that the terminal has now.
func (k *keyboard) resize() { _ = k.editor.SetSize(k.Width(), 0) } // fails if the terminal has hung up

// keySize returns how many bytes the first key has: a character or an escape
// sequence. It is 0 if more must be read to know.
func keySize(typed []byte) int {
	if len(typed) == 0 || !utf8.FullRune(typed) {
		return 0
	}
	if typed[0] != esc {
		_, size := utf8.DecodeRune(typed)
		return size
	}
	if len(typed) == 1 {
		return 0
	}
	switch typed[1] {
	case esc: // the first one has no meaning
		return 1
	case '[', 'O':
		end := slices.IndexFunc(typed[2:], func(c byte) bool { return c >= '@' && c <= '~' })
		if end < 0 {
			return 0
		}
		return end + 3
	}
	return 2
}

// steers reports whether a character could control the terminal.
func steers(r rune) bool {
	return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp)
}

// typeable removes the characters with which a typed or pasted text could control the terminal.
func typeable(text string) string {
	return strings.Map(func(r rune) rune {
		if steers(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, text)
}

// translate returns a key as [term.Terminal] knows it, or "" for one without meaning.
func (k *keyboard) translate(key string) string {
	switch {
	case key == "\x1b[200~" || key == "\x1b[201~":
		k.pasting = key == "\x1b[200~"
	case k.pasting:
		return typeable(toPictures.Replace(key))
	case key[0] == esc:
		return sequence(key[1:])
	case key == "\n":
		return "\r"
	case len(key) > 1 || key[0] > 0x7f:
		return typeable(key)
	}
	return key
}

// sequence returns what [term.Terminal] reads for the keys that common terminals send
// as an ESC and this.
func sequence(code string) string {
	switch code {
	case "[A", "[B", "[C", "[D", "[H", "[F", "OA", "OB", "OC", "OD", "OH", "OF":
		return "\x1b[" + code[1:]
	case "[1~", "[7~":
		return "\x1b[H"
	case "[4~", "[8~":
		return "\x1b[F"
	case "[3~":
		return "\x1b[3~"
	case "[1;5C", "[1;3C", "f":
		return "\x1b[1;3C"
	case "[1;5D", "[1;3D", "b":
		return "\x1b[1;3D"
	case "\x7f":
		return "\x17"
	}
	return ""
}
