package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/internal/testutil"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/runtime/agent"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A bakery is a copy of the example workflow, with the command of its README.
type bakery struct {
	t   *testing.T
	dir string
	env []string
}

func newBakery(t *testing.T) *bakery {
	t.Helper()
	bin := t.TempDir()
	program := filepath.Join(bin, "cassidy")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if err := testworker.Copy(program, testutil.Build(t, "cmd/cassidy")); err != nil {
		t.Fatal(err)
	}
	b := &bakery{t: t, dir: t.TempDir()}
	if err := os.CopyFS(b.dir, os.DirFS("workflow")); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{"drafts", "out", "ledger.csv"} { // somebody tried it
		if err := os.RemoveAll(filepath.Join(b.dir, made)); err != nil {
			t.Fatal(err)
		}
	}
	b.env = append(os.Environ(), "CASSIDY_HOME="+t.TempDir(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	return b
}

// shell runs a line in a shell, without a terminal.
func (b *bakery) shell(line string) (stdout, stderr string, code int) {
	b.t.Helper()
	cmd := exec.Command("sh", "-c", line)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = b.dir, b.env, &out, &errs
	var failed *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &failed) {
		b.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// killed runs a line until its process prints something, and then kills it.
func (b *bakery) killed(line, when string) {
	b.t.Helper()
	cmd := exec.Command("sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env = b.dir, b.env
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.t.Fatal(err)
	}
	said := ""
	for lines := bufio.NewScanner(stderr); !strings.Contains(said, when) && lines.Scan(); {
		said += lines.Text() + "\n"
	}
	if err := cmd.Process.Kill(); err != nil {
		b.t.Errorf("%v; it said:\n%s", err, said)
	}
	_ = cmd.Wait()
	if !strings.Contains(said, when) {
		b.t.Fatalf("%s never said %q:\n%s", line, when, said)
	}
}

// files returns what the workflow has written.
func (b *bakery) files() []string {
	b.t.Helper()
	var all []string
	for _, pattern := range []string{"ledger.csv", "drafts/*/*", "out/*/*"} {
		found, err := filepath.Glob(filepath.Join(b.dir, filepath.FromSlash(pattern)))
		if err != nil {
			b.t.Fatal(err)
		}
		for _, file := range found {
			rel, _ := filepath.Rel(b.dir, file)
			all = append(all, filepath.ToSlash(rel))
		}
	}
	return all
}

// typed returns the command lines of a README.
func typed(t *testing.T, file string) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, block := range strings.Split(string(text), "```") {
		if code, found := strings.CutPrefix(block, "sh\n"); found && i%2 == 1 {
			lines = append(lines, strings.Split(strings.TrimSuffix(code, "\n"), "\n")...)
		}
	}
	return lines
}

const (
	firstLines = "number,month,customer,cents\n1,2026-04,\"Fischer, Sons & Co.\",1900\n"
	ledger     = firstLines + "2,2026-04,Harbour Café,15360\n3,2026-04,Lindens Hotel,32400\n4,2026-04,Old Mill School,28700\n"
	sent       = `{
  "month": "2026-04",
  "total": "783.60",
  "sent": [
    "out/2026-04/1-fischer-sons-co.txt",
    "out/2026-04/2-harbour-cafe.txt",
    "out/2026-04/3-lindens-hotel.txt",
    "out/2026-04/4-old-mill-school.txt"
  ]
}
`
)

// TestWorkflow runs the commands of the workflow's README without waiting: the process
// is killed as soon as the first customer is billed.
func TestWorkflow(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the README is for a POSIX shell")
	}
	b := newBakery(t)
	steps := []struct {
		line   string
		code   int
		stdout string // what it prints, or a part of it
		stderr string // a part
		files  int
	}{
		{"cassidy trust", 0, "workflows/bill.star            workflow: code that calls tools", "", 0},
		{"cassidy run", 0, "bill month=… [pause=…]  Bill the orders of a month", "", 0},
		{"cassidy run bill month=2026-04 pause=3 --yes --run-id april --model script:model.star &", 0, "", "1  Fischer, Sons & Co.  19.00", 1},
		{"sleep 4; kill -9 $!", 0, "", "", 1},
		{"cat ledger.csv", 0, firstLines, "", 1},
		{"cassidy runs list", 0, "april  run  running", "", 1},
		{"cassidy runs show april", 0, " book month=2026-04 customer=\"Fischer, Sons & Co.\" cents=1900", "", 1},
		{"cassidy runs resume april --yes < /dev/null", 6, "", "waits for an answer: Send 4 invoices over 783.60 euros?", 5},
		{"cassidy runs answer april yes", 0, "answered yes: Send 4 invoices", "", 5},
		{"cassidy runs resume april --yes", 0, sent, "", 5},
		{"cassidy runs replay april", 0, "The replay is exact", "", 5},
		{"cassidy runs undo april", 0, "removed ledger.csv", "", 0},
	}
	var lines []string
	for _, s := range steps {
		lines = append(lines, s.line)
	}
	if diff := cmp.Diff(typed(t, "workflow/README.md"), lines); diff != "" {
		t.Fatalf("the README has other lines (-README +test):\n%s", diff)
	}
	for _, s := range steps {
		began, inBackground := strings.CutSuffix(s.line, " &")
		switch {
		case inBackground:
			b.killed(strings.Replace(began, "pause=3", "pause=0.5", 1), s.stderr)
		case strings.HasPrefix(s.line, "sleep "):
		case s.line == "cassidy trust":
			s.line += " --yes" // a person answers it
			fallthrough
		default:
			stdout, stderr, code := b.shell(s.line)
			if code != s.code || !strings.Contains(stdout, s.stdout) || !strings.Contains(stderr, s.stderr) {
				t.Fatalf("%s ended with %d\n%s%s\nwant %d, %q and %q", s.line, code, stdout, stderr, s.code, s.stdout, s.stderr)
			}
		}
		files := b.files()
		if len(files) != s.files {
			t.Fatalf("after %s there are %q, want %d files", s.line, files, s.files)
		}
		if s.files > 1 {
			text, err := os.ReadFile(filepath.Join(b.dir, "ledger.csv"))
			if diff := cmp.Diff(ledger, string(text)); diff != "" || err != nil {
				t.Fatalf("after %s the ledger (-want +got):\n%s", s.line, diff)
			}
		}
	}
}

// TestWorkflowDeclares checks the tools of the workflow as its callers see them.
func TestWorkflowDeclares(t *testing.T) {
	t.Parallel()
	noModel := func(context.Context) (model.Model, error) {
		return nil, value.Errorf(value.Unavailable, "nobody is asked here")
	}
	h, err := testhost.Open(t, testhost.On{}, "workflow", &cassidy.Options{TrustSource: true, Modules: []tool.Module{agent.ModelModule(noModel)}})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for _, e := range h.Broken() {
		t.Errorf("broken: %v", e)
	}
	names := []string{}
	for _, x := range projectTools(h) {
		if x.Name == "bill" { // which is one too
			continue
		}
		names = append(names, x.Name)
		if x.State != toolset.Ready || len(x.Warnings) > 0 || x.Group != "billing" || x.Returns == nil {
			t.Errorf("%s: state %s %s, warnings %q, group %s, returns %v", x.Name, x.State, x.Reason, x.Warnings, x.Group, x.Returns)
		}
		for _, p := range x.Params {
			if p.Description == "" || p.Type.Name == "" || p.Type.Name == tool.TypeAny {
				t.Errorf("%s: parameter %s has type %q and description %q", x.Name, p.Name, p.Type, p.Description)
			}
		}
	}
	if diff := cmp.Diff([]string{"book", "open_month", "orders_of", "send_out", "write_invoice"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}
