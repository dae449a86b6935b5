package calls

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Undone describes the outcome of an undo of a run for a person.
func Undone(run string, out *host.Undone) string {
	var b strings.Builder
	line := func(outcome string, s host.UndoneStep, more string) {
		b.WriteString(outcome + " step " + s.StepPath.String() + "  " + ui.VisibleLine(s.What) + more + "\n")
	}
	for _, s := range out.Done {
		if s.Already() {
			line("already undone:", s, "")
		} else {
			line("undid", s, changedFiles(s.Value))
		}
	}
	if out.Failed != nil {
		line("not undone:", *out.Failed, "")
	}
	for _, s := range out.Skipped {
		line("skipped:", s, ": "+ui.VisibleLine(value.ErrorOf(s.Err, value.Failed).Message()))
	}
	for _, s := range out.Left {
		line("not tried:", s, "")
	}
	for _, s := range out.Lasting {
		s.What = ui.CutShown(s.What, ui.LineWidth)
		line("cannot be undone:", s, "")
	}
	if b.Len() == 0 {
		return "The run " + run + " has nothing to undo\n"
	}
	return b.String()
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
