// Package demo has the command that shows what cassidy does, in a scratch folder.
package demo

import (
	"context"
	"embed"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/scratch"
	"github.com/cassidy-run/cassidy/runtime/value"
)

//go:embed all:project
var project embed.FS

// Command returns cassidy demo.
func Command(a *app.App) *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "see in a minute what cassidy does: a tool, an approval, a crash, a resume and an undo",
		Description: "The demo works in a scratch folder, with a model that is a script: it needs no key and no network, and changes nothing of\n" +
			"yours. You approve the change that the model makes.",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "yes", Usage: "approve the change, and do not wait for Enter"},
			&cli.BoolFlag{Name: "keep", Usage: "work in ./cassidy-demo, which stays"},
		},
		Action: func(ctx *cli.Context) error {
			d := &demo{App: a, ctx: ctx.Context, yes: ctx.Bool("yes") || a.OpenTerminal(a.In, false) == nil}
			return d.run(ctx.Bool("keep"))
		},
	}
}

// A demo is one run of the command. Each step is a process of this program, as a user would start it.
type demo struct {
	*app.App
	ctx    context.Context
	yes    bool
	self   string // the program
	folder string // with project and home
}

const (
	runID   = "demo"
	written = "ORDER.md"
	kept    = "cassidy-demo" // in the working folder
	task    = "What runs out this week? Write the order, and have it confirmed."
)

func (d *demo) run(keep bool) (err error) {
	if d.self, err = os.Executable(); err != nil {
		return ui.FileError(err)
	}
	if keep {
		if d.folder, err = filepath.Abs(kept); err == nil {
			err = os.Mkdir(d.folder, 0o755)
		}
		if errors.Is(err, fs.ErrExist) {
			return value.Errorf(value.Invalid, "the folder %s already exists", kept).WithHint("remove it, or omit --keep")
		}
		defer func() {
			d.Note("the project of the demo is %s; to see its runs, in that folder: CASSIDY_HOME=%s cassidy runs list", d.in(""), d.home())
		}()
	} else if made, makeErr := scratch.Make("", "demo"); makeErr == nil {
		d.folder = made.Path
		defer func() { err = errors.Join(err, made.Close()) }()
	} else {
		err = makeErr
	}
	if err != nil {
		return ui.FileError(err)
	}
	if err := d.setUp(); err != nil {
		return err
	}
	for _, step := range []func() error{d.tool, d.crash, d.resume, d.undo} {
		if err := step(); err != nil {
			return err
		}
		if d.ctx.Err() != nil {
			return d.ctx.Err()
		}
	}
	d.say("Your own first tool", "In any folder of yours:\n\n    cassidy init\n    cassidy tool new slug\n    cassidy tool run slug input=\"Hello World\"\n\n"+
		"To ask a real model: cassidy secret set OPENAI_API_KEY, and then cassidy task \"…\".\nIn Claude Code, Cursor and others: cassidy mcp install CLIENT.")
	return nil
}

// in returns a path in the project of the demo.
func (d *demo) in(name string) string {
	return filepath.Join(d.folder, "project", filepath.FromSlash(name))
}

// home returns the user's own folder in the demo.
func (d *demo) home() string { return filepath.Join(d.folder, "home") }

// setUp makes the project.
func (d *demo) setUp() error {
	if err := os.Mkdir(d.in(""), 0o755); err != nil {
		return ui.FileError(err)
	}
	if err := d.quietly("init"); err != nil {
		return err
	}
	return fs.WalkDir(project, "project", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := project.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(d.folder, filepath.FromSlash(name)), text, 0o644)
		}
		return err
	})
}

// tool shows the file of a tool.
func (d *demo) tool() error {
	const file = ".cassidy/tools/low_stock.star"
	d.say("1. A tool is a file", "The signature and the docstring are what a model gets to know. The tool runs confined: it can read stock.csv,\nand nothing else.")
	d.typed("cat " + file)
	text, err := project.ReadFile("project/" + file)
	d.PrintData(string(text))
	return errors.Join(err, d.pause())
}

