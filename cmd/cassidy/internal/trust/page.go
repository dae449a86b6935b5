package trust

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/app"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/approve"
	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
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
type reviewPage struct{ approve.Page }

// factWidth is the column at which the text of a fact begins.
const factWidth = 12

// fact writes a fact about a file. The text may be untrusted.
func (p *reviewPage) fact(label, text, code string) {
	before := "  " + p.Paint(code, ui.Pad(label, factWidth-3)) + " "
	for _, line := range wrapped(ui.VisibleLine(text), max(p.Width-factWidth, approve.MinText)) {
		p.WriteString(before + line + "\n")
		before = strings.Repeat(" ", factWidth)
	}
}

// quote writes a line of a file after a margin.
func (p *reviewPage) quote(before, line string) {
	rest := strings.Repeat(" ", utf8.RuneCountInString(before)-2) + "┊ "
	for _, piece := range ui.Fold(ui.VisibleLine(line), max(p.Width-utf8.RuneCountInString(before), approve.MinText)) {
		p.WriteString(p.Paint(ui.Dim, before) + piece + "\n")
		before = rest
	}
}

// wrapped breaks a text into lines, between words if possible.
func wrapped(text string, width int) (lines []string) {
	for line := range strings.Lines(ui.Wrap(text, "", width)) {
		lines = append(lines, ui.Fold(strings.TrimSuffix(line, "\n"), width)...)
	}
	return lines
}

// overview writes a line for each file.
func (p *reviewPage) overview(root string, files []trust.File) {
	verb := "are"
	if len(files) == 1 {
		verb = "is"
	}
	p.Line("%s in %s %s untrusted:\n", ui.Count(len(files), "file"), ui.VisibleLine(root), verb)
	for i := range files {
		p.Line("  %s  %s", ui.VisibleLine(files[i].Path), p.Paint(ui.Dim, "("+ui.VisibleLine(app.InShort(&files[i]))+")"))
	}
}

// file writes what a file may do, and its text or the changes of it.
func (p *reviewPage) file(f *trust.File, full bool) {
	state := "new"
	if f.Was != nil {
		state = "changed"
	}
	p.Line("\n%s  %s", p.Paint(ui.Bold, ui.VisibleLine(f.Path)), p.Paint(ui.Yellow, state))
	p.item("what", app.KindTexts[f.Kind])
	p.item("why", strings.TrimSuffix(f.Reason, "; run cassidy trust"))
	switch {
	case f.Tool != nil:
		p.tool(f)
	case f.Kind == trust.KindServers:
		p.servers(f.Text)
	}
	p.Line("")
	switch {
	case f.Was == nil || !f.HasOld:
		if f.Was != nil {
			p.Line("  (the complete file is shown: the trusted version was not kept)")
		}
		p.code(f.Text, full)
	case f.OldText == f.Text:
		p.Line("  (the file itself is unchanged)")
	default:
		p.Diff(f.OldText, f.Text)
	}
}

// item writes a fact without a colour.
func (p *reviewPage) item(name, text string) { p.fact(name, text, "") }

func (p *reviewPage) tool(f *trust.File) {
	t := f.Tool
	p.item("says", t.Summary())
	p.may(f)
	p.item("takes", ui.Count(len(t.Params), "parameter"))
	if len(t.Loads) > 0 {
		p.item("loads", strings.Join(t.Loads, ", "))
	}
}

// servers writes what the servers of a file start and may do.
func (p *reviewPage) servers(text string) {
	servers, warnings, err := mcpfile.Parse(text)
	if err != nil {
		p.fact("RISKY", "the file is not valid now, but a small change could make it valid: "+err.Error(), ui.Red)
		return
	}
	for i := range servers {
		for j, f := range servers[i].Facts() {
			switch {
			case j == 0:
				p.fact("server", f.Name+" "+f.Value, ui.Red)
			default:
				p.item("", f.Name+": "+f.Value)
			}
		}
	}
	for _, warning := range warnings {
		p.item("note", warning)
	}
}

// may writes what a file may do.
func (p *reviewPage) may(f *trust.File) {
	t := f.Tool
	if t == nil {
		p.item("what", app.KindTexts[f.Kind])
		if f.Kind == trust.KindServers {
			p.servers(f.Text)
		}
		return
	}
	added, removed := changedNeeds(f)
	for _, c := range ui.WorstFirst(t.Needs) {
		name, code := "may", ""
		if c.Acts() {
			name, code = "RISKY", ui.Red
		}
		words := ui.InWords(c)
		if slices.Contains(added, c) {
			words = "now also " + words
		}
		p.fact(name, words, code)
	}
	if len(t.Needs) == 0 {
		p.item("may", "only compute, without files, network and commands")
	}
	for _, c := range removed {
		p.item("no longer", ui.InWords(c))
	}
	for _, limit := range raisedLimits(&t.Tool) {
		p.item("takes", limit)
	}
}

// shownLines is the maximum number of lines of a new file that are shown without --full.
const shownLines = 400

// code writes a file with line numbers.
func (p *reviewPage) code(text string, full bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if i == shownLines && !full {
			p.Line("%s", p.Paint(ui.Yellow, fmt.Sprintf("  … %d more lines are hidden; to show them: cassidy trust --full", len(lines)-i)))
			return
		}
		p.quote(fmt.Sprintf("%5d │ ", i+1), strings.TrimSuffix(line, "\r"))
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
	return value.NewDict("project", r.Root, "author", r.Author, "trusted", trusted, "files", list, "errors", ui.ErrorList(r.Broken))
}
