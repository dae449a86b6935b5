package eval

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/scratch"
	"github.com/cassidy-run/cassidy/runtime/agent/eval"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Benches open the folders of cases, and hosts over them, which share a runtime that records no
// runs.
type benches struct {
	*command
	runtime  *cassidy.Runtime
	close    func()
	dir      string // of the eval file, for folders that tasks name
	approver host.Approver
	commands []string // those of checks that a person has approved
	bare     bool     // without the project's and the user's tools and settings
}

// newBenches opens the runtime.
func (c *command) newBenches(ctx *cli.Context, dir string) (*benches, error) {
	if ctx.Bool("yes") && ctx.Bool("deny") {
		return nil, value.Errorf(value.Invalid, "--yes and --deny are mutually exclusive").WithHint("use only one of --yes and --deny")
	}
	b := &benches{command: c, dir: dir, approver: host.DenyAll("in an eval, nobody is asked for approval: --yes approves everything")}
	if ctx.Bool("yes") {
		b.approver = host.ApproveAll()
	}
	r, closeRuntime, err := c.NewRuntime()
	b.runtime, b.close = r, func() { _ = closeRuntime() } // nothing is recorded
	return b, err
}

// approve asks whether the commands of checks may run: an eval file may be somebody else's.
func (b *benches) approve(ctx *cli.Context, lines []string) error {
	const skip = "to run only cases whose checks run no commands, select their tasks with --filter"
	switch {
	case len(lines) == 0:
		return nil
	case ctx.Bool("deny"):
		return value.Errorf(value.Denied, "the checks run %s, which --deny refuses", ui.Count(len(lines), "command")).WithHint("omit --deny; " + skip)
	case !ctx.Bool("yes") && !ctx.Bool("allow-commands"):
		answer, err := b.Person.Ask(ctx.Context, tool.Question{Kind: tool.QuestionConfirm, Tool: "eval", Text: commandsText(lines)})
		switch {
		case err != nil && ctx.Context.Err() != nil:
			return err
		case err != nil:
			return value.Errorf(value.Denied, "the checks run %s, which nobody has approved: %s", ui.Count(len(lines), "command"), strings.Join(lines, "; ")).WithHint("read the commands, then approve them with --allow-commands")
		case !answer.Yes:
			return value.Errorf(value.Denied, "you refused the commands of the checks").WithHint(skip)
		}
	}
	b.commands = lines
	return nil
}

func commandsText(lines []string) string {
	return "Run these commands after the cases? They run confined: in the temporary folder of a case, without network.\n  " + strings.Join(lines, "\n  ")
}

// open makes the folder of a case, and opens a host over it.
func (b *benches) open(_ context.Context, c *eval.Case) (bench *eval.Bench, err error) {
	temp, err := scratch.Make("", "eval")
	if err != nil {
		return nil, value.Errorf(value.Failed, "create a temporary folder: %w", ui.FileError(err))
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, temp.Close())
		}
	}()
	dir := filepath.Join(temp.Path, "project") // a host locks its project itself
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, value.Errorf(value.Failed, "create a temporary folder: %w", ui.FileError(err))
	}
	if err := b.fill(dir, c.Task); err != nil {
		return nil, err
	}
	files, err := os.OpenRoot(dir)
	if err != nil {
		return nil, value.Errorf(value.Failed, "open the temporary folder: %w", ui.FileError(err))
	}
	h, err := b.host(dir)
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	end := func() error { return errors.Join(h.Close(), files.Close(), temp.Close()) }
	bench = &eval.Bench{Host: h, Files: files.FS(), Close: end}
	if b.commands != nil {
		bench.Command = func(ctx context.Context, line string) (eval.Ran, error) {
			return b.command.check(ctx, h, b.commands, line)
		}
	}
	return bench, nil
}

// host opens a host over the folder of a case, with the tools of the project and of the user. The
// tools may change the files of the folder.
func (b *benches) host(dir string) (*host.Host, error) {
	if b.bare {
		return b.runtime.Open(cassidy.Dir(dir), &cassidy.Options{Dir: dir, Cache: b.Cache()})
	}
	return b.OpenIn(b.runtime, &cassidy.Options{
		Dir: dir, Approver: b.approver,
		Rules: []tool.Rule{{Verdict: tool.Allow, Capability: tool.Capability{Name: "fs.write"}, Source: "cassidy eval"}},
	})
}

// fill writes the files of a task to a folder.
func (b *benches) fill(dir string, t *eval.Task) error {
	if t.Folder != "" {
		if err := b.copy(dir, t.Folder); err != nil {
			return value.Errorf(value.Invalid, "copy the folder %s of the task %s: %w", t.Folder, t.Name, ui.FileError(err)).
				WithHint("the folder is relative to the eval file; links must not lead out of the folder of the eval file")
		}
	}
	for name, text := range t.Files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			return value.Errorf(value.Failed, "write the files of the task %s: %w", t.Name, ui.FileError(err))
		}
	}
	return nil
}

// copy copies a folder beside the eval file. What is outside of the eval file's folder cannot be
// reached, also by links: a file that somebody else wrote must not send other files to a model.
func (b *benches) copy(dir, from string) error {
	root, err := os.OpenRoot(b.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	source := root.FS()
	return fs.WalkDir(source, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(filepath.FromSlash(from), filepath.FromSlash(name))
		if err != nil {
			return err
		}
		to := filepath.Join(dir, below)
		if d.IsDir() {
			return os.MkdirAll(to, 0o700)
		}
		text, err := fs.ReadFile(source, name) // of a link: the file that it leads to
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o600|executable(d))
	})
}

// executable returns the bits of a file that make it executable.
func executable(d fs.DirEntry) fs.FileMode {
	info, err := d.Info()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Mode() & 0o100
}

// commandTime is the timeout of the command of a check, in seconds.
const commandTime = 300

// check runs the command line of a check on the host of a case: as any command of a tool, confined,
// and by the user's rules for commands.
func (c *command) check(ctx context.Context, h *host.Host, approved []string, line string) (ran eval.Ran, err error) {
	if !slices.Contains(approved, line) {
		return ran, value.Errorf(value.Denied, "the command was not approved")
	}
	ctx, cancel := context.WithTimeout(ctx, (commandTime+10)*time.Second)
	defer cancel()
	done, err := h.RunProgram(ctx, &host.Program{
		Name: "check", Entry: "main", Builtin: true,
		Script: tool.Script{Name: "check", Path: "check.star", Source: checkScript},
		Args:   value.NewDict("line", line, "timeout", int64(commandTime)),
		Needs:  []tool.Capability{{Name: "shell"}, {Name: "fs.read"}, {Name: "fs.write"}},
	})
	if err != nil {
		return ran, err
	}
	d, _ := done.Value.(*value.Dict)
	code, _ := d.Get("exit_code")
	n, _ := code.(int64)
	return eval.Ran{ExitCode: int(n), Stdout: d.Text("stdout"), Stderr: d.Text("stderr")}, nil
}

// checkScript runs the command line of a check.
const checkScript = `def main(line, timeout):
    return shell.run(["sh", "-c", line], timeout = timeout)
`
