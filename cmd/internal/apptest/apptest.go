// Package apptest runs the command in tests. The TestMain of a package that uses it must
// call testworker.Main.
package apptest

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
)

// A Project is a folder and the home of its user, for tests of some commands.
type Project struct {
	testing.TB
	Dir, Home string
	Commands  []func(*app.App) *cli.Command
}

// NewProject creates a project and marks it as trusted. The names of files are relative to
// .cassidy. The commands must include cassidy trust.
func NewProject(t testing.TB, commands []func(*app.App) *cli.Command, files map[string]string) *Project {
	t.Helper()
	p := &Project{TB: t, Dir: t.TempDir(), Home: t.TempDir(), Commands: commands}
	for name, text := range files {
		p.Write(".cassidy/"+name, text)
	}
	if _, stderr, code := p.Run("trust", "--yes"); code != 0 {
		t.Fatalf("cassidy trust --yes: %d\n%s", code, stderr)
	}
	return p
}

// Write writes a file in the folder.
func (p *Project) Write(name, text string) {
	p.Helper()
	file := filepath.Join(p.Dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

// Run runs cassidy in the project.
func (p *Project) Run(args ...string) (stdout, stderr string, code int) {
	p.Helper()
	return Run(p, p.Dir, map[string]string{"CASSIDY_HOME": p.Home}, p.Commands, args...)
}

// Want runs cassidy, and checks its exit code and parts of its outputs.
func (p *Project) Want(args []string, wantCode int, wantOut, wantErr string) {
	p.Helper()
	stdout, stderr, code := p.Run(args...)
	if code != wantCode || !strings.Contains(stdout, wantOut) || !strings.Contains(stderr, wantErr) {
		p.Errorf("cassidy %s ended with %d\n%s%s\nwant %d, %q and %q", strings.Join(args, " "), code, stdout, stderr, wantCode, wantOut, wantErr)
	}
}

// Sandbox is where scripts run in tests of what commands do and print: in workers under make soak,
// and otherwise in this process, because a worker costs more than most commands.
func Sandbox() cassidy.Mode {
	if testutil.Soak() {
		return cassidy.Process
	}
	return cassidy.Inline
}

// Run runs cassidy with some commands, in a folder and with an environment.
func Run(t testing.TB, dir string, env map[string]string, commands []func(*app.App) *cli.Command, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = app.Run(context.Background(), append([]string{"--dir", dir}, args...), &app.World{
		In: strings.NewReader(""), Out: &out, Err: &errs, Sandbox: Sandbox(),
		Env: func(name string) (string, bool) {
			if name == "CASSIDY_WORKER" {
				return testworker.Exec(), true
			}
			v, ok := env[name]
			return v, ok
		},
	}, commands...)
	return out.String(), errs.String(), code
}
