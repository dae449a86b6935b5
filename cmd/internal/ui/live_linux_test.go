package ui

import (
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
)

func TestLiveLine(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, tt := range []struct {
		name   string
		screen draw.Screen
		steps  []*step
		want   string
	}{
		{"with a total", draw.Screen{Width: 80}, []*step{{name: "slow", text: "reading part 3", done: 3, total: 4, since: now.Add(-1500 * time.Millisecond)}}, "⠋ slow  ▕███████▌  ▏ 3/4  reading part 3 · 1s"},
		{"without", draw.Screen{Width: 80}, []*step{{name: "thinking", since: now}}, "⠋ thinking"},
		{"several", draw.Screen{Width: 80}, []*step{{name: "a", since: now.Add(-75 * time.Second)}, {name: "b"}, {name: "c"}}, "⠋ a · 1m15s  +2"},
		{"ASCII", draw.Screen{Width: 80, ASCII: true}, []*step{{name: "slow", text: "part", done: 3, total: 4, since: now}}, "* slow  [#######.  ] 3/4  part"},
		{"narrow", draw.Screen{Width: 40}, []*step{{name: "slow", text: "reading part 3", done: 3, total: 4, since: now.Add(-time.Second)}}, "⠋ slow  ▕███████▌  ▏ 3/4  reading… · 1s"},
		{"very narrow", draw.Screen{Width: 16}, []*step{{name: "a_long_name", text: "reading", done: 3, total: 4, since: now.Add(-time.Second)}}, "⠋ a_long_… · 1s"},
		{"too much", draw.Screen{Width: 80}, []*step{{name: "x", text: "a\x1b[2J\nb" + strings.Repeat("日", 1<<20), done: 9, total: 3, since: now}}, "⠋ x  ▕██████████▏ 9/3  a⟨U+001B⟩[2J↵b日日日日日日日日日日日日日日日日日日日日…"},
	} {
		l := &Live{now: func() time.Time { return now }, steps: tt.steps}
		if got := l.line(tt.screen); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLiveTells has lines on progress where no live line is shown: not at once, and not often.
func TestLiveTells(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := NewPrinter(io.Discard, io.Discard, func(string) (string, bool) { return "", false })
	p.Live.now = func() time.Time { return now }
	p.Live.Begin("run/1", "slow", "")
	var told []int
	for second := range 100 {
		if p.Live.Progress("run/1/2", "part", "reading", float64(second), 100) {
			told = append(told, second)
		}
		now = now.Add(time.Second)
	}
	if len(told) != 3 || told[0] != 30 || told[1] != 60 || told[2] != 90 {
		t.Errorf("lines at the seconds %v, want 30, 60 and 90", told)
	}
	p.Live.End("run/1")
	if p.Live.Progress("run/1", "slow", "after its end", 1, 1) {
		t.Error("a step that has ended has a line")
	}
}

// TestLiveParts shows what a step calls as its text.
func TestLiveParts(t *testing.T) {
	t.Parallel()
	p := NewPrinter(io.Discard, io.Discard, func(string) (string, bool) { return "", false })
	l := p.Live
	l.Begin("run/6", "agent", "look")
	l.Begin("run/7", "other", "")
	for _, part := range []string{"run/6/1", "run/agent-1/model", "run/agent-1/6"} {
		l.Begin(part, "read_file", "a.txt")
		if len(l.steps) != 2 || l.steps[0].text != "read_file  a.txt" || l.steps[0].name != "agent" {
			t.Errorf("with %s the steps are %d, the first is %+v", part, len(l.steps), l.steps[0])
		}
		l.Progress(part, "read_file", "", 1, 2)
		l.Begin(part, "next", "")
		if l.steps[0].total != 0 {
			t.Errorf("the next part has the progress %v of the one before", l.steps[0].done)
		}
		l.End(part)
	}
	l.End("run/6")
	l.End("run/7")
	if len(l.steps) != 0 {
		t.Errorf("at the end there are %d steps", len(l.steps))
	}
}

// A watched terminal is what a program has written on it.
type watched struct {
	mu   sync.Mutex
	text string
}

func (w *watched) waitFor(t *testing.T, ok func(text string) bool) string {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		w.mu.Lock()
		text := w.text
		w.mu.Unlock()
		if ok(text) {
			return text
		}
		if time.Now().After(late) {
			t.Fatalf("it shows %q", text)
		}
	}
}

// TestLive draws on a terminal that becomes narrow: messages take the place of the line, and no picture is under a question.
func TestLive(t *testing.T) {
	t.Parallel()
	person, program := ptytest.Open(t)
	resize := func(cells uint16) {
		if err := unix.IoctlSetWinsize(int(person.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: cells}); err != nil {
			t.Fatal(err)
		}
	}
	resize(80)
	w := &watched{}
	go func() {
		part := make([]byte, 4096)
		for {
			n, err := person.Read(part)
			w.mu.Lock()
			w.text += string(part[:n])
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	p := NewPrinter(program, program, func(name string) (string, bool) {
		return map[string]string{"TERM": "xterm", "NO_COLOR": "1", "LANG": "C.UTF-8"}[name], true
	})
	screen := &Screen{Live: p.Live}
	p.Live.Begin("run/1", "slow", strings.Repeat("text ", 40))
	last := func(text string) string { return text[strings.LastIndex(text, "\r")+1:] }
	has := func(least, most int) func(text string) bool {
		return func(text string) bool {
			line, whole := strings.CutSuffix(last(text), "\x1b[K")
			return whole && least < draw.Cells(line) && draw.Cells(line) <= most
		}
	}
	w.waitFor(t, has(60, 79))
	resize(30)
	w.waitFor(t, has(10, 29))
	p.Log("hello")
	w.waitFor(t, func(text string) bool { return strings.Contains(text, "\r\x1b[K  hello\r\n\r") })
	screen.Hold()
	p.Print("may it? ")
	before := w.waitFor(t, func(text string) bool { return strings.HasSuffix(text, "\r\x1b[Kmay it? ") })
	time.Sleep(3 * liveEvery)
	if after := w.waitFor(t, func(string) bool { return true }); after != before {
		t.Errorf("under a question it shows %q", after[len(before):])
	}
	screen.Release()
	w.waitFor(t, func(text string) bool { return len(text) > len(before) && strings.Contains(last(text), "slow") })
	p.Live.End("run/1")
	w.waitFor(t, func(text string) bool { return strings.HasSuffix(text, "\r\x1b[K") })
}
