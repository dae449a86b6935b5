package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func runCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "run",
		Usage:     "run a tool",
		ArgsUsage: "NAME [key=value …]",
		Description: "Arguments are key=value, read as the declared types; key:=JSON gives any value.\n" +
			"Or all at once as a JSON object: --input '{\"key\": 1}', --input @FILE, --input - (standard input).",
		Flags: append(approvalFlags(),
			&cli.StringFlag{Name: "input", Usage: "the arguments as a `JSON` object, @FILE, or - for standard input"}),
		Action: c.asking(c.runTool),
	}
}

func (c *command) runTool(ctx *cli.Context, h *host.Host) error {
	words := ctx.Args().Slice()
	if len(words) == 0 {
		return value.Errorf(value.Invalid, "NAME is missing").WithHint("cassidy tool run NAME key=value …")
	}
	t, err := c.find(h, words[0])
	if err != nil {
		return c.failed(err)
	}
	if err := untrusted(&t); err != nil {
		return c.failed(err)
	}
	if changesThings(&t) && !c.records && c.home() != "" { // what only reads is not worth a record
		c.records = true
		return c.withHost(c.runTool)(ctx)
	}
	args, err := c.arguments(&t, "cassidy tool run ", words[1:], ctx.String("input"), ctx.IsSet("input"))
	if err != nil {
		return c.failed(err)
	}
	var opts []host.CallOption
	if c.records {
		opts = append(opts, host.Durable(agent.NewID()))
	}
	_, err = c.call(ctx, h, func(ctx context.Context) (tool.Result, error) {
		return h.Call(ctx, tool.Call{Tool: t.Name, Args: args, Caller: tool.ByPerson}, opts...)
	})
	return err
}

// changesThings reports whether a tool can do more than read.
func changesThings(t *tool.Tool) bool {
	return slices.ContainsFunc(t.Needs, func(n tool.Capability) bool {
		return n.Acts() || n.Name == "tool" || n.Name == "human" || n.Name == "model"
	})
}

// arguments reads the arguments of a call from the command line, which begins
// with the words before.
func (c *command) arguments(t *tool.Tool, before string, words []string, input string, given bool) (*value.Dict, error) {
	if given && len(words) > 0 {
		return nil, value.Errorf(value.Invalid, "--input and %q both give arguments", words[0]).WithHint("use one of them")
	}
	if given {
		return c.inputArgs(input)
	}
	args, notes, err := parsePairs(t, before, words)
	if c.Verbose {
		for _, note := range notes {
			c.Log("%s", note)
		}
	}
	return args, err
}

// parsePairs reads key=value, by the declared types, and key:=JSON. The notes
// say what was read as what.
func parsePairs(t *tool.Tool, before string, words []string) (args *value.Dict, notes []string, err error) {
	args = &value.Dict{}
	for _, word := range words {
		key, val, ok := strings.Cut(word, "=")
		if !ok || key == "" || key == ":" {
			e := value.Errorf(value.Invalid, "%q is not key=value", word)
			return nil, nil, e.WithHint("%s%s", before, usage(t))
		}
		name, isJSON := strings.CutSuffix(key, ":")
		if args.Has(name) {
			return nil, nil, value.Errorf(value.Invalid, "%q is given twice", name)
		}
		if isJSON {
			v, err := value.ParseJSON([]byte(val))
			if err != nil {
				return nil, nil, value.Errorf(value.Invalid, "%s: %w", name, value.ErrorOf(err, value.Invalid).Err)
			}
			args.Put(name, v)
			continue
		}
		if !ui.ValidText(val) {
			return nil, nil, value.Errorf(value.Invalid, "the value of %s is not UTF-8", name).WithHint("put the text into a file, and its name here")
		}
		read, more := t.Coerce(value.NewDict(name, val))
		v, _ := read.Get(name)
		args.Put(name, v)
		notes = append(notes, more...)
	}
	return args, notes, nil
}

// inputArgs reads --input.
func (c *command) inputArgs(input string) (*value.Dict, error) {
	text := []byte(input)
	var err error
	switch {
	case input == "-":
		text, err = ui.ReadAll(c.in)
	case strings.HasPrefix(input, "@"):
		var f *os.File
		if f, err = os.Open(input[1:]); err == nil {
			text, err = ui.ReadAll(f)
			_ = f.Close() // it was only read from
		}
	}
	if err != nil {
		return nil, value.Errorf(value.Invalid, "%w", ui.FileError(err)).WithHint("--input takes a JSON object, @FILE, or - for standard input")
	}
	v, err := value.ParseJSON(text)
	if err != nil {
		return nil, value.ErrorOf(err, value.Invalid).WithHint("--input takes a JSON object, @FILE, or - for standard input")
	}
	args, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "the input should be a JSON object but is %s", value.TypeOf(v)).
			WithHint(`as in --input '{"key": "value"}'`)
	}
	return args, nil
}

