package ui

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrInterrupted is Ctrl-C at a prompt.
var ErrInterrupted = errors.New("interrupted")

// An Editor reads lines from a terminal, with the keys that a shell has. Where
// the terminal cannot tell single keys, the system's own editing is all there
// is.
type Editor struct {
	Term  *Terminal
	Past  *History
	Plain bool // the terminal only writes lines

	prompt string
	line   []rune
	at     int // where the cursor is
	from   int // the first character that is shown
	old    int // which of the past is shown; len of it is the new line
	kept   []rune
	paste  bool // what comes is pasted: its line ends do not end the line
}

// Keys that are no characters.
const (
	keyUp rune = -1 - iota
	keyDown
	keyLeft
	keyRight
	keyHome
	keyEnd
	keyDelete
	keyWordLeft
	keyWordRight
	keyWordBack
	keyPaste
	keyPasted
	keyOther
)

const ctrl = 0x1f // of a letter leaves the key with Ctrl

// Read reads a line. The error is [io.EOF] of Ctrl-D, [errInterrupted] of
// Ctrl-C, or the context's. The terminal is left as it was found.
func (e *Editor) Read(ctx context.Context, prompt string) (string, error) {
	if e.Plain || e.Term.File == nil {
		return e.readPlain(ctx, prompt)
	}
	restore, err := byKey(e.Term.File)
	if err != nil {
		return e.readPlain(ctx, prompt)
	}
	defer restore()
	e.Term.Print("\x1b[?2004h") // have what is pasted marked
	defer e.Term.Print("\x1b[?2004l")
	e.prompt, e.line, e.at, e.from, e.old, e.kept, e.paste = prompt, nil, 0, 0, len(e.Past.lines), nil, false
	for {
		e.draw()
		k, err := e.key(ctx)
		if err == nil {
			var done bool
			if done, err = e.press(k); !done && err == nil {
				continue
			}
		}
		e.at = len(e.line)
		e.draw()
		if errors.Is(err, ErrInterrupted) {
			e.Term.Print("^C")
		}
		e.Term.Print("\r\n")
		return string(e.line), err
	}
}

// readPlain reads a line that the system lets a person edit. Ctrl-C ends the
// context then.
func (e *Editor) readPlain(ctx context.Context, prompt string) (string, error) {
	e.Term.Print(prompt)
	line, err := e.Term.ReadLine(ctx)
	if err != nil {
		e.Term.Print("\n")
	}
	return line, err
}

// press does what a key asks for, and reports whether the line is done.
func (e *Editor) press(k rune) (done bool, err error) {
	switch k {
	case '\r', '\n':
		if e.paste {
			e.insert('\n')
			return false, nil
		}
		return true, nil
	case 'C' & ctrl:
		return true, ErrInterrupted
	case 'D' & ctrl:
		if len(e.line) == 0 {
			return true, io.EOF
		}
		e.remove(e.at, e.at+1)
	case keyDelete:
		e.remove(e.at, e.at+1)
	case 0x7f, 'H' & ctrl:
		e.remove(e.at-1, e.at)
	case 'U' & ctrl:
		e.remove(0, e.at)
	case 'K' & ctrl:
		e.remove(e.at, len(e.line))
	case 'W' & ctrl, keyWordBack:
		e.remove(e.wordLeft(), e.at)
	case 'L' & ctrl:
		e.Term.Print("\x1b[H\x1b[2J")
	case keyUp, 'P' & ctrl:
		e.remember(e.old - 1)
	case keyDown, 'N' & ctrl:
		e.remember(e.old + 1)
	case keyPaste, keyPasted:
		e.paste = k == keyPaste
	default:
		e.move(k)
	}
	return false, nil
}

// move moves the cursor, or types a character.
func (e *Editor) move(k rune) {
	switch k {
	case keyLeft, 'B' & ctrl:
		e.at = max(0, e.at-1)
	case keyRight, 'F' & ctrl:
		e.at = min(len(e.line), e.at+1)
	case keyHome, 'A' & ctrl:
		e.at = 0
	case keyEnd, 'E' & ctrl:
		e.at = len(e.line)
	case keyWordLeft:
		e.at = e.wordLeft()
	case keyWordRight:
		e.at = e.wordRight()
	default:
		if k >= ' ' || k == '\t' && e.paste {
			e.insert(k)
		}
	}
}

func (e *Editor) insert(r rune) {
	if len(e.line) < maxLine {
		e.line = slices.Insert(e.line, e.at, r)
		e.at++
	}
}

