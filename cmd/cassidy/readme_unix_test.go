//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"
)

// install are the commands of the README that TestReadme leaves out: the test binary is
// the command, and its folder the clone.
var install = []string{
	"cd ~ && git clone https://github.com/cassidy-run/cassidy && cd cassidy && go run ./cmd/cassidy demo",
	"go test ./...                         # all tests, without network, in a few minutes",
	"go install ./cmd/cassidy              # into $(go env GOPATH)/bin, which must be on your PATH",
}

// TestReadme types the commands of the README's console blocks in their order, in one
// shell with a fresh home, and checks the output that the README shows.
func TestReadme(t *testing.T) {
	t.Parallel()
	root, home := "../..", t.TempDir()
	clone := filepath.Join(home, "cassidy")
	if err := os.CopyFS(filepath.Join(clone, "examples"), os.DirFS(filepath.Join(root, "examples"))); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	typed := consoleCommands(string(readme))
	for _, want := range install {
		if len(typed) == 0 || typed[0].line != want {
			t.Fatalf("the README begins with %q, want %q", typed, want)
		}
		typed = typed[1:]
	}
	if len(typed) < 10 {
		t.Fatalf("the README has %d commands, want at least 10", len(typed))
	}

	const mark = "@@ next command"
	var script strings.Builder
	for _, c := range typed {
		fmt.Fprintf(&script, "%s\necho '%s'\n", c.line, mark)
	}
	shell := exec.Command("bash", "-e", "-c", script.String())
	shell.Dir = clone
	shell.Env = append(os.Environ(), "HOME="+home, "CASSIDY_HOME=", "CASSIDY_WORKER="+testworker.Exec(),
		"PATH="+binOf(t)+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var stderr strings.Builder
	shell.Stderr = &stderr
	stdout, err := shell.Output()
	outputs := strings.Split(string(stdout), mark+"\n")
	for i, c := range typed {
		if i == len(outputs)-1 {
			t.Fatalf("%s: %v\n%s%s", c.line, err, outputs[i], stderr.String())
		}
		if c.output != "" && outputs[i] != c.output {
			t.Errorf("%s prints\n%s\nthe README shows\n%s", c.line, outputs[i], c.output)
		}
	}
}

// A readmeCommand is a command, which may have several lines, and the output that
// follows it.
type readmeCommand struct{ line, output string }

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	hereDocument = regexp.MustCompile(`<<'(\w+)'`)
)

// consoleCommands returns the commands of the console blocks of a Markdown text.
func consoleCommands(markdown string) []readmeCommand {
	var commands []readmeCommand
	for _, block := range consoleBlock.FindAllStringSubmatch(markdown, -1) {
		var continues func(line string) bool // whether the next line belongs to the command
		for line := range strings.Lines(block[1]) {
			line = strings.TrimSuffix(line, "\n")
			command, begins := strings.CutPrefix(line, "$ ")
			switch {
			case continues != nil:
				last := &commands[len(commands)-1]
				last.line += "\n" + line
				if !continues(line) {
					continues = nil
				}
			case begins:
				commands = append(commands, readmeCommand{line: command})
				backslash := func(line string) bool { return strings.HasSuffix(line, `\`) }
				if here := hereDocument.FindStringSubmatch(command); here != nil {
					continues = func(line string) bool { return line != here[1] }
				} else if backslash(command) {
					continues = backslash
				}
			default:
				commands[len(commands)-1].output += line + "\n"
			}
		}
	}
	return commands
}
