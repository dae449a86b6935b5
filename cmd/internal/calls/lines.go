package calls

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Lines draws the calls of runs on a terminal: a line for each when it has ended. Calls are numbered through all runs.
type Lines struct {
	app   *app.App
	Made  []*Made // the last ones
	first int     // the number of the first of them
	todo  []string
	asked *value.Dict // the arguments of the last call that writes the list
	names int         // cells of the longest name so far
	said  string      // the text of the model that is shown
	last  block       // what was drawn last
	*output
}

// A Made is a call that was made.
type Made struct {
	Number int
	Tool   string
	Args   *value.Dict
	End    tool.ToolCallEnd
	id     string
}

// A block is what stands together, with an empty line before it.
type block int

const (
	noBlock block = iota
	TextBlock
	callBlock
)

const (
	maxMade   = 200 // how many calls are kept
	maxReason = 8   // how many lines of a reason are shown
	maxFailed = 3   // and of an error
	// pageRight is where the figures of calls end, unless the calls need more room.
	pageRight = 80
	roomy     = 60 // cells, from which all times are shown
	// Names are padded to these cells.
	leastName, maxName = 11, 20
)

// NewLines returns the lines of no run.
func NewLines(a *app.App) *Lines {
	l := &Lines{app: a, first: 1, names: leastName}
	l.output = &output{app: a, indent: "     ", most: maxOutput, begin: func() { l.Begin(callBlock) }}
	return l
}

// Begin begins a block: there is an empty line before it, unless it continues the last one.
func (l *Lines) Begin(b block) {
	if l.last != noBlock && l.last != b && !l.app.Quiet {
		l.app.Draw([]string{""})
	}
	l.last = b
}

// Restart forgets what is above, as a person has typed.
func (l *Lines) Restart() { l.last, l.said = noBlock, "" }

// Said notes a text of the model that is shown: a reason that is a part of it is not shown again.
func (l *Lines) Said(text string) {
	if text != "" {
		l.said = text
	}
}

// Call returns the call with a number, or nil.
func (l *Lines) Call(number int) *Made {
	if at := number - l.first; at >= 0 && at < len(l.Made) {
		return l.Made[at]
	}
	return nil
}

// Numbers returns the numbers of the first and the last call that are kept; 0 without calls.
func (l *Lines) Numbers() (first, last int) {
	if len(l.Made) == 0 {
		return 0, 0
	}
	return l.first, l.first + len(l.Made) - 1
}

// show shows an event of a run, and reports whether it did. Of calls below its own there is only the output.
func (l *Lines) show(e tool.Event, own, nested bool) bool {
	switch d := e.Data.(type) {
	case tool.Decided:
		if own {
			l.decided(&d)
		}
	case tool.ToolCallStart:
		switch {
		case nested:
		case e.Tool == todoTool: // has a number only if it fails
			l.asked = d.Args
		default:
			l.start(e, d.Args)
		}
	case tool.ToolCallEnd:
		if nested {
			l.flush(e.Call)
		} else if list, ok := d.Result.(string); ok && e.Tool == todoTool && d.Success {
			l.showTodo(list)
		} else {
			l.end(e, d)
		}
	case tool.ToolOutput:
		l.add(e.Call, d.Chunk)
	default:
		return false
	}
	return true
}

// decided shows what the model says about a call, once for all calls of a reply, and that a decision was invalid.
func (l *Lines) decided(d *tool.Decided) {
	a, s := l.app, l.app.ScreenOf(l.app.Err)
	if a.Quiet {
		return
	}
	if d.Kind == "error" {
		a.Alert("invalid reply: %s", strings.TrimSpace(d.Error))
	}
	if d.Kind != "call" {
		return
	}
	if d.Action != todoTool {
		l.named(d.Action)
	}
	why := strings.TrimSpace(d.Reasoning)
	if why == "" || strings.Contains(l.said, why) {
		return
	}
	l.said = why
	l.Begin(TextBlock)
	lines := slices.DeleteFunc(s.Inside(2).Markdown(ui.Visible(why)), func(line string) bool { return line == "" })
	l.quote("", lines, maxReason)
}

