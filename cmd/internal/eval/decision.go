package eval

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/calls"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/toolfile"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A decisionCommand is one run of a command of cassidy decision.
type decisionCommand struct{ *app.App }

// DecisionCommand returns cassidy decision.
func DecisionCommand(a *app.App) *cli.Command {
	c := &decisionCommand{a}
	return &cli.Command{
		Name: "decision", Usage: "read the tool calls or the final answer in a model's reply",
		Subcommands: []*cli.Command{{
			Name: "parse", Usage: "print the decision in a model's reply: the tool calls or the final answer", ArgsUsage: "[FILE]",
			Description: "The reply is read from FILE or standard input. The decision is printed as a JSON object with these fields:\n" +
				"  kind       call, final (the answer), none (neither a call nor an answer) or error (an invalid call)\n" +
				"  action     the name of the tool\n" +
				"  input      the arguments of the call\n" +
				"  reasoning  the model's explanation of the call\n" +
				"  status     final if the model marks this call as its last call, else continue\n" +
				"  format     the format of the call, such as pure_json\n" +
				"  answer     the final answer, or the text of a reply without a call\n" +
				"  error      the error in an invalid call\n" +
				"  inferred   true if the model announces the call in plain text, but does not write it\n" +
				"  repaired   the repairs that were needed to read the call\n" +
				"If the reply has several calls, the fields describe the first call. The field \"calls\" lists all calls.\n" +
				"With --json, the output is always JSON. Otherwise, the output is text if standard output is a terminal, or with --explain.\n" +
				"The exit code is 0 for every kind of decision, even for error. It is 2 if FILE or a flag is invalid.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "tools", Usage: "check calls against the tool definitions in `FILE`. FILE is in the format of OpenAI, Anthropic or MCP, or is the output of cassidy tool list --json", DefaultText: "the tools of this folder"},
				&cli.StringFlag{Name: "format", Usage: "try `FORMAT` first, then all other formats except code; FORMAT is pure_json, xml_json, markdown, native, code, or auto, which prefers no format", Value: "auto"},
				&cli.BoolFlag{Name: "no-inference", Usage: "ignore tool calls that the model only announces in plain text"},
				&cli.BoolFlag{Name: "explain", Usage: "explain as text how the reply was read and repaired"},
			},
			Action: c.parseDecision,
		}},
	}
}

func (c *decisionCommand) parseDecision(ctx *cli.Context) error {
	format, err := decisionFormat(ctx.String("format"))
	if err != nil {
		return err
	}
	tools, err := c.decisionTools(ctx.String("tools"), ctx.IsSet("tools"))
	if err != nil {
		return err
	}
	reply, err := c.reply(ctx)
	if err != nil {
		return err
	}
	read := decision.Read(reply, decision.Options{Tools: tools, Format: format, NoInference: ctx.Bool("no-inference")})
	if !c.JSON && (ctx.Bool("explain") || ui.IsTerminal(c.Out)) {
		for i := range read {
			if len(read) > 1 {
				c.Print(fmt.Sprintf("%d of %d\n", i+1, len(read)))
			}
			c.explain(&read[i], tools, format)
		}
		return nil
	}
	object, err := decisionsJSON(read)
	if err != nil {
		return err
	}
	return c.PrintJSON(object)
}

// decisionFormat reads the flag --format. It returns "" for auto.
func decisionFormat(word string) (decision.Format, error) {
	if word == "auto" || word == "" {
		return "", nil
	}
	return decision.Format(word), app.CheckWord("format", word,
		"auto", string(decision.PureJSON), string(decision.XMLJSON), string(decision.Markdown), string(decision.Native), string(decision.Code))
}

// decisionTools reads the tools from a file, or returns those available here.
func (c *decisionCommand) decisionTools(file string, given bool) ([]tool.Tool, error) {
	if given {
		return toolsOf(file)
	}
	h, done, err := c.Open()
	if err != nil {
		return nil, err
	}
	defer done()
	return calls.Declared(slices.DeleteFunc(h.Tools(), func(t toolset.Info) bool { return t.State != toolset.Ready })), nil
}

