package main

import (
	"fmt"
	"io"
	"time"
)

// A spinner turns on a terminal while nothing comes, so that a person sees
// that something is under way. Its screen's lock guards it: it never turns in a
// question, and its methods are called by what shows events. Nil shows nothing.
type spinner struct {
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

// wait says what is waited for now.
func (s *spinner) wait(text string) {
	if s != nil {
		s.erase()
		s.text, s.since = text, time.Now()
	}
}

// hide ends the waiting.
func (s *spinner) hide() {
	if s != nil {
		s.erase()
		s.text = ""
	}
}

// erase takes away what is drawn, so that something can be written there.
func (s *spinner) erase() {
	if s != nil && s.drawn {
		_, _ = io.WriteString(s.out, "\r\x1b[K")
		s.drawn = false
	}
}

func (s *spinner) draw() {
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
	_, _ = io.WriteString(s.out, "\r\x1b["+dim+"m"+clip(visibleLine(line), widthOf(s.out)-1)+"\x1b[0m\x1b[K")
	s.drawn = true
}
