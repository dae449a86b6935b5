package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/ui"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// kindWords says what a file is for.
var kindWords = map[trust.Kind]string{
	trust.KindTool:     "tool",
	trust.KindLib:      "code that tools load",
	trust.KindPolicy:   "policy: code that steers a model",
	trust.KindWorkflow: "workflow: code that calls tools",
	trust.KindSkill:    "skill: a model follows what it says",
	trust.KindNotes:    "notes: a model follows what they say",
	trust.KindServers:  "servers: programs that are started with your rights",
}

func capabilityTexts(list []tool.Capability) []string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.String()
	}
	return texts
}

func capabilityList(list []tool.Capability) value.List {
	texts := value.List{}
	for _, c := range list {
		texts = append(texts, c.String())
	}
	return texts
}

// inShort says on one line what a file may do.
func inShort(f *trust.File) string {
	if f.Tool == nil {
		return kindWords[f.Kind]
	}
	if len(f.Tool.Needs) == 0 {
		return "tool, only computes"
	}
	return "tool, needs " + ui.VisibleLine(strings.Join(capabilityTexts(ui.WorstFirst(f.Tool.Needs)), ", "))
}

// added and removed compare what a file needs with what was trusted of it.
func changedNeeds(f *trust.File) (added, removed []tool.Capability) {
	if f.Was == nil || f.Tool == nil {
		return nil, nil
	}
	for _, c := range f.Tool.Needs {
		if !slices.Contains(f.Was.Needs, c) {
			added = append(added, c)
		}
	}
	for _, c := range f.Was.Needs {
		if !slices.Contains(f.Tool.Needs, c) {
			removed = append(removed, c)
		}
	}
	return added, removed
}

// raisedLimits says which limits of a tool are above the usual.
func raisedLimits(t *tool.Tool) []string {
	var list []string
	if t.Limits.Steps > tool.DefaultSteps {
		list = append(list, fmt.Sprintf("%d steps (usually %d)", t.Limits.Steps, tool.DefaultSteps))
	}
	if t.Limits.CPU > tool.DefaultCPU {
		list = append(list, fmt.Sprintf("%v of computing (usually %v)", t.Limits.CPU, tool.DefaultCPU))
	}
	if t.Limits.Memory > tool.DefaultMemory {
		list = append(list, fmt.Sprintf("%d MB of memory (usually %d)", t.Limits.Memory>>20, tool.DefaultMemory>>20))
	}
	if t.Limits.Result > tool.DefaultResult {
		list = append(list, fmt.Sprintf("a result of %d MB (usually %d)", t.Limits.Result>>20, tool.DefaultResult>>20))
	}
	if t.Timeout > tool.DefaultTimeout {
		list = append(list, fmt.Sprintf("%v a call (usually %v)", t.Timeout, tool.DefaultTimeout))
	}
	return list
}

// A reviewPage shows files to who shall trust them. Whatever a file says is
// shown so that it is seen: nothing in it can steer the terminal or hide.
// Each of its lines stands behind something that no file can write there, on
// every line of the terminal.
type reviewPage struct {
	ui.Page
	width int // columns
}

// factWidth is how far in a fact begins.
const factWidth = 12

// fact writes what cassidy says of a file, with a file's own words in it.
func (p *reviewPage) fact(label, text, code string) {
	before := "  " + p.Paint(code, ui.Pad(label, factWidth-3)) + " "
	for _, line := range wrapped(ui.VisibleLine(text), max(p.width-factWidth, minText)) {
		p.WriteString(before + line + "\n")
		before = strings.Repeat(" ", factWidth)
	}
}

// quote writes a line of a file behind a margin.
func (p *reviewPage) quote(before, line, code string) {
	rest := strings.Repeat(" ", utf8.RuneCountInString(before)-2) + "┊ "
	for _, piece := range ui.Fold(ui.VisibleLine(line), max(p.width-utf8.RuneCountInString(before), minText)) {
		p.WriteString(p.Paint(ui.Dim, before) + p.Paint(code, piece) + "\n")
		before = rest
	}
}

// wrapped cuts a text into lines between words, and where a word is longer, in
// it.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) <= width:
			line += " " + word
		default:
			lines = append(lines, ui.Fold(line, width)...)
			line = word
		}
	}
	return append(lines, ui.Fold(line, width)...)
}

