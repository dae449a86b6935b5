package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestCompletion types a command line in each shell, with a tab after the beginning of each word.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []struct {
		name, script string // where the script is loaded, in the home folder
		load         string // what follows it there
		args         []string
	}{
		{"bash", ".bashrc", "\nPS1='READY> '\n", []string{"--noprofile", "-i"}},
		{"zsh", ".zshrc", "\nPS1='READY> '\n", []string{"-d", "-i"}},
		{"fish", ".config/fish/completions/cassidy.fish", "", []string{"-i", "-C", "function fish_prompt; echo 'READY> '; end"}},
	} {
		t.Run(shell.name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(shell.name)
			if err != nil {
				t.Skipf("SKIPPED: %s is not installed; on Debian: apt-get install %[1]s", shell.name)
			}
			home, dir := t.TempDir(), t.TempDir()
			write := func(name, text string) {
				if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			write(filepath.Join(dir, ".cassidy/tools/count_words.star"), "def count_words(filepath: str, least: int = 1):\n    \"\"\"Count.\"\"\"\n    return least\n\ntool(count_words)\n")
			write(filepath.Join(dir, ".cassidy/skills/$(touch made).md"), "---\nname: x\ndescription: A name that is a command.\n---\nText.\n")
			bin := binOf(t)
			env := append(os.Environ(), asCassidy+"=1", "CASSIDY_HOME="+filepath.Join(home, "own"), "CASSIDY_WORKER="+testworker.Exec(),
				"HOME="+home, "ZDOTDIR="+home, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"), "XDG_DATA_HOME="+home, "TERM=xterm", "PATH="+bin+":"+os.Getenv("PATH"))
			print := exec.Command(filepath.Join(bin, "cassidy"), "completion", shell.name)
			print.Env = env
			script, err := print.Output()
			if err != nil {
				t.Fatal(err)
			}
			write(filepath.Join(home, shell.script), string(script)+shell.load)

			person, terminal := ptytest.Open(t)
			cmd := exec.Command(program, shell.args...)
			cmd.Dir, cmd.Env = dir, env
			cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			})
			s := newShellTest(t, person)
			s.until("READY> ")
			for _, step := range [][2]string{{"cassidy too", "tool "}, {"ru", "run "}, {"count_w", "count_words "}, {"file", "filepath="}} {
				s.typed(step[0]+"\t", step[1])
			}
			s.typed("\x15cassidy skill show \t", `\$\(touch\ made\)`)
			s.typed("\n", "nobody has reviewed it")
			if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
				t.Error("the name of a file was carried out as a command")
			}
		})
	}
}

// A shellTest reads what a shell shows.
type shellTest struct {
	t      *testing.T
	person *os.File
	read   chan string
	shown  string // since the last text that was waited for
	all    string
}

func newShellTest(t *testing.T, person *os.File) *shellTest {
	s := &shellTest{t: t, person: person, read: make(chan string)}
	go func() {
		defer close(s.read)
		for buf := make([]byte, 4096); ; {
			n, err := person.Read(buf)
			if err != nil {
				return
			}
			select {
			case s.read <- string(buf[:n]):
			case <-t.Context().Done():
				return
			}
		}
	}()
	return s
}

// marked matches what a shell writes between characters: bells, and styles.
var marked = regexp.MustCompile("\a|\x1b\\[[0-9;?]*[a-zA-Z]")

// until reads until a text is shown.
func (s *shellTest) until(text string) {
	s.t.Helper()
	for late := time.After(2 * time.Minute); !strings.Contains(marked.ReplaceAllString(s.shown, ""), text); {
		select {
		case part, ok := <-s.read:
			s.all += part
			if s.shown += part; !ok {
				s.t.Fatalf("the shell ended; shown: %q", s.shown)
			}
		case <-late:
			s.t.Fatalf("%q was not shown, but %q", text, s.shown)
		}
	}
	s.shown = ""
}

// typed types keys, and waits for what the shell makes of them.
func (s *shellTest) typed(keys, want string) {
	s.t.Helper()
	if _, err := io.WriteString(s.person, keys); err != nil {
		s.t.Fatal(err)
	}
	s.until(want)
}
