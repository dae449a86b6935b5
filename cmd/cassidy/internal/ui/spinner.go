package ui

import (
	"fmt"
	"io"
	"time"
)

// A Spinner turns on a terminal while nothing comes, so that a person sees
// that something is under way. Its screen's lock guards it: it never turns in a
// question, and its methods are called by what shows events. Nil shows nothing.
type Spinner struct {
	out   io.Writer
	text  string // what is waited for, or "" while nothing is
	since time.Time
	frame int
	drawn bool
}

const (
	// spinEvery is how long each picture stays: ten a second look like motion.
	spinEvery = 100 * time.Millisecond
	// spinAfter is how long nothing must come: what is quicker only flickers.
	spinAfter = 200 * time.Millisecond
	frames    = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
)

// Wait says what is waited for now.
func (s *Spinner) Wait(text string) {
	if s != nil {
		s.Erase()
		s.text, s.since = text, time.Now()
	}
}

// Hide ends the waiting.
func (s *Spinner) Hide() {
	if s != nil {
		s.Erase()
		s.text = ""
	}
}

// Erase takes away what is drawn, so that something can be written there.
func (s *Spinner) Erase() {
	if s != nil && s.drawn {
		_, _ = io.WriteString(s.out, "\r\x1b[K")
		s.drawn = false
	}
}

func (s *Spinner) draw() {
	waited := time.Since(s.since)
	if s.text == "" || waited < spinAfter {
		return
	}
	s.frame++
	picture := []rune(frames)
	line := string(picture[s.frame%len(picture)]) + " " + s.text
	if waited >= time.Second {
		line += fmt.Sprintf(" %d s", int(waited.Seconds()))
	}
	_, _ = io.WriteString(s.out, "\r\x1b["+Dim+"m"+Clip(VisibleLine(line), WidthOf(s.out)-1)+"\x1b[0m\x1b[K")
	s.drawn = true
}
