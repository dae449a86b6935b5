package calls

import (
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Shower returns a function that shows the events of calls whose results are printed.
func Shower(a *app.App) func(tool.Event) {
	out := &output{app: a}
	onTerminal := ui.IsTerminal(a.Err)
	return func(e tool.Event) {
		InProgress(a, e)
		switch d := e.Data.(type) {
		case tool.ToolCallStart, tool.ErrorEvent: // the result shows it
		case tool.ToolCallEnd:
			out.flush(e.Call)
		case tool.ToolOutput:
			if onTerminal {
				out.add(e.Call, d.Chunk)
				return
			}
			Show(a, e)
		default:
			Show(a, e)
		}
	}
}

// Show shows an event.
func Show(a *app.App, e tool.Event) {
	switch d := e.Data.(type) {
	case tool.ToolOutput:
		if !a.Quiet {
			_, _ = io.WriteString(a.Err, ui.Printable(d.Chunk))
		}
	case tool.Log:
		a.Note("%s: %s", e.Tool, d.Message)
	case tool.Progress:
		if a.Live.Progress(e.Call, e.Tool, d.Message, d.Done, d.Total) || a.Verbose {
			a.Note("%s: %s%s", e.Tool, d.Message, share(d))
		}
	case tool.EffectDone, tool.ArgsRead, tool.Audit:
		if a.Verbose {
			a.Log("%s: %s %s", e.Tool, e.Type(), value.FormatJSON(e.Fields(), ""))
		}
	case tool.Lost:
		a.Alert("%d events were not printed: the output is too slow", d.N)
	}
}

// share returns how much of the work is done.
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

// ShowRun shows the events of a run until stop is called: with lines on standard error,
// or with --json as lines of JSON on standard output.
func ShowRun(a *app.App, h *host.Host, run string, lines func(tool.Event)) (stop func()) {
	return Follow(a, h, RunShower(a, run, lines))
}

// RunShower returns the function that ShowRun calls with each event.
func RunShower(a *app.App, run string, lines func(tool.Event)) func(tool.Event) {
	a.RunEnd = tool.Event{}
	if !a.JSON {
		return func(e tool.Event) {
			if _, ends := e.Data.(tool.RunEnd); ends && e.Call == run {
				a.RunEnd = e
			}
			InProgress(a, e)
			lines(e)
		}
	}
	return func(e tool.Event) {
		if d, ends := e.Data.(tool.ToolCallEnd); ends && d.Err != nil {
			d.Err = describe.ForUsers(d.Err)
			e.Data = d
		}
		if _, ends := e.Data.(tool.RunEnd); ends && e.Call == run {
			a.RunEnd = e // it is printed with the result, see PutEnd
			return
		}
		_ = a.PrintLine(e) // all values in events have a JSON form
	}
}

// PutEnd completes what is printed as the event of the end of a run: with the time and the
// number of that event, if there is one.
func PutEnd(a *app.App, d *value.Dict) {
	if e := &a.RunEnd; e.Data != nil {
		d.Put("time", e.Time.UTC().Format(time.RFC3339Nano))
		if e.Seq != 0 {
			d.Put("seq", int64(e.Seq))
		}
	}
}

// Follow shows the events of a host until stop is called.
func Follow(a *app.App, h *host.Host, show func(tool.Event)) (stop func()) {
	unfollow := a.Screen.Follow(h, show)
	return func() {
		unfollow()
		a.Live.Clear()
	}
}

// InProgress shows on the live line what an event says about the calls and requests in progress.
func InProgress(a *app.App, e tool.Event) {
	model := e.Call + "/model"
	switch d := e.Data.(type) {
	case tool.ToolCallStart:
		a.Live.Begin(e.Call, e.Tool, About(d.Args))
	case tool.ToolCallEnd:
		a.Live.End(e.Call)
	case tool.ModelAsk:
		a.Live.Begin(model, "thinking", "")
	case tool.ModelReply, tool.RunEnd:
		a.Live.End(model)
	}
}

// RunLines returns a function that shows the events of a run to a person, a line for each
// step.
func RunLines(a *app.App, run string) func(tool.Event) { return NewLines(a).Run(run) }

// Run is [RunLines] for the next run of several.
func (l *Lines) Run(run string) func(tool.Event) {
	a := l.app
	paint := a.ScreenOf(a.Err).Paint
	output := outputLines(a)
	a.Refused, a.Made, a.Failed = nil, 0, 0
	made := &madeCalls{}
	onTerminal := ui.IsTerminal(a.Err)
	return func(e tool.Event) {
		nested := strings.Count(strings.TrimPrefix(e.Call, run), "/") > 1
		own := e.Call == run
		if !nested {
			keepRefusal(a, e)
			made.watch(e, own)
		}
		if onTerminal && l.show(e, own, nested) {
			return
		}
		switch d := e.Data.(type) {
		case tool.RunStart:
			if own && d.Policy != "" {
				a.Debug("model %s, policy %s, format %s; %d tools take %d tokens of the context", d.Model, d.Policy, d.Format, len(d.Tools), d.ToolOverhead)
			}
		case tool.ModelReply:
			if own {
				a.Debug("%s", d.Text)
			}
		case tool.Decided:
			if own {
				showDecision(a, &d, paint)
			}
		case tool.ToolCallEnd:
			if list, ok := d.Result.(string); ok && e.Tool == todoTool && d.Success && !nested {
				ShowTodo(a, list)
			} else if !nested {
				ShowEnd(a, made.label(e), &d, paint)
			}
		case tool.ToolOutput:
			output(e.Call, d.Chunk)
		case tool.Log:
			if e.Tool == "" {
				a.Note("%s", d.Message)
			} else {
				Show(a, e)
			}
		case tool.ModelRetry:
			a.Alert("%s; trying again in %s", d.Error, retryTime(d.Wait))
		case tool.Hooked:
			showHook(a, &d, paint)
		case tool.SkillLoaded:
			a.Note("skill %s", d.Name)
		case tool.Compacted:
			failure := ""
			if d.Error != "" {
				failure = " (" + d.Error + ")"
			}
			a.Note("compacted the conversation from %d to %d tokens%s", d.TokensBefore, d.TokensAfter, failure)
		case tool.ToolCallStart, tool.ErrorEvent, tool.RunEnd, tool.ModelAsk, tool.Text:
		default:
			Show(a, e)
		}
	}
}

// todoTool is the tool with which a model writes its list of tasks.
const todoTool = "todo"

// ShowTodo shows the list of tasks of a model.
func ShowTodo(a *app.App, list string) {
	if a.Quiet {
		return
	}
	for line := range strings.Lines(list) {
		a.LogLine("  " + ui.VisibleLine(strings.TrimRight(line, "\n")))
	}
}

// showHook shows what a hook did.
func showHook(a *app.App, d *tool.Hooked, paint func(code, text string) string) {
	if a.Quiet {
		return
	}
	of, text := "", ui.Brief(d.Text, 2*draw.MaxText)
	if d.Target != "" {
		of = " " + d.Target
	}
	switch {
	case d.Action == "edited" && d.After != nil:
		before, after := changed(d.Before, d.After)
		text = "changed" + of + ":" + ui.VisibleLine(describe.ArgsText(before)+" →"+describe.ArgsText(after))
	case d.Action == "edited" && d.Target != "":
		text = "replaced the result of" + of
	case d.Action == "edited":
		text = "changed the summary"
	case d.Action == "denied":
		text = "refused" + of + ": " + text
	case d.Action == "noted":
		text = "added a note: " + text
	default:
		text = "failed: " + text
	}
	text = "hook " + d.Hook + " " + text
	if d.Action == "noted" {
		text = paint(draw.Dim, text)
	}
	a.LogLine("  " + text)
}

// changed returns the arguments that differ, before and after.
func changed(before, after *value.Dict) (was, is *value.Dict) {
	was, is = &value.Dict{}, &value.Dict{}
	for k, v := range after.All() {
		name, _ := k.(string)
		old, known := before.Get(name)
		if known && value.Equal(old, v) {
			continue
		}
		if is.Put(name, v); known {
			was.Put(name, old)
		}
	}
	return was, is
}

// retryTime writes the time until a request is sent again.
func retryTime(d time.Duration) string {
	if d < time.Second {
		return "a moment"
	}
	return d.Round(time.Second).String()
}

// outputLines returns a function that shows the output of calls behind a margin, so that
// it cannot look like a message, and only the beginning of a long output.
func outputLines(a *app.App) func(call, text string) {
	shown := map[string]int{}
	return func(call, text string) {
		for line := range strings.Lines(text) {
			shown[call]++
			if a.Quiet || shown[call] > maxOutput && !a.Verbose {
				continue
			}
			_, _ = io.WriteString(a.Err, "  │ "+ui.Printable(strings.TrimRight(line, "\r\n"))+"\n")
			if shown[call] == maxOutput && !a.Verbose {
				_, _ = io.WriteString(a.Err, "  │ … more output is hidden (use --verbose)\n")
			}
		}
	}
}

// Recorded reports whether an event is about a call that was made before: a resumed run
// answers it from its record.
func Recorded(data any) bool {
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

// showDecision shows a decision of the model.
func showDecision(a *app.App, d *tool.Decided, paint func(code, text string) string) {
	if a.Quiet {
		return
	}
	switch d.Kind {
	case "call":
		line := ui.VisibleLine(d.Action + describe.ArgsText(d.Input))
		if why := strings.TrimSpace(d.Reasoning); why != "" {
			line += paint(draw.Dim, "  "+ui.Brief(why, draw.MaxText))
		}
		if d.Inferred {
			line += paint(draw.Dim, "  (inferred)")
		}
		a.LogLine(line)
	case "error":
		a.LogLine(paint(draw.Bold, "invalid reply: ") + ui.VisibleLine(strings.TrimSpace(d.Error)))
	}
}

// ShowEnd shows whether a call succeeded, and its result on a line, after a label that is visible
// already.
func ShowEnd(a *app.App, label string, e *tool.ToolCallEnd, paint func(code, text string) string) {
	if a.Quiet {
		return
	}
	mark := paint(draw.Green, "✓")
	if !e.Success {
		mark = paint(draw.Red, "✗")
	}
	if e.Waits {
		a.LogLine("  " + paint(draw.Magenta, "…") + " " + label + paint(draw.Dim, "waits"))
		return
	}
	if e.Unshown != "" {
		a.Debug("the preview of the tool failed: %s", e.Unshown)
	}
	line, more, _ := strings.Cut(strings.TrimSpace(e.Preview), "\n")
	if !e.Shown {
		line, more = strings.TrimSpace(e.Preview), ""
	}
	if _, isText := e.Result.(string); e.Result != nil && !isText && !e.Shown {
		line = value.FormatJSON(e.Result, "")
	}
	a.LogLine("  " + mark + " " + label + paint(draw.Dim, ui.Brief(line, draw.MaxText)))
	for text := range strings.Lines(more) {
		a.LogLine("  │ " + paint(draw.Dim, ui.Brief(text, draw.MaxText)))
	}
}
