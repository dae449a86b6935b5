package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/command"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// TestChatContinues continues sessions by their IDs, and the last one of a
// folder, each time in another process.
func TestChatContinues(t *testing.T) {
	t.Parallel()
	home, dirs := t.TempDir(), [2]string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		const source = "def reply(messages, turn):\n    return '%d: %s' % (turn + 1, messages[-1]['content'])\n"
		if err := os.WriteFile(filepath.Join(dir, "m.star"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		dir    int
		args   string
		code   int
		stdout string
		stderr string
	}{
		{0, "chat one --continue", 4, "", "there is no recorded session in"},
		{0, "chat one --model script:m.star", 0, "1: one\n", ""},
		{1, "chat one --model script:m.star --session ann@example.com", 0, "1: one\n", ""},
		{0, "chat two --continue", 0, "2: two\n", ""},
		{1, "chat two --session ann@example.com", 0, "2: two\n", ""},
		{0, "chat three --session ann@example.com", 0, "3: three\n", ""},
		{1, "chat new --session ben --model script:m.star", 0, "1: new\n", ""},
		{1, "chat newer --continue", 0, "2: newer\n", ""},
		{1, "chat x --run-id ben --model script:m.star", 1, "", "run 'ben' already exists"},
		{1, "chat x --continue --session ben", 2, "", "mutually exclusive"},
		{1, "chat x --session ben --run-id y", 2, "", "mutually exclusive"},
	} {
		var out, errs bytes.Buffer
		code := command.Main(context.Background(), append([]string{"--dir", dirs[tt.dir]}, strings.Fields(tt.args)...), &app.World{
			In: strings.NewReader(""), Out: &out, Err: &errs, Env: func(name string) (string, bool) {
				value, ok := map[string]string{"CASSIDY_HOME": home, "CASSIDY_WORKER": testworker.Exec()}[name]
				return value, ok
			},
		})
		if tt.code == 0 && code != 0 || tt.code != 0 && code == 0 || out.String() != tt.stdout || !strings.Contains(errs.String(), tt.stderr) {
			t.Errorf("%s: %d, %q, %q, want %q and %q", tt.args, code, out.String(), errs.String(), tt.stdout, tt.stderr)
		}
	}
}