func (e *Editor) remove(from, to int) {
	from, to = max(0, from), min(len(e.line), to)
	if from < to {
		e.line = slices.Delete(e.line, from, to)
		e.at = from
	}
}

func (e *Editor) wordLeft() int {
	at := e.at
	for at > 0 && unicode.IsSpace(e.line[at-1]) {
		at--
	}
	for at > 0 && !unicode.IsSpace(e.line[at-1]) {
		at--
	}
	return at
}

func (e *Editor) wordRight() int {
	at := e.at
	for at < len(e.line) && unicode.IsSpace(e.line[at]) {
		at++
	}
	for at < len(e.line) && !unicode.IsSpace(e.line[at]) {
		at++
	}
	return at
}

// remember shows an earlier line in place of this one, or this one again.
func (e *Editor) remember(which int) {
	past := e.Past.lines
	if which < 0 || which > len(past) {
		return
	}
	if e.old == len(past) {
		e.kept = e.line
	}
	e.old = which
	if which == len(past) {
		e.line = e.kept
	} else {
		e.line = []rune(past[which])
	}
	e.at = len(e.line)
}

// draw shows the part of the line around the cursor that fits.
func (e *Editor) draw() {
	room := max(e.Term.Width()-cells([]rune(e.prompt))-2, 8)
	e.from = min(e.from, e.at)
	for cells(e.line[e.from:e.at]) > room {
		e.from++
	}
	to := e.at
	for to < len(e.line) && cells(e.line[e.from:to+1]) <= room {
		to++
	}
	// The terminal itself remembers where the cursor is: it alone knows how
	// wide it shows each character.
	e.Term.Print("\r" + e.prompt + shown(e.line[e.from:e.at]) + "\x1b7" + shown(e.line[e.at:to]) + "\x1b[K\x1b8")
}

// cells is how many columns characters take at most, see [fold].
func cells(line []rune) int {
	n := len(line)
	for _, r := range line {
		if r >= 0x1100 {
			n++
		}
	}
	return n
}

// shown is how characters are shown on one line.
func shown(line []rune) string {
	var b strings.Builder
	for _, r := range line {
		switch {
		case r == '\n':
			b.WriteRune('⏎')
		case r == '\t':
			b.WriteRune(' ')
		case Seen(r):
			b.WriteRune(r)
		default:
			b.WriteRune('·')
		}
	}
	return b.String()
}

// key reads a key: a character, or one of the constants.
func (e *Editor) key(ctx context.Context) (rune, error) {
	r, err := e.Term.rune(ctx)
	if err != nil || r != '\x1b' {
		return r, err
	}
	if r, err = e.Term.rune(ctx); err != nil {
		return r, err
	}
	switch r {
	case 'b':
		return keyWordLeft, nil
	case 'f':
		return keyWordRight, nil
	case 0x7f:
		return keyWordBack, nil
	case '[', 'O':
		return e.sequence(ctx)
	}
	return keyOther, nil
}

// sequence reads the rest of what a terminal sends for a key that is no
// character.
func (e *Editor) sequence(ctx context.Context) (rune, error) {
	var code strings.Builder
	for code.Len() < 16 { // none is longer
		r, err := e.Term.rune(ctx)
		if err != nil {
			return r, err
		}
		code.WriteRune(r)
		if r >= '@' && r <= '~' {
			break
		}
	}
	if k, ok := keys(code.String()); ok {
		return k, nil
	}
	return keyOther, nil
}

// keys returns the key for what the common terminals send after ESC [ or ESC O.
func keys(code string) (rune, bool) {
	k, ok := map[string]rune{
		"A": keyUp, "B": keyDown, "C": keyRight, "D": keyLeft, "H": keyHome, "F": keyEnd,
		"1~": keyHome, "7~": keyHome, "4~": keyEnd, "8~": keyEnd, "3~": keyDelete,
		"1;5C": keyWordRight, "1;3C": keyWordRight, "1;5D": keyWordLeft, "1;3D": keyWordLeft,
		"200~": keyPaste, "201~": keyPasted,
	}[code]
	return k, ok
}

// rune reads a character.
func (t *Terminal) rune(ctx context.Context) (rune, error) {
	for !utf8.FullRune(t.typed) {
		if err := t.more(ctx); err != nil {
			return 0, err
		}
	}
	r, n := utf8.DecodeRune(t.typed)
	t.typed = t.typed[n:]
	return r, nil
}