// quote prints the first lines of a text behind a margin, and how many more there are.
func (l *Lines) quote(indent string, lines []string, most int) {
	s := l.app.ScreenOf(l.app.Err)
	lines = s.Behind(indent, lines)
	if more := len(lines) - most; more > 1 && !l.app.Verbose {
		lines = append(lines[:most:most], indent+s.Paint(draw.Dim, s.Fold(more, "more line", "")))
	}
	l.app.Draw(lines)
}

func (l *Lines) start(e tool.Event, args *value.Dict) {
	l.Made = append(l.Made, &Made{Number: l.first + len(l.Made), Tool: e.Tool, Args: args, id: e.Call})
	if len(l.Made) > maxMade {
		l.Made, l.first = l.Made[1:], l.first+1
	}
	l.named(e.Tool)
}

// named makes the column of names wide enough for one.
func (l *Lines) named(name string) {
	l.names = max(l.names, min(maxName, draw.Cells(ui.VisibleLine(name))))
}

// end draws the line of a call that has ended, and what it failed with or its own preview below.
func (l *Lines) end(e tool.Event, d tool.ToolCallEnd) {
	at := slices.IndexFunc(l.Made, func(m *Made) bool { return m.id == e.Call })
	if at < 0 {
		l.start(e, l.asked)
		at = len(l.Made) - 1
	}
	m := l.Made[at]
	m.End, m.id = d, ""
	said := l.flush(e.Call)
	l.app.Made++
	if !d.Success && !d.Waits {
		l.app.Failed++
	}
	if l.app.Quiet || d.Recorded {
		return
	}
	if d.Unshown != "" {
		l.app.Debug("the preview of the tool failed: %s", d.Unshown)
	}
	l.Begin(callBlock)
	s := l.app.ScreenOf(l.app.Err)
	figures, below := m.came(s)
	if said && d.Err != nil && d.Err.Kind == value.Command {
		below = nil // it is the output above
	}
	l.app.Draw([]string{m.line(s, l.names, figures)})
	if len(below) > 0 {
		l.quote(l.indent, below, maxFailed)
	}
}

func (m *Made) mark() draw.Symbol {
	switch {
	case m.End.Waits:
		return draw.Waits
	case !m.End.Success:
		return draw.Failed
	}
	return draw.Done
}

// lead is what is before the name of the tool.
func (m *Made) lead(s draw.Screen) string {
	return s.Gutter(m.mark()) + draw.Pad(strconv.Itoa(m.Number), 2, false) + " "
}

// line returns the line of a call: its number, the tool, what it is about, figures, and how long it took.
func (m *Made) line(s draw.Screen, names int, figures string) string {
	took, about := "", About(m.Args)
	if least := 100 * time.Millisecond; m.End.Duration >= least && (s.Most() >= roomy || m.End.Duration > 100*least) {
		took = ui.Elapsed(m.End.Duration)
	}
	name := ui.VisibleLine(m.Tool)
	if s.Plain {
		words := draw.Join(", ", strings.TrimSpace(name+" "+about), figures, took)
		return strings.Join(s.Message(m.mark(), strconv.Itoa(m.Number)+" "+words), "\n")
	}
	left := m.lead(s) + draw.Pad(s.Cut(name, s.Most()-6), names, false) + "  "
	if s.Most() >= roomy {
		took = draw.Pad(took, 5, true)
	}
	figures = s.Cut(figures, s.Most()/3)
	right := "  " + figures
	if took != "" {
		right += "  " + s.Paint(draw.Dim, took)
	}
	width := draw.Cells(right)
	edge := min(s.Most(), max(pageRight-1, draw.Cells(left+about)+width))
	room := edge - draw.Cells(left) - width
	if room < 8 && draw.Cells(about) > room { // figures go first
		return s.Cut(left+about, s.Most())
	}
	line := left + draw.Pad(s.CutText(about, room), room, false)
	return strings.TrimRight(line+strings.TrimSuffix(right, s.Paint(draw.Dim, "     ")), " ")
}