// overview is one line for each file.
func (p *reviewPage) overview(root string, files []trust.File) {
	verb := "are"
	if len(files) == 1 {
		verb = "is"
	}
	p.Line("%s in %s %s not trusted:\n", ui.Count(len(files), "file"), ui.VisibleLine(root), verb)
	for i := range files {
		p.Line("  %s  %s", ui.VisibleLine(files[i].Path), p.Paint(ui.Dim, "("+inShort(&files[i])+")"))
	}
}

// file shows one file: what it may do, and its code, or what of it changed.
func (p *reviewPage) file(f *trust.File, full bool) {
	state := "new"
	if f.Was != nil {
		state = "changed"
	}
	p.Line("\n%s  %s", p.Paint(ui.Bold, ui.VisibleLine(f.Path)), p.Paint(ui.Yellow, state))
	p.item("what", kindWords[f.Kind])
	p.item("why", strings.TrimSuffix(f.Reason, "; run cassidy trust"))
	if f.Tool != nil {
		p.tool(f)
	}
	p.Line("")
	switch {
	case f.Was == nil || !f.HasOld:
		if f.Was != nil {
			p.Line("  (how it read before is lost; this is all of it)")
		}
		p.code(f.Text, full)
	case f.OldText == f.Text:
		p.Line("  (the file itself is as it was)")
	default:
		p.diff(f)
	}
}

// item is one fact that needs no colour.
func (p *reviewPage) item(name, text string) { p.fact(name, text, "") }

func (p *reviewPage) tool(f *trust.File) {
	t := f.Tool
	p.item("says", t.Summary())
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
		p.item("may", "only compute: it reaches no files, no network and no commands")
	}
	for _, c := range removed {
		p.item("no longer", ui.InWords(c))
	}
	for _, limit := range raisedLimits(t) {
		p.item("takes", limit)
	}
	p.item("takes", ui.Count(len(t.Params), "parameter"))
	if len(t.Loads) > 0 {
		p.item("loads", strings.Join(t.Loads, ", "))
	}
}

// shownLines is how much of a new file is shown at once: the longest that
// people read to its end.
const shownLines = 400

// code shows a file with its line numbers.
func (p *reviewPage) code(text string, full bool) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		if i == shownLines && !full {
			p.Line("%s", p.Paint(ui.Yellow, fmt.Sprintf("  … %d more lines: cassidy trust --full shows them", len(lines)-i)))
			return
		}
		p.quote(fmt.Sprintf("%5d │ ", i+1), strings.TrimSuffix(line, "\r"), "")
	}
}

// diff shows what of a file changed.
func (p *reviewPage) diff(f *trust.File) {
	text, err := udiff.ToUnified("trusted", "now", f.OldText, udiff.Lines(f.OldText, f.Text), udiff.DefaultContextLines)
	if err != nil {
		p.code(f.Text, true)
		return
	}
	for line := range strings.Lines(text) {
		code := ""
		switch line[0] {
		case '+':
			code = ui.Green
		case '-':
			code = ui.Red
		}
		p.quote("  │ ", strings.TrimSuffix(line, "\n"), code)
	}
}

// reviewJSON is a review for a program.
func reviewJSON(r *trust.Review, files []trust.File, trusted bool) *value.Dict {
	list := value.List{}
	for i := range files {
		f := &files[i]
		added, removed := changedNeeds(f)
		d := value.NewDict("path", f.Path, "kind", string(f.Kind), "reason", f.Reason, "hash", f.Hash, "changed", f.Was != nil)
		if t := f.Tool; t != nil {
			limits, loads := value.List{}, value.List{}
			for _, l := range raisedLimits(t) {
				limits = append(limits, l)
			}
			for _, l := range t.Loads {
				loads = append(loads, l)
			}
			d.Put("name", t.Name)
			d.Put("description", t.Description)
			d.Put("needs", capabilityList(t.Needs))
			d.Put("added", capabilityList(added))
			d.Put("removed", capabilityList(removed))
			d.Put("risky", t.NeedsApproval())
			d.Put("raised_limits", limits)
			d.Put("parameters", int64(len(t.Params)))
			d.Put("loads", loads)
		}
		d.Put("text", f.Text)
		if f.HasOld {
			d.Put("old_text", f.OldText)
		}
		list = append(list, d)
	}
	return value.NewDict("project", r.Root, "author", r.Author, "trusted", trusted, "files", list, "errors", ui.ErrorList(r.Broken))
}
