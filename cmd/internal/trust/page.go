package trust

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/internal/review"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// changedNeeds compares what a tool needs with what it needed when it was trusted.
func changedNeeds(f *trust.File) (added, removed []tool.Capability) {
	if f.Was == nil || f.Tool == nil {
		return nil, nil
	}
	missing := func(list, other []tool.Capability) []tool.Capability {
		return slices.DeleteFunc(slices.Clone(list), func(c tool.Capability) bool { return slices.Contains(other, c) })
	}
	return missing(f.Tool.Needs, f.Was.Needs), missing(f.Was.Needs, f.Tool.Needs)
}

// raisedLimits describes the limits of a tool that are above the defaults.
func raisedLimits(t *tool.Tool) (list []string) {
	add := func(raised bool, format string, limit, usual any) {
		if raised {
			list = append(list, fmt.Sprintf(format, limit, usual))
		}
	}
	l := t.Limits
	add(l.Steps > tool.DefaultSteps, "%d steps (usually %d)", l.Steps, tool.DefaultSteps)
	add(l.CPU > tool.DefaultCPU, "%v of computing (usually %v)", l.CPU, tool.DefaultCPU)
	add(l.Memory > tool.DefaultMemory, "%d MB of memory (usually %d)", l.Memory>>20, tool.DefaultMemory>>20)
	add(l.Result > tool.DefaultResult, "a result of %d MB (usually %d)", l.Result>>20, tool.DefaultResult>>20)
	add(l.Requests > tool.DefaultRequests, "%d HTTP requests a call (usually %d)", l.Requests, tool.DefaultRequests)
	add(t.Timeout > tool.DefaultTimeout, "%v a call (usually %v)", t.Timeout, tool.DefaultTimeout)
	return list
}

// A reviewPage shows untrusted files. Their text is made visible, so that it cannot control
// the terminal or hide anything. Each of its lines on the terminal begins with a margin or
// an indent.
type reviewPage struct {
	approve.Page
	risky map[string]bool // the files that are asked about by themselves
}

func (t *Session) page() *reviewPage {
	return &reviewPage{approve.Page{Screen: t.ScreenOf(t.Out), All: true}, t.risky}
}

// factLabel is how many cells the label of a fact has.
const factLabel = 9

// fact writes a fact about a file after a symbol. The text may be untrusted.
func (p *reviewPage) fact(mark draw.Symbol, label, text string) {
	p.Lines(p.Fact(mark, draw.Pad(label, factLabel, false), ui.VisibleLine(text)))
}

// item writes a fact without a symbol.
func (p *reviewPage) item(label, text string) { p.fact(draw.None, label, text) }

// mark returns the symbol of a file.
func (p *reviewPage) mark(f *trust.File) draw.Symbol {
	if p.risky[f.Path] {
		return draw.Risk
	}
	return draw.None
}

// overview writes a line for each file.
func (p *reviewPage) overview(root string, files []trust.File) {
	verb := "wait"
	if len(files) == 1 {
		verb = "waits"
	}
	p.Lines(p.Message(draw.None, p.Paint(draw.Bold, fmt.Sprintf("%s of %s %s for your review", ui.Count(len(files), "file"), ui.VisibleLine(root), verb))))
	p.Lines([]string{""})
	digits, widest := len(fmt.Sprint(len(files))), 0
	for i := range files {
		widest = max(widest, min(draw.Cells(ui.VisibleLine(shortPath(&files[i]))), p.Most()*2/3))
	}
	for i := range files {
		path := draw.Pad(p.CutPath(ui.VisibleLine(shortPath(&files[i])), widest), widest, false)
		p.Lines(p.Beside(p.mark(&files[i]), fmt.Sprintf("%*d  %s", digits, i+1, path), ui.VisibleLine(can(&files[i]))))
	}
}

// shortPath returns the path of a file without the folder that most files are in.
func shortPath(f *trust.File) string { return strings.TrimPrefix(f.Path, folder.Name+"/") }

// can describes on a line what a file can do.
func can(f *trust.File) string {
	text := app.KindTexts[f.Kind]
	switch {
	case f.Tool != nil && len(f.Tool.Needs) > 0:
		text = strings.Join(ui.Map(ui.WorstFirst(f.Tool.Needs), tool.Capability.InWords), "; ")
	case f.Tool != nil:
		text = "only computes"
	}
	if n := invisible(f); n > 0 {
		text += "; " + ui.Count(n, "invisible character")
	}
	return text
}

// title writes the path of a file, and whether it is new.
func (p *reviewPage) title(f *trust.File, before string) {
	state, risk := "new", ""
	if f.Was != nil {
		state = "changed"
	}
	if p.risky[f.Path] {
		risk = p.RiskWord()
	}
	p.Lines(p.Head(draw.Asks, before+p.Paint(draw.Bold, ui.VisibleLine(f.Path))+"  "+state, risk))
}

// briefLines is how many lines of a change are shown without being asked for.
const briefLines = 20