func toolsOf(file string) ([]tool.Tool, error) {
	const hint = "create a file of definitions: cassidy tool list --json > tools.json"
	text, err := ui.ReadFile(file)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "--tools %s: %w", file, err).WithHint(hint)
	}
	tools, err := toolfile.Parse(text)
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		e.Pos.File = file
		if e.Hint == "" {
			e.Hint = hint
		}
		return nil, &e
	}
	return tools, nil
}

// reply reads the reply from the file of the argument, or from standard input.
func (c *decisionCommand) reply(ctx *cli.Context) (string, error) {
	args := ctx.Args().Slice()
	var text []byte
	var err error
	switch {
	case len(args) == 1 && args[0] != "-":
		text, err = ui.ReadFile(args[0])
	default:
		if ui.IsTerminal(c.In) {
			c.Note("type the reply, then Ctrl-D")
		}
		text, err = ui.ReadAll(c.In)
	}
	if err != nil {
		return "", value.Errorf(value.Invalid, "read the reply: %w", err).WithHint("pass the file of the reply: cassidy decision parse FILE; or its text: cassidy decision parse < FILE")
	}
	return string(bytes.ToValidUTF8(text, []byte("\ufffd"))), nil
}

// decisionsJSON returns the first decision, and if there are several, all of them as the
// field calls of it.
func decisionsJSON(read []decision.Decision) (*value.Dict, error) {
	v, err := value.FromGo(read)
	if err != nil {
		return nil, value.AsError(err, value.Internal)
	}
	calls, _ := v.(value.List)
	first, _ := calls[0].(*value.Dict)
	if len(calls) > 1 {
		first = first.Clone(1)
		first.Put("calls", calls)
	}
	return first, nil
}

// explain prints a decision for a person.
func (c *decisionCommand) explain(d *decision.Decision, tools []tool.Tool, asked decision.Format) {
	line := func(name, value string) {
		if value != "" {
			c.Print(draw.Pad(name, 11, false) + strings.ReplaceAll(ui.Visible(strings.TrimSpace(value)), "\n", "\n"+draw.Pad("", 11, false)) + "\n")
		}
	}
	line("kind", string(d.Kind)+": "+kindText(d))
	line("action", d.Action)
	if d.Input != nil {
		line("input", value.FormatJSON(d.Input, "  "))
	}
	line("reasoning", d.Reasoning)
	switch {
	case d.Kind == decision.ToolCall && d.Status == decision.LastCall:
		line("status", string(d.Status)+": the final answer comes after this call")
	case d.Kind == decision.ToolCall:
		line("status", string(d.Status))
	}
	format := string(d.Format)
	if d.Format != "" && asked != "" && d.Format != asked {
		format += " instead of " + string(asked)
	}
	line("format", format)
	line("answer", d.Answer)
	line("error", d.Error)
	if d.Inferred {
		line("inferred", "from plain text; to read only explicit calls: --no-inference")
	}
	for i, what := range d.Repaired {
		line([]string{"repaired", ""}[min(i, 1)], what)
	}
	if d.Kind == decision.ToolCall {
		line("check", checkText(d, tools))
	}
}

// kindText describes the kind of a decision.
func kindText(d *decision.Decision) string {
	switch d.Kind {
	case decision.ToolCall:
		if d.Inferred {
			return "the reply describes a call of this tool"
		}
		return "the reply calls this tool"
	case decision.Final:
		return "the reply ends the task"
	case decision.Invalid:
		return "the reply has an invalid call; no tool would run"
	}
	return "the reply has no tool call and no line that begins with TASK COMPLETE:"
}

// checkText describes whether the call is valid.
func checkText(d *decision.Decision, tools []tool.Tool) string {
	if len(tools) == 0 {
		return ""
	}
	names := make([]string, len(tools))
	for i := range tools {
		t := &tools[i]
		if names[i] = t.Name; tool.Key(t.Name) != tool.Key(d.Action) {
			continue
		}
		args := d.Input
		var notes []string
		if d.Texts {
			args, notes = t.Coerce(args)
		}
		if _, err := t.Check(args); err != nil {
			return value.ErrorOf(err, value.Invalid).Message()
		}
		return strings.Join(append([]string{"the arguments are valid"}, notes...), "\n")
	}
	return "unknown tool: not found in " + ui.Count(len(tools), "definition") + value.DidYouMean(d.Action, names)
}
