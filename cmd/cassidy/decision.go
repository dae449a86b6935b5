package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func decisionCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:   "decision",
		Usage:  "read what a model's reply asks for",
		Action: func(ctx *cli.Context) error { return noCommand(ctx, "cassidy decision") },
		Subcommands: []*cli.Command{{
			Name:      "parse",
			Usage:     "read a reply as an agent would",
			ArgsUsage: "[FILE]",
			Description: "The reply comes from FILE or from standard input. What it asks for is printed as one JSON object:\n" +
				"  kind: call, final, none or error  ·  action  ·  input  ·  reasoning  ·  status  ·  format  ·  answer  ·  error  ·  inferred  ·  repaired\n" +
				"Where it asks for several calls, these are the fields of the first, and \"calls\" has them all.\n" +
				"On a terminal, and with --explain, a person can read it.\n" +
				"The exit code is 0 whatever the kind is, also error: the reply was read. It is 2 where FILE, --tools or a flag is not right.",
			Flags: []cli.Flag{
				&cli.StringFlag{Name: "tools", Usage: "the tools that the model was offered: `FILE` holds definitions in the form of OpenAI, Anthropic or MCP, or of tool list --json", DefaultText: "those that can be used here"},
				&cli.StringFlag{Name: "format", Usage: "how the model was told to write: `FORMAT` is auto, pure_json, xml_json, markdown, native or code; all are read, this one first", Value: "auto"},
				&cli.BoolFlag{Name: "no-inference", Usage: "take only what is written as a call for one"},
				&cli.BoolFlag{Name: "explain", Usage: "say in words what was read, how, and what was mended"},
			},
			Action: c.parseDecision,
		}},
	}
}

func (c *command) parseDecision(ctx *cli.Context) error {
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
		c.explainDecisions(read, tools, format)
		return nil
	}
	object, err := decisionsJSON(read)
	if err != nil {
		return err
	}
	return c.PrintJSON(object)
}

// decisionFormat reads the flag --format; auto is no format.
func decisionFormat(word string) (decision.Format, error) {
	known := []string{"auto", string(decision.PureJSON), string(decision.XMLJSON), string(decision.Markdown), string(decision.Native), string(decision.Code)}
	switch {
	case word == "auto" || word == "":
		return "", nil
	case slices.Contains(known, word):
		return decision.Format(word), nil
	}
	return "", value.Errorf(value.Invalid, "there is no format %q%s", word, value.DidYouMean(word, known)).
		WithHint("the formats are %s", strings.Join(known, ", "))
}

// decisionTools reads the tools from a file, or asks the host here for those
// that can be used.
func (c *command) decisionTools(file string, given bool) ([]tool.Tool, error) {
	if given {
		return toolsOf(file)
	}
	h, done, err := c.open()
	if err != nil {
		return nil, err
	}
	defer done()
	return slices.DeleteFunc(h.Tools(), func(t tool.Tool) bool { return t.State != tool.Ready }), nil
}

func toolsOf(file string) ([]tool.Tool, error) {
	const hint = "--tools takes a file of definitions, as cassidy tool list --json prints them"
	text, err := readFile(file)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "--tools %s: %w", file, err).WithHint(hint)
	}
	tools, err := decision.ParseTools(text)
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

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, ui.FileError(err)
	}
	defer f.Close()
	text, err := ui.ReadAll(f)
	if err != nil {
		return nil, ui.FileError(err)
	}
	return text, nil
}

// reply reads the reply from the file that is named, or from standard input.
func (c *command) reply(ctx *cli.Context) (string, error) {
	args := ctx.Args().Slice()
	var text []byte
	var err error
	switch {
	case len(args) > 1:
		return "", value.Errorf(value.Invalid, "there is one argument too many: %q", args[1]).WithHint("cassidy decision parse [FILE]")
	case len(args) == 1 && args[0] != "-":
		text, err = readFile(args[0])
	default:
		if in, ok := c.in.(io.Writer); ok && ui.IsTerminal(in) {
			c.Note("type the reply, then Ctrl-D")
		}
		text, err = ui.ReadAll(c.in)
	}
	if err != nil {
		return "", value.Errorf(value.Invalid, "the reply cannot be read: %w", err).WithHint("cassidy decision parse --tools FILE < reply")
	}
	return string(bytes.ToValidUTF8(text, []byte("\ufffd"))), nil
}