// call runs a call, with what it tells on standard error, and prints its
// result.
func (c *command) call(ctx *cli.Context, h *host.Host, do func(context.Context) (tool.Result, error)) (tool.Result, error) {
	stop := c.screen.Follow(h, c.showCall)
	result, err := do(ctx.Context)
	stop()
	if err != nil {
		if ctx.Context.Err() != nil {
			err = interruptedError(err)
		}
		return result, c.failedWith(err, result.Usage)
	}
	if c.JSON {
		c.printResult(result)
		return result, nil
	}
	c.printText(result.Text())
	return result, nil
}

// printText prints a result, and nothing for none.
func (c *command) printText(text string) {
	if ui.IsTerminal(c.Out) {
		text = ui.Printable(text)
	}
	if text != "" {
		c.Print(strings.TrimSuffix(text, "\n") + "\n")
	}
}

// failed tells of a call that failed. With --json it is a result like any
// other.
func (c *command) failed(err error) error { return c.failedWith(err, tool.Usage{}) }

func (c *command) failedWith(err error, u tool.Usage) error {
	e := value.ErrorOf(err, value.Failed)
	c.Report(e)
	if c.JSON {
		c.printResult(tool.Fail(e, u))
	}
	return ui.Reported(e)
}

func (c *command) printResult(r tool.Result) {
	text, err := r.MarshalJSON()
	if err != nil { // the host has checked that the result has a JSON form
		text, _ = tool.Fail(value.ErrorOf(err, value.Internal), r.Usage).MarshalJSON()
	}
	c.Print(string(text) + "\n")
}

// showCall shows what a call reports while it runs.
func (c *command) showCall(e tool.Event) {
	switch e.Data.(type) {
	case tool.ToolCallStart, tool.ToolCallEnd, tool.ErrorEvent: // the result says it
	default:
		c.show(e)
	}
}

// show shows an event.
func (c *command) show(e tool.Event) {
	switch d := e.Data.(type) {
	case tool.ToolOutput:
		if !c.Quiet {
			_, _ = io.WriteString(c.Err, ui.Printable(d.Chunk))
		}
	case tool.Log:
		c.Note("%s: %s", e.Tool, d.Message)
	case tool.Progress:
		if ui.IsTerminal(c.Err) || c.Verbose {
			c.Note("%s: %s%s", e.Tool, d.Message, share(d))
		}
	case tool.EffectDone, tool.ArgsRead, tool.Audit:
		if c.Verbose {
			c.Log("%s: %s %s", e.Tool, e.Type(), value.FormatJSON(e.Fields(), ""))
		}
	case tool.Lost:
		c.Log("%d events are not shown: they came faster than they could be written", d.N)
	}
}

// share writes how much of a piece of work is done.
func share(p tool.Progress) string {
	number := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
	switch {
	case p.Total != 0:
		return " (" + number(p.Done) + " of " + number(p.Total) + ")"
	case p.Done != 0:
		return " (" + number(p.Done) + ")"
	}
	return ""
}

func exampleCommand(c *command) *cli.Command {
	return &cli.Command{
		Name:      "example",
		Usage:     "run an example of a tool",
		ArgsUsage: "NAME [NUMBER]",
		Flags:     approvalFlags(),
		Action: c.asking(func(ctx *cli.Context, h *host.Host) error {
			words := ctx.Args().Slice()
			if len(words) == 1 {
				words = append(words, "1")
			}
			if len(words) != 2 {
				return value.Errorf(value.Invalid, "NAME is missing, or there is too much").WithHint("cassidy tool example NAME [NUMBER]")
			}
			t, err := c.find(h, words[0])
			if err != nil {
				return err
			}
			return c.runExample(ctx, h, &t, words[1])
		}),
	}
}

func (c *command) runExample(ctx *cli.Context, h *host.Host, t *tool.Tool, number string) error {
	if err := untrusted(t); err != nil {
		return c.failed(err)
	}
	if len(t.Examples) == 0 {
		return value.Errorf(value.Failed, "the tool '%s' has no examples", t.Name)
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(t.Examples) {
		plural := "s"
		if len(t.Examples) == 1 {
			plural = ""
		}
		return value.Errorf(value.Invalid, "Example index %s out of range", number).
			WithHint("the tool has %d example%s, counted from 1", len(t.Examples), plural)
	}
	e := t.Examples[n-1]
	c.Note("%s", t.CallText(e.Args))
	result, err := c.call(ctx, h, func(ctx context.Context) (tool.Result, error) {
		return h.Call(ctx, tool.Call{Tool: t.Name, Args: e.Args, Caller: tool.ByPerson})
	})
	if err == nil && e.HasExpect && !value.Alike(result.Value, e.Expect) {
		c.Log("this is not what the example expects: %s", value.FormatJSON(e.Expect, ""))
		return ui.ErrSilent
	}
	return err
}
