package calls

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/tool/trace"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TraceFlags are the flags of commands that run scripts, for authors of scripts.
func TraceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "trace", Usage: "show each effect and each print with its line in the script and its time"},
		&cli.BoolFlag{Name: "profile", Usage: "show the steps and the time of each line of the script; the script runs slower"},
	}
}

// A Tracer shows what the flags of TraceFlags ask for.
type Tracer struct {
	app    *app.App
	mode   trace.Mode
	start  time.Time // of the first event
	root   int       // the depth of the first call
	events value.List
	use    []trace.Line
}

// NewTracer reads the flags of TraceFlags.
func NewTracer(a *app.App, ctx *cli.Context) *Tracer {
	t := &Tracer{app: a}
	if ctx.Bool("trace") {
		t.mode |= trace.Calls
	}
	if ctx.Bool("profile") {
		t.mode |= trace.Lines
	}
	return t
}

// Mode is the trace of the call.
func (t *Tracer) Mode() trace.Mode { return t.mode }

// Show shows an event of a traced call, and reports whether it did. Other events are shown as
// without a trace. It collects the lines of a profile, which [Tracer.End] shows.
func (t *Tracer) Show(e tool.Event) bool {
	if p, ok := e.Data.(trace.Profile); ok {
		t.use = append(t.use, p.Lines...)
		return true
	}
	if !t.mode.Has(trace.Calls) {
		return false
	}
	if t.start.IsZero() {
		t.start, t.root = e.Time, strings.Count(e.Call, "/")
	}
	switch d := e.Data.(type) {
	case tool.EffectDone:
		text := effectText(d.Func, d.Capabilities)
		if !d.Success {
			text += "  failed: " + d.Error
		}
		t.line(e, d.Duration, d.At, text)
	case tool.Log:
		t.line(e, -1, d.At, "print "+d.Message)
	case tool.Audit:
		if d.Decision != "denied" {
			return false
		}
		t.line(e, -1, d.At, effectText(d.Func, d.Capabilities)+"  denied: "+d.Why)
	case tool.ToolCallStart:
		if t.depth(e) > 0 {
			t.line(e, -1, "", "call "+e.Tool+describe.ArgsText(d.Args))
		}
		return false
	default:
		return false
	}
	return true
}

// effectText names an effect by its function and its targets.
func effectText(function string, takes []tool.Capability) string {
	text := function
	for _, c := range takes {
		if c.Target != "" {
			text += " " + strings.TrimSuffix(c.Target, "@") // the host of a secret is not known before the secret is sent
		}
	}
	return text
}

// depth is how deep the call of an event is below the traced one.
func (t *Tracer) depth(e tool.Event) int { return strings.Count(e.Call, "/") - t.root }

// maxTraceText is how much of an effect or a print a line of the trace shows, in characters.
const maxTraceText = 160

// line shows an event with the time at which it began and, unless that is negative, how long it
// took. With --json, it keeps the event for the result.
func (t *Tracer) line(e tool.Event, took time.Duration, at, text string) {
	began, length := e.Time, ""
	if took >= 0 {
		began, length = e.Time.Add(-took), "+"+shortTime(took)
	}
	since := max(0, began.Sub(t.start))
	if t.app.JSON {
		d := value.NewDict("type", e.Type(), "start_ms", milliseconds(since), "tool", e.Tool, "call", e.Call)
		for k, v := range e.Fields().All() {
			d.Put(k.(string), v)
		}
		t.events = append(t.events, d)
		return
	}
	if at != "" {
		at = ui.VisibleLine(at) + "  "
	}
	indent := strings.Repeat("  ", max(0, t.depth(e)))
	t.app.LogRow(fmt.Sprintf("%9s %9s  %s%s%s", shortTime(since), length, indent, at, ui.Brief(text, maxTraceText)))
}

func milliseconds(d time.Duration) value.Value { return float64(d.Microseconds()) / 1000 }

// shortTime writes a time in milliseconds or seconds.
func shortTime(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%.1fms", float64(d)/float64(time.Millisecond))
	}
	return fmt.Sprintf("%.2fs", d.Seconds())
}

// maxProfile is how many lines of a profile are shown. With --json there are all.
const maxProfile = 20

// End shows the profile, or puts the trace and the profile into the result of --json.
func (t *Tracer) End(result *value.Dict) {
	if t.mode == 0 || t.app.JSON && result == nil {
		return
	}
	if t.app.JSON {
		if t.mode.Has(trace.Calls) {
			result.Put("trace", append(value.List{}, t.events...))
		}
		if t.mode.Has(trace.Lines) {
			result.Put("profile", t.profile())
		}
		return
	}
	if t.mode.Has(trace.Lines) {
		t.print()
	}
}

// merged returns the lines of all calls, those that took most time first, and their sum.
func (t *Tracer) merged() (lines []trace.Line, sum trace.Line) {
	at := map[[2]any]int{}
	for _, l := range t.use {
		key := [2]any{l.File, l.Line}
		if i, ok := at[key]; ok {
			lines[i].Steps, lines[i].Time = lines[i].Steps+l.Steps, lines[i].Time+l.Time
		} else {
			at[key] = len(lines)
			lines = append(lines, l)
		}
		sum.Steps, sum.Time = sum.Steps+l.Steps, sum.Time+l.Time
	}
	slices.SortFunc(lines, func(a, b trace.Line) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Steps, a.Steps), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	return lines, sum
}

func (t *Tracer) profile() *value.Dict {
	lines, sum := t.merged()
	list := value.List{}
	for _, l := range lines {
		list = append(list, value.NewDict("file", l.File, "line", int64(l.Line), "steps", l.Steps, "time_ms", milliseconds(l.Time),
			"share", part(l.Time, sum.Time), "source", strings.ToValidUTF8(l.Text, "\ufffd")))
	}
	return value.NewDict("steps", sum.Steps, "time_ms", milliseconds(sum.Time), "lines", list)
}

// part returns a part of a time, from 0 to 1, in thousandths.
func part(of, total time.Duration) float64 {
	if total <= 0 {
		return 0
	}
	return float64(1000*of/total) / 1000
}

func (t *Tracer) print() {
	lines, sum := t.merged()
	if len(lines) == 0 {
		t.app.Log("profile: the script ran no lines, or its process ended before it reported them")
		return
	}
	t.app.Log("profile: %d steps in %s", sum.Steps, shortTime(sum.Time))
	width := 0
	shown := lines[:min(len(lines), maxProfile)]
	for _, l := range shown {
		width = max(width, len(place(l)))
	}
	t.app.LogRow(fmt.Sprintf("%9s %6s %9s  %s", "time", "share", "steps", "line"))
	for _, l := range shown {
		t.app.LogRow(fmt.Sprintf("%9s %5.1f%% %9d  %s  %s", shortTime(l.Time), 100*part(l.Time, sum.Time), l.Steps,
			draw.Pad(ui.VisibleLine(place(l)), width, false), ui.Brief(strings.TrimSpace(l.Text), draw.MaxText)))
	}
	if more := len(lines) - len(shown); more > 0 {
		t.app.Log("%s not shown: use --json", ui.Count(more, "more line"))
	}
}

func place(l trace.Line) string { return value.Position{File: l.File, Line: l.Line}.String() }