// decisionsJSON gives the first decision as an object, and where there are
// several, all of them under calls.
func decisionsJSON(read []decision.Decision) (*value.Dict, error) {
	var first *value.Dict
	calls := value.List{}
	for _, d := range read {
		text, err := d.MarshalJSON()
		if err != nil {
			return nil, value.AsError(err, value.Internal)
		}
		v, err := value.ParseJSON(text)
		if err != nil {
			return nil, value.AsError(err, value.Internal)
		}
		object, _ := v.(*value.Dict)
		if first == nil {
			first = object
		}
		calls = append(calls, object)
	}
	if len(calls) == 1 {
		return first, nil
	}
	all := &value.Dict{} // a copy: what holds the calls is none of them
	for k, v := range first.All() {
		name, _ := k.(string)
		all.Put(name, v)
	}
	all.Put("calls", calls)
	return all, nil
}

// explainDecisions says in words what was read.
func (c *command) explainDecisions(read []decision.Decision, tools []tool.Tool, asked decision.Format) {
	var b strings.Builder
	for i := range read {
		if len(read) > 1 {
			fmt.Fprintf(&b, "%d of %d\n", i+1, len(read))
		}
		explainDecision(&b, &read[i], tools, asked)
	}
	c.Print(b.String())
}

func explainDecision(b *strings.Builder, d *decision.Decision, tools []tool.Tool, asked decision.Format) {
	line := func(name, value string) {
		if value != "" {
			b.WriteString(ui.Pad(name, 11) + strings.ReplaceAll(ui.Visible(strings.TrimSpace(value)), "\n", "\n"+ui.Pad("", 11)) + "\n")
		}
	}
	line("kind", string(d.Kind)+": "+kindText(d))
	line("action", d.Action)
	if d.Input != nil {
		line("input", value.FormatJSON(d.Input, "  "))
	}
	line("reasoning", d.Reasoning)
	if d.Kind == decision.ToolCall {
		line("status", string(d.Status)+statusText(d.Status))
	}
	line("format", formatText(d.Format, asked))
	line("answer", d.Answer)
	line("error", d.Error)
	if d.Inferred {
		line("inferred", "no call is written; --no-inference leaves such a reply alone")
	}
	for i, what := range d.Repaired {
		line([]string{"repaired", ""}[min(i, 1)], what)
	}
	if d.Kind == decision.ToolCall {
		line("check", checkText(d, tools))
	}
}

// kindText says what a kind means, and why it was taken for that.
func kindText(d *decision.Decision) string {
	switch d.Kind {
	case decision.ToolCall:
		if d.Inferred {
			return "the text speaks of calling this tool"
		}
		return "this tool is to be called"
	case decision.Final:
		return "the reply ends the task"
	case decision.Invalid:
		return "a call was meant, but cannot be read; nothing would be run"
	}
	return "the reply neither asks for a tool nor begins a line with TASK COMPLETE:"
}

func statusText(s decision.Status) string {
	if s == decision.LastCall {
		return ": after this call comes the answer"
	}
	return ""
}

func formatText(f, asked decision.Format) string {
	if f == "" || asked == "" || f == asked {
		return string(f)
	}
	return string(f) + ", and it was asked for " + string(asked)
}

// checkText says whether the call could be made.
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
		return strings.Join(append([]string{"the arguments are what the tool takes"}, notes...), "\n")
	}
	return "there is no such tool among the " + strconv.Itoa(len(tools)) + " that were offered" + value.DidYouMean(d.Action, names)
}
