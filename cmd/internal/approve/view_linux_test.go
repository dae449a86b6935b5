package approve

import (
	"io"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
)

// TestViewParts checks that each part of a view waits for a key that was pressed after it was shown, however low the terminal.
func TestViewParts(t *testing.T) {
	for height := uint16(1); height <= 4; height++ {
		person, program := ptytest.Open(t)
		if err := unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: height, Col: 80}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(person, "\n\n\n\n\n\n\n\n"); err != nil { // too early
			t.Fatal(err)
		}
		p := ui.NewPrinter(program, program, noEnv)
		seen := make(chan bool, 1)
		go func() { seen <- View(t.Context(), p, p.Terminal(program), strings.Repeat("line\n", 6)) }()
		shown, quit := "", false
		for buf := make([]byte, 4096); !quit; {
			n, err := person.Read(buf)
			if err != nil {
				t.Fatal(err)
			}
			if shown += string(buf[:n]); strings.HasSuffix(shown, " › ") {
				_, err = io.WriteString(person, "q\n")
				quit = true
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if <-seen || !strings.Contains(shown, "line\r\n") || strings.Count(shown, "Enter next") != 1 {
			t.Errorf("on a terminal of %d lines, the view did not stop after its first part: %q", height, shown)
		}
	}
}