// Full returns the lines of a call with all of its arguments and its result.
func (m *Made) Full(s draw.Screen) []string {
	figures, _ := m.came(s)
	lines := []string{m.line(s, 0, figures)}
	add := func(label string, v value.Value) {
		if v != nil {
			lines = append(lines, "  "+s.Paint(draw.Dim, label))
			lines = append(lines, s.Behind("  ", s.Inside(4).Value(v, draw.Folds{AllRows: true, AllColumns: true}))...)
		}
	}
	add("arguments", m.Args.OrEmpty())
	if e := m.End.Err; e != nil {
		add("error", e.Message())
	}
	add("result", m.End.Result)
	return lines
}

// telling are the arguments that say what a call is about, in this order.
func telling() []string {
	return []string{"command", "filepath", "path", "file", "url", "pattern", "query", "question", "task", "name", "id"}
}

// About returns what a call is about, on a line: its most telling arguments, or all of them.
func About(args *value.Dict) string {
	var words []string
	for _, name := range telling() {
		if text, ok := args.OrEmpty().Get(name); ok {
			if text, ok := text.(string); ok && text != "" {
				words = append(words, ui.VisibleLine(ui.CutShown(strings.TrimSpace(text), draw.MaxText)))
			}
		}
	}
	if len(words) == 0 {
		return strings.TrimSpace(ui.VisibleLine(describe.ArgsText(args.OrEmpty())))
	}
	return strings.Join(words, "  ")
}

// came returns what came of a call in a few words, and lines to show below.
func (m *Made) came(s draw.Screen) (figures string, below []string) {
	d := &m.End
	preview := strings.TrimSpace(d.Preview)
	switch {
	case d.Waits:
		return "waits", nil
	case !d.Success:
		return failure(d.Err, preview)
	case d.Shown:
		first, rest, more := strings.Cut(preview, "\n")
		if more {
			below = strings.Split(ui.Visible(rest), "\n")
		}
		return ui.VisibleLine(first), below
	}
	switch v := d.Result.(type) {
	case nil:
		return "", nil
	case string:
		return m.textFigures(s, strings.TrimSpace(v)), nil
	case value.Media:
		return ui.VisibleLine(v.String()), nil
	case *value.Dict:
		if counts := s.Counts(v); draw.Cells(counts) <= s.Most()/3 && counts != "" {
			return counts, nil
		}
	}
	return size(s, len(s.Value(d.Result, draw.Folds{AllRows: true, AllColumns: true}))), nil
}

// size says how many lines a result has that are not shown.
func size(s draw.Screen, lines int) string {
	if s.Plain {
		return ui.Count(lines, "line")
	}
	return s.Paint(draw.Dim, s.Fold(lines, "line", ""))
}

// hunks is the head of a part of a unified diff.
var hunks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^@@ -\d.* @@`) })

// textFigures returns what a text that is a result has: changed lines, its words if it has few, or its size.
func (m *Made) textFigures(s draw.Screen, text string) string {
	if at := hunks().FindStringIndex(text); at != nil {
		added, removed := 0, 0
		for line := range strings.Lines(text[at[0]:]) {
			switch line[0] {
			case '+':
				added++
			case '-':
				removed++
			}
		}
		return s.Own(fmt.Sprintf("+%d −%d", added, removed))
	}
	if n := strings.Count(text, "\n"); n > 0 {
		return size(s, n+1)
	}
	if at := strings.LastIndex(text, " ("); at >= 0 && strings.HasSuffix(text, ")") && strings.Contains(text[:at], About(m.Args)) {
		text = text[at+2 : len(text)-1] // the rest repeats the arguments
	}
	return ui.VisibleLine(ui.CutShown(text, draw.MaxText))
}

// exitLine is the first line of the error of a command.
var exitLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\S+: (exit code \d+)\n?`) })

