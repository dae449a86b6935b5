package eval_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	command "github.com/cassidy-run/cassidy/cmd/internal/eval"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/agent/eval"
	"github.com/cassidy-run/cassidy/sandbox/launch"
	"github.com/cassidy-run/cassidy/stdlib"
)

func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }

var update = flag.Bool("update", false, "record the report of examples/evals")

// examples is the folder of the example.
var examples = filepath.Join("..", "..", "..", "examples", "evals")

// cassidy runs the command in a folder, with an empty home.
func cassidy(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return apptest.Run(t, dir, map[string]string{"CASSIDY_HOME": t.TempDir()}, []func(*app.App) *cli.Command{command.Command}, args...)
}

// TestRecordedReport compares the report of the example with the recorded one. Cases must pass and
// fail as they did. If only a prompt, the tools or the tokens differ, the test passes and logs it:
// record the report again with -update.
func TestRecordedReport(t *testing.T) {
	if !launch.Confined() {
		t.Skip("a check of the example runs a command, which this machine cannot confine")
	}
	out := filepath.Join(t.TempDir(), "report.json")
	stdout, stderr, code := cassidy(t, examples, "eval", "evals.yaml", "--allow-commands", "--parallel", "2", "--out", out)
	if code != 1 { // some cases of the model with habits fail
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	recorded := filepath.Join(examples, "result.json")
	if *update {
		record(t, out, recorded)
	}
	old, now := report(t, recorded), report(t, out)
	if !now.Complete || now.Cases != old.Cases {
		t.Errorf("%d cases, complete %v, want %d", now.Cases, now.Complete, old.Cases)
	}
	for i, r := range now.Results {
		if was := old.Results[i]; r.Name() != was.Name() || r.Success != was.Success || r.Why != was.Why || r.Iterations != was.Iterations || len(r.Calls) != len(was.Calls) {
			t.Errorf("%s: success %v (%s), %d iterations, %d calls\nrecorded %s: success %v (%s), %d iterations, %d calls",
				r.Name(), r.Success, r.Why, r.Iterations, len(r.Calls), was.Name(), was.Success, was.Why, was.Iterations, len(was.Calls))
		}
	}
	for _, c := range eval.Diff(old, now) {
		if c.Changed() {
			t.Logf("%s differs from the recorded report: prompt %v, tools %v, policy %v, tokens %.0f → %.0f", c.Name, c.Prompt, c.Tools, c.Policy, c.Old.Tokens, c.New.Tokens)
		}
	}
}

func report(t *testing.T, file string) *eval.Report {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := eval.ReadReport(text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return r
}

// record records a report.
func record(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// answers is a model that answers immediately.
const answers = "def reply(messages, turn):\n    return \"TASK COMPLETE: done\"\n"

// folder makes a folder with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestCommandsAreConfined checks what the command of a check can reach: the folder of its case, and
// neither other files of the user nor the network.
func TestCommandsAreConfined(t *testing.T) {
	if !launch.Confined() {
		t.Skip("this machine cannot confine commands")
	}
	outside := filepath.Join(t.TempDir(), "secret.txt")
	if err := os.WriteFile(outside, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := folder(t, map[string]string{"m.star": answers, "e.yaml": `
models: [script:m.star]
tasks:
- {name: inside, task: x, files: {sub/a.txt: text}, checks: [command: 'grep -q text sub/a.txt && echo b > sub/b.txt && echo c > "$TMPDIR/c"']}
- {name: read, task: x, checks: [command: 'cat ` + outside + `']}
- {name: write, task: x, checks: [command: 'echo x > ` + outside + `']}
- {name: code, task: x, checks: [command: {run: exit 3, exit_code: 3}]}
`})
	stdout, stderr, code := cassidy(t, dir, "eval", "e.yaml", "--allow-commands", "--out", filepath.Join(dir, "r.json"))
	for _, r := range report(t, filepath.Join(dir, "r.json")).Results {
		if want := r.Task == "inside" || r.Task == "code"; r.Success != want {
			t.Errorf("%s: success %v: %s", r.Task, r.Success, r.Why)
		}
	}
	if text, _ := os.ReadFile(outside); code != 1 || string(text) != "secret" || strings.Contains(stdout+stderr, "secret\\n") {
		t.Errorf("exit code %d, the file outside is %q\n%s%s", code, text, stdout, stderr)
	}
}

// TestFoldersStayInside checks that an eval file cannot copy files from outside of its folder.
func TestFoldersStayInside(t *testing.T) {
	outside := folder(t, map[string]string{"secret.txt": "secret"})
	dir := folder(t, map[string]string{"m.star": answers, "data/a.txt": "a", "data/sub/b.txt": "b", "e.yaml": `
models: [script:m.star]
tasks:
- {name: good, task: x, folder: data, checks: [{file: a.txt}, {file: sub/b.txt}]}
- {name: linked, task: x, folder: link}
- {name: link inside, task: x, folder: links}
`})
	for link, to := range map[string]string{"link": outside, "links/x.txt": filepath.Join(outside, "secret.txt")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755), os.Symlink(to, filepath.Join(dir, link))); err != nil {
			t.Skip(err)
		}
	}
	stdout, stderr, _ := cassidy(t, dir, "eval", "e.yaml", "--out", filepath.Join(dir, "r.json"))
	for _, r := range report(t, filepath.Join(dir, "r.json")).Results {
		if want := r.Task == "good"; r.Success != want || !want && !strings.Contains(r.Why, "copy the folder") {
			t.Errorf("%s: success %v: %s\n%s%s", r.Task, r.Success, r.Why, stdout, stderr)
		}
	}
}

// A canceller is a standard error that cancels a command when a text is written to it.
type canceller struct {
	bytes.Buffer
	text   string
	cancel context.CancelFunc
}

func (c *canceller) Write(p []byte) (int, error) {
	if strings.Contains(string(p), c.text) {
		c.cancel()
	}
	return c.Buffer.Write(p)
}

// WriteString hides that of the buffer.
func (c *canceller) WriteString(text string) (int, error) { return c.Write([]byte(text)) }

// TestInterrupted checks that after Ctrl-C the report has the cases that had ended.
func TestInterrupted(t *testing.T) {
	dir := folder(t, map[string]string{"m.star": answers, "e.yaml": "models: [script:m.star]\ntasks:\n- {name: a, task: x}\n- {name: b, task: x}\n- {name: c, task: x}\n"})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var out bytes.Buffer
	home := t.TempDir()
	errs := &canceller{text: "2/3", cancel: cancel}
	code := app.Run(ctx, []string{"--dir", dir, "--json", "eval", "e.yaml", "--out", filepath.Join(dir, "r.json")}, &app.World{
		In: strings.NewReader(""), Out: &out, Err: errs, Env: func(name string) (string, bool) {
			v, ok := map[string]string{"CASSIDY_HOME": home, "CASSIDY_WORKER": testworker.Exec()}[name]
			return v, ok
		},
	}, command.Command)
	r := report(t, filepath.Join(dir, "r.json"))
	if code != 130 || r.Complete || r.Cases != 3 || len(r.Results) != 2 || !strings.Contains(errs.String(), "interrupted: 2 of 3 cases have ended") {
		t.Errorf("exit code %d, report = %+v\n%s", code, r, errs.String())
	}
	if printed, err := eval.ReadReport(out.Bytes()); err != nil || printed.Complete || len(printed.Results) != 2 {
		t.Errorf("--json printed %s, %v", out.String(), err)
	}
}

// TestNothingIsLeft checks that the temporary folders are removed, and that the runs are not among
// those of the user.
func TestNothingIsLeft(t *testing.T) {
	temp, home := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	dir := folder(t, map[string]string{"m.star": answers, "e.yaml": "models: [script:m.star]\ntasks:\n- {name: a, task: x}\n- {name: b, task: x, checks: [answer: no]}\n"})
	_, stderr, code := apptest.Run(t, dir, map[string]string{"CASSIDY_HOME": home}, []func(*app.App) *cli.Command{command.Command}, "eval", "e.yaml")
	if code != 1 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for _, of := range []string{temp, home} {
		_ = filepath.WalkDir(of, func(name string, d fs.DirEntry, err error) error {
			if strings.Contains(name, "cassidy-eval-") || strings.Contains(name, "runs") {
				t.Errorf("%s is left", name)
			}
			return err
		})
	}
}
