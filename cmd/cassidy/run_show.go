package main

import (
	"context"
	"io"
	"strings"

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
	if c.json {
		show = c.jsonLines(run)
	}
	return c.screen.follow(h, show)
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
	c.print(string(text) + "\n")
}

// runLines returns what shows the events of a run to a person: a line for each
// step.
func (c *command) runLines(run string) func(tool.Event) {
	paint := c.paintOn(c.err)
	output := c.outputLines()
	return func(e tool.Event) {
		nested := strings.Count(strings.TrimPrefix(e.Call, run), "/") > 1
		own := e.Call == run
		switch d := e.Data.(type) {
		case tool.RunStart:
			if own && d.Policy != "" {
				c.verbosely("%s, policy %s, format %s, %d tools: %d tokens of the context", d.Model, d.Policy, d.Format, len(d.Tools), d.ToolOverhead)
			}
		case tool.ModelReply:
			if own {
				c.verbosely("%s", d.Text)
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
				c.note("%s", d.Message)
			} else {
				c.show(e)
			}
		case tool.SkillLoaded:
			c.note("skill %s", d.Name)
		case tool.Compacted:
			c.note("compacted: %d tokens, now %d%s", d.TokensBefore, d.TokensAfter, orError(d.Error))
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
			if c.quiet || shown[call] > maxOutput && !c.verbose {
				continue
			}
			_, _ = io.WriteString(c.err, "  │ "+printable(strings.TrimRight(line, "\r\n"))+"\n")
			if shown[call] == maxOutput && !c.verbose {
				_, _ = io.WriteString(c.err, "  │ … the rest is not shown; --verbose shows it\n")
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
	if c.quiet {
		return
	}
	switch d.Kind {
	case "call":
		line := visibleLine(d.Action + callArgs(d.Input))
		if why := oneLine(d.Reasoning); why != "" {
			line += paint(dim, visibleLine("  "+clip(why, lineWidth)))
		}
		if d.Inferred {
			line += paint(dim, "  (inferred)")
		}
		c.sayLine(line)
	case "error":
		c.sayLine(paint(yellow, visibleLine("the reply could not be read: "+oneLine(d.Error))))
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
		b.WriteString(" " + name + "=" + clip(oneLine(text), lineWidth/2))
	}
	return b.String()
}

func (c *command) showCallEnd(e *tool.ToolCallEnd, paint func(code, text string) string) {
	if c.quiet {
		return
	}
	mark := paint(green, "✓")
	if !e.Success {
		mark = paint(red, "✗")
	}
	if e.Waits {
		c.sayLine("  " + paint(yellow, "…") + " " + paint(dim, "waits"))
		return
	}
	line := oneLine(e.Preview)
	if _, isText := e.Result.(string); e.Result != nil && !isText {
		line = value.FormatJSON(e.Result, "")
	}
	line = clip(line, lineWidth)
	c.sayLine("  " + mark + " " + paint(dim, visibleLine(line)))
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
	if c.json && r.Reason != "" { // else no turn was begun
		c.printRunEnd(r, told)
	}
	if told != nil {
		c.tell(told)
		c.tellAgain(told, r.Run)
		return reported(told)
	}
	if !c.json {
		c.printAnswer(r)
	}
	return c.exitOf(r)
}

// tellAgain says that a run can be resumed which found a model or a network unavailable.
func (c *command) tellAgain(err *value.Error, run string) {
	if c.records && (err.Kind == value.Unavailable || err.Limit == value.LimitRate) && run != "" && !strings.Contains(err.Hint, "runs resume") {
		c.note("cassidy runs resume %s tries again", run)
	}
}

func (c *command) printRunEnd(r *agent.Reply, err *value.Error) {
	text, jsonErr := r.MarshalJSON()
	if jsonErr != nil {
		c.say("cannot write the result: %v", jsonErr)
		return
	}
	if err == nil {
		c.print(string(text) + "\n")
		return
	}
	v, _ := value.ParseJSON(text)
	d, _ := v.(*value.Dict)
	d.Put("error", err.Message())
	d.Put("error_type", err.Kind.Type())
	d.Put("suggestion", err.Hint)
	text, _ = value.AppendJSON(nil, d)
	c.print(string(text) + "\n")
}

// printAnswer prints the answer, and says where a run did not get to one.
func (c *command) printAnswer(r *agent.Reply) {
	answer := r.Text
	if isTerminal(c.out) {
		answer = printable(answer)
	}
	if answer != "" {
		c.print(strings.TrimSuffix(answer, "\n") + "\n")
	}
	switch r.Reason {
	case agent.ReasonFinal:
	case agent.ReasonMaxIterations:
		c.say("incomplete: the model was asked %s without coming to an end", times(r.Iterations))
		c.say("hint: --max-iterations N lets it be asked more often")
	case agent.ReasonNoDecision:
		c.say("the model neither called a tool nor said that the task is complete, though it was reminded")
		c.say("hint: another --format may suit it better; cassidy format-test tells which")
	case agent.ReasonLoop:
		c.say("the model made the same call again and again, and was stopped")
	case agent.ReasonDenied:
		c.say("what the model wanted was refused again and again")
		c.say("hint: --yes approves what is asked in this run; rules in your config.yaml approve it for good")
	default:
		c.say("the run ended: %s", r.Reason)
	}
}
