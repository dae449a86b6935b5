package ui

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
)

// A Live is the last line of a terminal, which shows what is in progress and for how long. Whatever the printer writes takes its
// place. It is not shown while a question is open, on a terminal for screen readers, and behind a line without an end. Its
// methods may be called at the same time.
type Live struct {
	p   *Printer
	out io.Writer        // standard error
	now func() time.Time // tests replace it

	mu     sync.Mutex
	steps  []*step // in progress, the oldest first
	ended  chan struct{}
	held   bool // a question is open
	inLine bool // the line with the cursor has no end
	drawn  bool
	frame  int
}

// A step is something in progress.
type step struct {
	id, name, text string
	done, total    float64
	counts         string // the ID of the step, or of its part, whose work that is
	since, told    time.Time
}

const (
	// liveEvery is the time between two pictures.
	liveEvery = 100 * time.Millisecond
	// liveAfter is the delay of the first picture: short waits would flicker.
	liveAfter = 200 * time.Millisecond
	// tellEvery is the time between the lines on progress where no live line is shown.
	tellEvery = 30 * time.Second
	frames    = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
)

// Begin shows that a step is in progress. A step whose ID begins with that of another one and a slash is part of that one, and
// is shown as its text.
func (l *Live) Begin(id, name, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(id)
	if s == nil {
		s = &step{id: id, since: l.now(), told: l.now()}
		l.steps = append(l.steps, s)
	}
	if s.id == id {
		s.name, s.text = name, text
	} else if s.text = strings.TrimRight(name+"  "+text, " "); s.counts != s.id {
		s.done, s.total = 0, 0 // of the part before
	}
	if l.ended == nil && l.Shown() {
		l.ended = make(chan struct{})
		go l.run(l.ended)
	}
}

// Progress shows how much of a step is done. It reports whether to print a line on it: if the live line is not shown, now and
// then.
func (l *Live) Progress(id, name, text string, done, total float64) (tell bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.find(id)
	if s == nil {
		return false
	}
	if s.id != id {
		text = name + "  " + text
	}
	s.text, s.done, s.total, s.counts = text, done, total, id
	if l.Shown() || l.now().Sub(s.told) < tellEvery {
		return false
	}
	s.told = l.now()
	return true
}

// End removes a step.
func (l *Live) End(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(func(s *step) bool { return s.id == id })
}

// Clear removes all steps.
func (l *Live) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(func(*step) bool { return true })
}

func (l *Live) drop(which func(*step) bool) {
	l.steps = slices.DeleteFunc(l.steps, which)
	if len(l.steps) == 0 {
		l.erase()
		if l.ended != nil {
			close(l.ended)
			l.ended = nil
		}
	}
}

// Shown reports whether the live line is shown: else a command prints lines on progress.
func (l *Live) Shown() bool {
	return IsTerminal(l.out) && !l.p.Quiet && !l.p.JSON && !l.p.Dumb() && !l.p.ScreenOf(l.out).Plain
}

// hold hides the line until it is released.
func (l *Live) hold(held bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.erase()
	l.held, l.inLine = held, false
}

// find returns the step with an ID, or that of which it is a part, or nil. What a sub-agent does is a part of the oldest call of
// the tool agent: its ID does not say of which.
func (l *Live) find(id string) *step {
	for _, s := range l.steps {
		inAgent := s.name == "agent" && strings.HasPrefix(id, s.id[:strings.LastIndexByte(s.id, '/')+1]+"agent-")
		if s.id == id || strings.HasPrefix(id, s.id+"/") || inAgent {
			return s
		}
	}
	return nil
}

func (l *Live) run(ended chan struct{}) {
	ticker := time.NewTicker(liveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			l.draw(ended)
		case <-ended:
			return
		}
	}
}

func (l *Live) draw(ended chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended != ended || l.held || l.inLine || l.now().Sub(l.steps[0].since) < liveAfter {
		return
	}
	l.frame++
	_, _ = io.WriteString(l.out, "\r"+l.line(l.p.ScreenOf(l.out))+"\x1b[K")
	l.drawn = true
}

// erase removes the line, so that something can be written in its place.
func (l *Live) erase() {
	if l.drawn {
		_, _ = io.WriteString(l.out, "\r\x1b[K")
		l.drawn = false
	}
}

// line returns the line, which fits a terminal: its text is cut first, and its numbers are not.
func (l *Live) line(s draw.Screen) string {
	first := l.steps[0]
	mark := s.Symbol(draw.Running)
	if picture := []rune(frames); !s.ASCII {
		mark = string(picture[l.frame%len(picture)])
	}
	gauge, end := "", ""
	if first.total > 0 {
		gauge = "  " + s.Gauge(first.done/first.total) + " " + draw.Number(first.done) + "/" + draw.Number(first.total)
	}
	if took := l.now().Sub(first.since); took >= time.Second {
		end = s.Between() + Elapsed(took.Truncate(time.Second))
	}
	if more := len(l.steps) - 1; more > 0 {
		end += fmt.Sprintf("  +%d", more)
	}
	room := s.Most() - draw.Cells(mark) - 1 - draw.Cells(end)
	if draw.Cells(gauge) > room-4 {
		gauge = ""
	}
	room -= draw.Cells(gauge)
	name := s.Cut(VisibleLine(first.name), max(1, room))
	room -= draw.Cells(name) + 2
	text := ""
	if shown := strings.TrimSpace(VisibleLine(cutLong(first.text))); shown != "" && room > 3 {
		text = "  " + s.Cut(shown, room)
	}
	return mark + " " + name + gauge + s.Paint(draw.Dim, text+end)
}

// cutLong cuts a text that is longer than any line, so that it costs little to measure.
func cutLong(text string) string {
	const most = 4 * draw.MaxText
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "")
	}
	return text
}

// Elapsed writes how long something took: "0.2s", "12s", "3m05s".
func Elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second && d%time.Second >= 100*time.Millisecond:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}
