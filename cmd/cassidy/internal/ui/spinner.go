package ui

import (
	"fmt"
	"io"
	"time"
)

// A Spinner shows on a terminal what the command waits for, and for how long. The lock of
// its screen guards it: functions that show events may call its methods. It is hidden
// while a question is open. A nil Spinner shows nothing.
type Spinner struct {
	out   io.Writer
	text  string // what the command waits for; "" hides the spinner
	since time.Time
	frame int
	drawn bool
}

const (
	// spinEvery is the time between two pictures.
	spinEvery = 100 * time.Millisecond
	// spinAfter is the delay of the first picture: short waits would flicker.
	spinAfter = 200 * time.Millisecond
	frames    = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
)

// Wait shows what the command waits for now.
func (s *Spinner) Wait(text string) {
	if s != nil {
		s.Erase()
		s.text, s.since = text, time.Now()
	}
}

// Hide hides the spinner until the next Wait.
func (s *Spinner) Hide() {
	if s != nil {
		s.Erase()
		s.text = ""
	}
}

// Erase removes the picture, so that something can be written in its place.
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