// crash starts the task, and kills its process after the change was written.
func (d *demo) crash() error {
	decides := "Before a file changes, you see how, and decide: type y, then Enter. Enter alone means no."
	if d.yes {
		decides = "Before a file changes, you would see how, and decide: here, --yes approves it."
	}
	d.say("2. A model calls it", "The model reads the table with the tool, and writes a file with another. "+decides)
	args := []string{"task", task, "--model", "script:model.star", "--run-id", runID}
	if d.yes {
		args = append(args, "--yes")
	}
	d.typed("cassidy " + d.shell(args))
	cmd := d.command(d.ctx, args...)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for { // until the file is there: then the task waits for the supplier, who answers after the kill
		select {
		case err := <-ended:
			if _, missing := os.Stat(d.in(written)); missing != nil || d.ctx.Err() != nil {
				return value.Errorf(value.Denied, "the change was not approved: the demo ends here").WithHint("run it again, and answer y: cassidy demo")
			}
			return value.Errorf(value.Failed, "the task ended before it could be killed: %v", err).WithHint("run it again: cassidy demo")
		case <-time.After(50 * time.Millisecond):
		}
		if _, err := os.Stat(d.in(written)); err == nil {
			break
		}
	}
	time.Sleep(time.Second) // so that the viewer sees that the task waits
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	<-ended
	d.say("3. The process dies", "It is killed while it waits for the supplier, as by a crash or a power cut.")
	d.typed("kill -9 " + strconv.Itoa(cmd.Process.Pid))
	return d.pause()
}

// resume continues the run.
func (d *demo) resume() error {
	if err := os.WriteFile(d.in("answer.txt"), []byte("yes\n"), 0o644); err != nil {
		return ui.FileError(err)
	}
	d.say("4. The run goes on", "Meanwhile the supplier has answered. Each step was recorded before the next began. What is done is not done again: neither the model nor you are asked twice.")
	if err := d.step("runs", "resume", runID); err != nil {
		return err
	}
	d.typed("cat " + written)
	text, err := os.ReadFile(d.in(written))
	d.PrintData(string(text))
	return errors.Join(err, d.pause())
}

// undo takes back what the run has changed.
func (d *demo) undo() error {
	d.say("5. And back", "A run knows what it has changed, and how it was before.")
	if err := d.step("runs", "show", runID); err != nil {
		return err
	}
	if err := d.step("runs", "undo", runID); err != nil || filepath.Base(d.folder) == kept {
		return err
	}
	d.Print("\nThe demo now deletes its folder, with its runs. To try these commands yourself: cassidy demo --keep\n")
	return nil
}

// step shows a command and runs it.
func (d *demo) step(args ...string) error {
	d.typed("cassidy " + d.shell(args))
	return d.command(d.ctx, args...).Run()
}

// quietly runs a command that is not shown.
func (d *demo) quietly(args ...string) error {
	cmd := d.command(d.ctx, append([]string{"--quiet"}, args...)...)
	cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
	return cmd.Run()
}

// command returns a process of this program in the project of the demo.
func (d *demo) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.self, args...)
	cmd.Dir = d.in("")
	cmd.Env = append(os.Environ(), "CASSIDY_HOME="+d.home())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = d.In, d.Out, ui.Unwrapped(d.Err)
	return cmd
}

// shell returns arguments as they are typed.
func (d *demo) shell(args []string) string {
	return strings.Join(ui.Map(args, func(arg string) string {
		if strings.Contains(arg, " ") {
			return `"` + arg + `"`
		}
		return arg
	}), " ")
}

// say explains the next step.
func (d *demo) say(title, text string) {
	p := draw.Page{Screen: d.ScreenOf(d.Out)}
	p.Title(title)
	if p.Width > 0 {
		p.Text("", text)
	} else {
		p.Line(text)
	}
	p.Line("")
	d.Print(p.String())
}

// typed shows a command line.
func (d *demo) typed(line string) { d.Print(d.ScreenOf(d.Out).Paint(draw.Bold, "$ "+line) + "\n") }

// pause waits for Enter.
func (d *demo) pause() error {
	if d.yes {
		return nil
	}
	term := d.Terminal(d.In)
	term.Print("\n[Enter to continue] ")
	_, err := term.ReadLine(d.ctx)
	if errors.Is(err, io.EOF) {
		return context.Canceled
	}
	return err
}