// brief writes how much of a file must be read, or the change of it if that is short. It reports whether the text was shown.
func (p *reviewPage) brief(f *trust.File, viewed bool) bool {
	if changed := f.Was != nil && f.HasOld; changed && f.OldText == f.Text {
		p.Lines(p.Message(draw.None, "(the file itself is unchanged)"))
		return true
	} else if changed {
		own := reviewPage{Page: approve.Page{Screen: p.Screen, All: true}}
		if own.Diff(f.OldText, f.Text); strings.Count(own.String(), "\n") <= briefLines {
			p.WriteString(own.String())
			return true
		}
	}
	if !viewed {
		what := " of text"
		if f.Tool != nil || strings.HasSuffix(f.Path, ".star") || strings.HasSuffix(f.Path, ".lua") {
			what = " of code"
		}
		lines := strings.Count(strings.TrimSuffix(f.Text, "\n"), "\n") + 1
		p.Lines(draw.Wrap("  "+p.Mark(draw.Folded)+" ", ui.Count(lines, "line")+what+", not read yet (v)", p.Most()))
	}
	return viewed
}

// file writes what a file may do, and its text or the changes of it.
func (p *reviewPage) file(f *trust.File, full bool) {
	p.Lines([]string{""})
	p.title(f, "")
	p.facts(f)
	p.marks(f)
	p.Lines([]string{""})
	p.text(f, full)
}

// marks writes how many characters of a file nobody can see, or look like others.
func (p *reviewPage) marks(f *trust.File) {
	r := &review.Review{}
	r.Text(f.Text)
	p.Marks(r)
}

// text writes the text of a file, or the changes of it.
func (p *reviewPage) text(f *trust.File, full bool) {
	switch {
	case f.Was == nil || !f.HasOld:
		if f.Was != nil {
			p.Lines(p.Message(draw.None, "(the complete file is shown: the trusted version was not kept)"))
		}
		p.code(f.Text, full)
	case f.OldText == f.Text:
		p.Lines(p.Message(draw.None, "(the file itself is unchanged)"))
	default:
		p.Diff(f.OldText, f.Text)
	}
}

// facts writes what a file is and can do.
func (p *reviewPage) facts(f *trust.File) {
	if f.Tool == nil {
		p.item("what", app.KindTexts[f.Kind])
	}
	if f.Was != nil {
		p.item("why", strings.TrimSuffix(f.Reason, "; run cassidy trust"))
	}
	switch {
	case f.Tool != nil:
		p.able(f)
	case f.Kind == trust.KindServers:
		p.servers(f.Text)
	}
}

// able writes what a tool can do and says.
func (p *reviewPage) able(f *trust.File) {
	t := f.Tool
	added, removed := changedNeeds(f)
	for _, c := range ui.WorstFirst(t.Needs) {
		symbol, words := draw.None, c.InWords()
		if c.Acts() {
			symbol = draw.Risk
		}
		if slices.Contains(added, c) {
			words = "now also " + words
		}
		p.fact(symbol, "can", words)
	}
	if len(t.Needs) == 0 {
		p.item("can", "only compute, without files, network and commands")
	}
	for _, c := range removed {
		p.item("no longer", c.InWords())
	}
	for _, limit := range raisedLimits(&t.Tool) {
		p.item("takes", limit)
	}
	p.item("says", t.Summary())
	p.item("takes", ui.Count(len(t.Params), "parameter"))
	if len(t.Loads) > 0 {
		p.item("loads", strings.Join(t.Loads, ", "))
	}
}

// servers writes what the servers of a file start and may do.
func (p *reviewPage) servers(text string) {
	servers, warnings, err := mcpfile.Parse(text)
	if err != nil {
		p.fact(draw.Risk, "invalid", "the file is not valid now, but a small change could make it valid: "+err.Error())
		return
	}
	for i := range servers {
		for j, f := range servers[i].Facts() {
			switch {
			case j == 0:
				p.fact(draw.Risk, "server", f.Name+" "+f.Value)
			default:
				p.item("", f.Name+": "+f.Value)
			}
		}
	}
	for _, warning := range warnings {
		p.item("note", warning)
	}
}

// shownLines is the maximum number of lines of a new file that are shown without --full.
const shownLines = 400

// code writes a file with line numbers.
func (p *reviewPage) code(text string, full bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if i == shownLines && !full {
			p.Lines(draw.Wrap("  "+p.Mark(draw.Folded)+" ", fmt.Sprintf("%d more lines are hidden; to show them: cassidy trust --full", len(lines)-i), p.Most()))
			return
		}
		p.Lines(p.Numbered(i+1, ui.VisibleLine(strings.TrimSuffix(line, "\r"))))
	}
}

// reviewJSON returns a review as --json prints it.
func reviewJSON(r *trust.Review, files []trust.File, trusted bool) *value.Dict {
	list := value.List{}
	for i := range files {
		f := &files[i]
		added, removed := changedNeeds(f)
		d := value.NewDict("path", f.Path, "kind", string(f.Kind), "reason", f.Reason, "hash", f.Hash, "changed", f.Was != nil)
		if t := f.Tool; t != nil {
			d.Put("name", t.Name)
			d.Put("description", t.Description)
			d.Put("needs", ui.Texts(t.Needs))
			d.Put("added", ui.Texts(added))
			d.Put("removed", ui.Texts(removed))
			d.Put("risky", t.NeedsApproval())
			d.Put("raised_limits", ui.Texts(raisedLimits(&t.Tool)))
			d.Put("parameters", int64(len(t.Params)))
			d.Put("loads", ui.Texts(t.Loads))
		}
		d.Put("text", f.Text)
		if f.HasOld {
			d.Put("old_text", f.OldText)
		}
		list = append(list, d)
	}
	return value.NewDict("project", r.Root, "author", r.Author, "trusted", trusted, "files", list, "errors", describe.ErrorList(r.Broken))
}
