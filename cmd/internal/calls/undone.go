package calls

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/operate"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Undone describes the outcome of an undo of a run for a person.
func Undone(run string, out *operate.Undone) string {
	var b strings.Builder
	EachUndone(run, out, func(_ draw.Symbol, text string) { b.WriteString(text + "\n") })
	return b.String()
}

// EachUndone calls line for each line of what [Undone] returns, with its symbol.
func EachUndone(run string, out *operate.Undone, line func(mark draw.Symbol, text string)) {
	lines := 0
	step := func(mark draw.Symbol, outcome string, s operate.UndoneStep, more string) {
		lines++
		line(mark, outcome+" step "+s.StepPath.String()+"  "+ui.VisibleLine(s.What)+more)
	}
	for _, s := range out.Done {
		if s.Already() {
			step(draw.Done, "already undone:", s, "")
		} else {
			step(draw.Done, "undid", s, changedFiles(s.Value))
		}
	}
	if out.Failed != nil {
		step(draw.Failed, "not undone:", *out.Failed, "")
	}
	for _, s := range out.Skipped {
		step(draw.Failed, "skipped:", s, ": "+ui.VisibleLine(value.ErrorOf(s.Err, value.Failed).Message()))
	}
	for _, s := range out.Left {
		step(draw.None, "not tried:", s, "")
	}
	for _, s := range out.Lasting {
		s.What = ui.CutShown(s.What, draw.MaxText)
		step(draw.Risk, "cannot be undone:", s, "")
	}
	if lines == 0 {
		line(draw.None, "The run "+run+" has nothing to undo")
	}
}

// changedFiles lists the files that an effect has changed.
func changedFiles(v value.Value) string {
	list, _ := value.Elements(v)
	var words []string
	for _, item := range list {
		if d, ok := item.(*value.Dict); ok && d.Has("path") {
			words = append(words, d.Text("action")+" "+d.Text("path"))
		}
	}
	if len(words) == 0 {
		return ""
	}
	const most = 8
	more := ""
	if len(words) > most {
		more = " and " + strconv.Itoa(len(words)-most) + " more"
		words = words[:most]
	}
	return ": " + ui.VisibleLine(strings.Join(words, ", ")) + more
}