// failure returns what a call failed with: an exit code, and lines of the error.
func failure(e *value.Error, preview string) (figures string, below []string) {
	text := preview
	if e != nil {
		text = strings.TrimSpace(e.Message())
		if exit := exitLine().FindStringSubmatch(text); exit != nil && e.Kind == value.Command {
			figures, text = strings.Replace(exit[1], " code", "", 1), text[len(exit[0]):]
		}
	}
	for line := range strings.SplitSeq(ui.Visible(text), "\n") {
		if line != "" && (figures == "" || line != "stderr:" && line != "stdout:") {
			below = append(below, line)
		}
	}
	return figures, below
}

// showTodo shows the list of the model: all of it at first, and then the lines that have changed.
func (l *Lines) showTodo(list string) {
	now := strings.Split(strings.TrimRight(list, "\n"), "\n")
	before := l.todo
	if l.todo = now; l.app.Quiet {
		return
	}
	if len(before) == 0 {
		l.Begin(TextBlock)
		l.Todo()
		return
	}
	l.Begin(callBlock)
	var changed []string
	done := 0
	for _, line := range now {
		if strings.HasPrefix(line, "[x]") {
			done++
		}
		if !slices.Contains(before, line) {
			changed = append(changed, ui.VisibleLine(line))
		}
	}
	s := l.app.ScreenOf(l.app.Err)
	count, page := strconv.Itoa(done)+"/"+strconv.Itoa(len(now)), s
	page.Width = min(s.Width, pageRight)
	if line := strings.Join(changed, s.Between()); !s.Plain && draw.Cells(line)+draw.Cells(count)+4 <= page.Most() {
		changed = []string{line}
	}
	if len(changed) == 0 {
		changed = []string{""}
	}
	for i, line := range changed {
		right := ""
		if i == len(changed)-1 {
			right = count
		}
		l.app.Draw(page.Head(draw.None, page.Cut(line, page.Most()-2), right))
	}
}

// Todo shows the whole list of the model, and reports whether there is one.
func (l *Lines) Todo() bool {
	for _, line := range l.todo {
		l.app.LogLine(ui.VisibleLine(line))
	}
	return len(l.todo) > 0
}

// Recall takes over the list that a model has written before.
func (l *Lines) Recall(list string) { l.todo = strings.Split(strings.TrimRight(list, "\n"), "\n") }

// Gap leaves a line empty between the calls of a run and its result, on a terminal.
func Gap(a *app.App) {
	if a.Made > 0 && !a.Quiet && ui.IsTerminal(a.Err) {
		a.Draw([]string{""})
	}
}

// Known returns what a run used, without what is not known.
func Known(used string) string {
	parts := slices.DeleteFunc(strings.Split(used, ", "), func(part string) bool { return strings.HasSuffix(part, " unknown") })
	return strings.Join(parts, ", ")
}

// ReportUsed reports on what a run used: on a terminal with its calls, its time and its ID, without what is not known.
func ReportUsed(a *app.App, run, used string) {
	s := a.ScreenOf(a.Err)
	if a.Quiet || used == "" && a.Made == 0 {
		return
	}
	if s.Width <= 0 {
		if used != "" {
			a.Note("used %s", used)
		}
		return
	}
	var parts []string
	if a.Made > 0 {
		text := ui.Count(a.Made, "call")
		if a.Failed > 0 {
			text += " (" + strconv.Itoa(a.Failed) + " failed)"
		}
		parts = append(parts, text)
	}
	if used != "" {
		parts = append(parts, strings.Split(Known(used), ", ")...)
	}
	if end, ok := a.RunEnd.Data.(tool.RunEnd); ok && end.Duration >= 100*time.Millisecond {
		parts = append(parts, ui.Elapsed(end.Duration))
	}
	if a.HasRun(run) {
		parts = append(parts, "run "+ui.VisibleLine(run))
	}
	of := draw.Rule
	if s.Plain {
		of = draw.None
	}
	a.Draw(append([]string{""}, s.Message(of, s.Paint(draw.Dim, strings.Join(parts, s.Between())))...))
}
