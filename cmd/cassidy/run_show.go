package main

import (
	"context"
	"io"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// showRun shows what happens in a run, on standard error, or with --json as a
// line of JSON each on standard output, until the function that it returns is
// called.
func (c *command) showRun(h *host.Host, run string) (stop func()) {
	show := c.runLines(run)
	if c.JSON {
		show = c.jsonLines(run)
	}
	return c.screen.Follow(h, show)
}

// jsonLines returns what prints the events of a run, a line of JSON each.
func (c *command) jsonLines(run string) func(tool.Event) {
	return func(e tool.Event) {
		if _, ends := e.Data.(tool.RunEnd); !ends || e.Call != run { // its end is printed as its result
			c.printEvent(e)
		}
	}
}

// printEvent prints an event as a line.
func (c *command) printEvent(e tool.Event) {
	text, err := e.MarshalJSON()
	if err != nil {
		return // a value without a JSON form is in no event of ours
	}
	c.Print(string(text) + "\n")
}

// runLines returns what shows the events of a run to a person: a line for each
// step.
func (c *command) runLines(run string) func(tool.Event) {
	paint := c.PaintOn(c.Err)
	output := c.outputLines()
	return func(e tool.Event) {
		nested := strings.Count(strings.TrimPrefix(e.Call, run), "/") > 1
		own := e.Call == run
		switch d := e.Data.(type) {
		case tool.RunStart:
			if own && d.Policy != "" {
				c.Debug("%s, policy %s, format %s, %d tools: %d tokens of the context", d.Model, d.Policy, d.Format, len(d.Tools), d.ToolOverhead)
			}
		case tool.ModelReply:
			if own {
				c.Debug("%s", d.Text)
			}
		case tool.Decided:
			if own {
				c.showDecision(&d, paint)
			}
		case tool.ToolCallEnd:
			if !nested {
				c.showCallEnd(&d, paint)
			}
		case tool.ToolOutput:
			output(e.Call, d.Chunk)
		case tool.Log:
			if e.Tool == "" {
				c.Note("%s", d.Message)
			} else {
				c.show(e)
			}
		case tool.SkillLoaded:
			c.Note("skill %s", d.Name)
		case tool.Compacted:
			c.Note("compacted: %d tokens, now %d%s", d.TokensBefore, d.TokensAfter, orError(d.Error))
		case tool.ToolCallStart, tool.ErrorEvent, tool.RunEnd, tool.ModelAsk, tool.Text:
		default:
			c.show(e)
		}
	}
}

// maxOutput is how many lines of what one call says are shown in a run.
const maxOutput = 20

// outputLines returns what shows the output of calls, so that no line of it can
// be taken for one of ours, and not more of it than somebody can follow.
func (c *command) outputLines() func(call, text string) {
	shown := map[string]int{}
	return func(call, text string) {
		for line := range strings.Lines(text) {
			shown[call]++
			if c.Quiet || shown[call] > maxOutput && !c.Verbose {
				continue
			}
			_, _ = io.WriteString(c.Err, "  │ "+ui.Printable(strings.TrimRight(line, "\r\n"))+"\n")
			if shown[call] == maxOutput && !c.Verbose {
				_, _ = io.WriteString(c.Err, "  │ … the rest is not shown; --verbose shows it\n")
			}
		}
	}
}

// recorded reports whether an event is about a call that was made before, which a
// resumed run answers from its record.
func recorded(data any) bool {
	switch d := data.(type) {
	case tool.ToolCallStart:
		return d.Recorded
	case tool.ToolCallEnd:
		return d.Recorded
	case tool.ErrorEvent:
		return d.Recorded
	}
	return false
}

func orError(text string) string {
	if text != "" {
		return " (" + text + ")"
	}
	return ""
}

// showDecision shows what the model wants.
func (c *command) showDecision(d *tool.Decided, paint func(code, text string) string) {
	if c.Quiet {
		return
	}
	switch d.Kind {
	case "call":
		line := ui.VisibleLine(d.Action + callArgs(d.Input))
		if why := ui.OneLine(d.Reasoning); why != "" {
			line += paint(ui.Dim, ui.VisibleLine("  "+ui.Clip(why, ui.LineWidth)))
		}
		if d.Inferred {
			line += paint(ui.Dim, "  (inferred)")
		}
		c.LogLine(line)
	case "error":
		c.LogLine(paint(ui.Yellow, ui.VisibleLine("the reply could not be read: "+ui.OneLine(d.Error))))
	}
}

// callArgs shows arguments on one line.
func callArgs(args *value.Dict) string {
	var b strings.Builder
	for k, v := range args.All() {
		name, _ := k.(string)
		text := value.FormatJSON(v, "")
		if s, ok := v.(string); ok && !strings.ContainsAny(s, " \n\t\"") {
			text = s
		}
		b.WriteString(" " + name + "=" + ui.Clip(ui.OneLine(text), ui.LineWidth/2))
	}
	return b.String()
}

func (c *command) showCallEnd(e *tool.ToolCallEnd, paint func(code, text string) string) {
	if c.Quiet {
		return
	}
	mark := paint(ui.Green, "✓")
	if !e.Success {
		mark = paint(ui.Red, "✗")
	}
	if e.Waits {
		c.LogLine("  " + paint(ui.Yellow, "…") + " " + paint(ui.Dim, "waits"))
		return
	}
	line := ui.OneLine(e.Preview)
	if _, isText := e.Result.(string); e.Result != nil && !isText {
		line = value.FormatJSON(e.Result, "")
	}
	line = ui.Clip(line, ui.LineWidth)
	c.LogLine("  " + mark + " " + paint(ui.Dim, ui.VisibleLine(line)))
}

// ended prints the result of a run and ends the command with the code that it
// has.
func (c *command) ended(ctx context.Context, r *agent.Reply, err error) error {
	var told *value.Error
	if err != nil {
		told = value.ErrorOf(err, value.Failed)
		if ctx.Err() != nil {
			told = interruptedError(err)
		}
	}
	if c.JSON && r.Reason != "" { // else no turn was begun
		c.printRunEnd(r, told)
	}
	if told != nil {
		c.Report(told)
		c.tellAgain(told, r.Run)
		return ui.Reported(told)
	}
	if !c.JSON {
		c.printAnswer(r)
	}
	return c.exitOf(r)
}

// tellAgain says that a run can be resumed which found a model or a network unavailable.
func (c *command) tellAgain(err *value.Error, run string) {
	if c.records && (err.Kind == value.Unavailable || err.Limit == value.LimitRate) && run != "" && !strings.Contains(err.Hint, "runs resume") {
		c.Note("cassidy runs resume %s tries again", run)
	}
}

func (c *command) printRunEnd(r *agent.Reply, err *value.Error) {
	text, jsonErr := r.MarshalJSON()
	if jsonErr != nil {
		c.Log("cannot write the result: %v", jsonErr)
		return
	}
	if err == nil {
		c.Print(string(text) + "\n")
		return
	}
	v, _ := value.ParseJSON(text)
	d, _ := v.(*value.Dict)
	d.Put("error", err.Message())
	d.Put("error_type", err.Kind.Type())
	d.Put("suggestion", err.Hint)
	text, _ = value.AppendJSON(nil, d)
	c.Print(string(text) + "\n")
}

// printAnswer prints the answer, and says where a run did not get to one.
func (c *command) printAnswer(r *agent.Reply) {
	answer := r.Text
	if ui.IsTerminal(c.Out) {
		answer = ui.Printable(answer)
	}
	if answer != "" {
		c.Print(strings.TrimSuffix(answer, "\n") + "\n")
	}
	switch r.Reason {
	case agent.ReasonFinal:
	case agent.ReasonMaxIterations:
		c.Log("incomplete: the model was asked %s without coming to an end", ui.Times(r.Iterations))
		c.Log("hint: --max-iterations N lets it be asked more often")
	case agent.ReasonNoDecision:
		c.Log("the model neither called a tool nor said that the task is complete, though it was reminded")
		c.Log("hint: another --format may suit it better; cassidy format-test tells which")
	case agent.ReasonLoop:
		c.Log("the model made the same call again and again, and was stopped")
	case agent.ReasonDenied:
		c.Log("what the model wanted was refused again and again")
		c.Log("hint: --yes approves what is asked in this run; rules in your config.yaml approve it for good")
	default:
		c.Log("the run ended: %s", r.Reason)
	}
}
