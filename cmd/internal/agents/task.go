package agents

import (
	"cmp"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A command is one run of cassidy task.
type command struct{ *app.App }

// TaskCommand returns cassidy task.
func TaskCommand(a *app.App) *cli.Command {
	c := &command{a}
	return &cli.Command{
		Name: "task", Usage: "have a model work on a task with tools", ArgsUsage: `"TASK"`,
		UsageText: `cassidy task [command options] "TASK"|-`,
		Description: "The model calls tools until the task is done. With -, the task is read from standard input.\n" +
			"The answer goes to standard output. Messages go to standard error.\n" +
			"A tool that can run commands or send data asks for approval before it runs. A tool that can only write files asks before its changes are written. To answer yes to all: --yes. To answer no to all: --deny.\n" +
			"If approval or an answer is needed, but there is no terminal, the run is parked. It waits until you answer with\n" +
			"cassidy runs answer ID.\n" +
			"With --detach, the run is recorded, and cassidy worker or cassidy serve executes it.\n" +
			"With --json, each line on standard output is an event. The last line is the event run_end, which has the result.",
		Flags: append(Flags("auto", "task", "minimal", app.ModelTimeout),
			&cli.StringSliceFlag{Name: "attach", Usage: "send `FILE` with the task: an image (PNG, JPEG, GIF, WebP), a PDF or a text file; or the https:// address of an image or a PDF"},
			&cli.StringFlag{Name: "schema", Usage: "have the model answer with a JSON value that matches the JSON Schema in `FILE`"},
			&cli.BoolFlag{Name: "dry-run", Usage: "check the task, the tools, the model and the policy, but call no model and no tool"},
			app.DetachFlag()),
		Action: c.Recording(c.Parking(c.runTask)),
	}
}

func (c *command) runTask(ctx *cli.Context, h *host.Host) error {
	task := strings.TrimSpace(ctx.Args().First())
	if task == "-" {
		text, err := ui.ReadAll(c.In)
		if err != nil {
			return value.Errorf(value.Invalid, "read the task: %w", err)
		}
		task, c.Person.InputRead = strings.TrimSpace(string(text)), true
	}
	if task == "" {
		return value.Errorf(value.Invalid, "Task cannot be empty").WithHint(`cassidy task "what to do"`)
	}
	if !utf8.ValidString(task) {
		return value.Errorf(value.Invalid, "the task is not UTF-8 text").WithHint("write the data to a file, and name the file in the task")
	}
	setup, err := ReadFlags(c.App, ctx, h, []string{"auto"}, "task")
	if err != nil {
		return err
	}
	setup.Options.NoParking = ctx.Bool("deny")
	if setup.Options.Schema, err = readSchema(ctx.String("schema")); err != nil {
		return err
	}
	a, err := New(c.App, h, setup)
	if err != nil {
		return err
	}
	if ctx.Bool("dry-run") {
		if err := a.Check(ctx.Context); err != nil {
			return err
		}
		return c.printDryRun(a, setup, task)
	}
	s, err := NewSession(ctx.Context, a, setup.RunID)
	if err != nil {
		return err
	}
	if err := ContinueThread(ctx, s); err != nil {
		return err
	}
	MarkContext(c.App, s, setup)
	text, err := WithSkills(s, setup.Skills, task)
	if err != nil {
		return err
	}
	if text, err = Attach(ctx.Context, c.App, s, ctx.StringSlice("attach"), text); err != nil {
		return err
	}
	WarnOverhead(c.App, s)
	if app.Detaches(ctx) {
		return c.Detached(s.Begin(ctx.Context, text))
	}
	stop := calls.ShowRun(c.App, h, s.NextRun(), calls.RunLines(c.App, s.NextRun()))
	r, err := s.Send(ctx.Context, text)
	stop() // all events are shown before the end
	ShowThread(c.App, r.Thread)
	return Ended(ctx.Context, c.App, &r, err)
}

// readSchema reads the JSON Schema of --schema, or returns nil for "".
func readSchema(file string) (*value.Dict, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the schema %s: %w", file, ui.FileError(err))
	}
	v, err := value.ParseJSON(text)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the schema %s: %w", file, err).WithHint("write a JSON Schema, such as {\"type\": \"object\", \"properties\": {…}}")
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "read the schema %s: expected an object but got %s", file, value.TypeOf(v)).WithHint("write a JSON Schema, such as {\"type\": \"object\", \"properties\": {…}}")
	}
	if err := jsonschema.CheckTypes(d); err != nil {
		e := value.ErrorOf(err, value.Invalid)
		return nil, e.WithOp("read the schema " + file)
	}
	return d, nil
}

// printDryRun prints what a run would use.
func (c *command) printDryRun(a *agent.Agent, s *Setup, task string) error {
	names := ui.Map(a.Tools(), func(t tool.Tool) string { return t.Name })
	overhead, limit := a.Budget()
	for _, warning := range s.Warnings {
		c.Warn("dry run: %s", warning)
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("dry_run", true, "validated", true, "task", task, "tools", ui.Texts(names), "working_dir", s.Options.WorkDir,
			"model", s.Options.Model.Name(), "policy", a.Policy().Name, "format", string(a.Format()),
			"tool_overhead", int64(overhead), "effective_limit", int64(limit), "warnings", ui.Texts(s.Warnings)))
	}
	var b strings.Builder
	line := func(name, value string) { b.WriteString(draw.Pad(name+":", 12, false) + ui.VisibleLine(value) + "\n") }
	line("task", task)
	line("tools", cmp.Or(ui.Join(names), "none"))
	line("folder", s.Options.WorkDir)
	line("model", s.Options.Model.Name())
	line("policy", a.Policy().Name)
	line("format", string(a.Format()))
	b.WriteString(draw.Pad("overhead:", 12, false) + a.OverheadReport().String() + "\n")
	c.Print(b.String())
	if len(s.Warnings) > 0 {
		c.Note("dry run: all other checks passed, nothing was called")
		return nil
	}
	c.Note("dry run: all checks passed, nothing was called")
	return nil
}
