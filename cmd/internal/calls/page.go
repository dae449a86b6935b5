package calls

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Page describes a tool for a person.
type Page struct{ draw.Page }

// NewPage returns a page for standard output.
func NewPage(a *app.App) *Page { return &Page{draw.Page{Screen: a.ScreenOf(a.Out)}} }

// Head writes the name of a tool, and why it cannot be used.
func (p *Page) Head(t *toolset.Info) {
	p.Text("", p.Paint(draw.Bold, t.Name)+p.Own(" — ")+ui.VisibleLine(t.DisplayTitle()))
	if d := t.Deprecated; d != nil {
		note := "DEPRECATED"
		if d.Since != "" {
			note += " since " + d.Since
		}
		p.alert(draw.Risk, ui.VisibleLine(note))
		if d.Message != "" {
			p.Text("", ui.Printable(d.Message))
		}
		if d.Replacement != "" {
			p.Line("Use " + ui.VisibleLine(d.Replacement) + " instead.")
		}
	}
	if t.State != toolset.Ready {
		p.alert(draw.Failed, "Unavailable ("+string(t.State)+"): "+ui.VisibleLine(t.Reason))
	}
	p.Line("")
}

// alert writes why a tool should not be used, or cannot be.
func (p *Page) alert(mark draw.Symbol, text string) {
	if p.Width > 0 {
		p.Lines(p.Message(mark, text))
		return
	}
	p.Line(p.Paint(draw.Bold, text))
}

// Facts writes how calls of a tool are handled.
func (p *Page) Facts(t *tool.Tool) {
	p.Line("")
	p.Fact("Group", t.DisplayGroup())
	risky := "no"
	if t.NeedsApproval() {
		risky = "yes: asks before it runs"
	}
	p.Fact("Risky", risky)
	p.Fact("Hints", strings.Join(t.Hints.Words(), ", "))
}

// Params writes the parameters of a tool; full includes their constraints.
func (p *Page) Params(t *tool.Tool, full bool) {
	p.Title("Parameters")
	shown, err := t.CallerParams()
	if err != nil {
		p.Line("  see the schema: cassidy tool schema " + ui.VisibleLine(t.Name))
		return
	}
	if len(shown) == 0 {
		p.Line("  none")
		return
	}
	width := 0
	for i := range shown {
		shown[i].Name = ui.VisibleLine(shown[i].Name) // that of a schema can be any text
		width = max(width, draw.Cells(shown[i].Name))
	}
	for _, x := range shown {
		need := "optional"
		if x.Required {
			need = "required"
		}
		facts := []string{x.Type.String(), need}
		if x.HasDefault && x.Default != nil {
			facts = append(facts, "default: "+value.FormatJSON(x.Default, ""))
		}
		if full {
			facts = append(facts, constraints(&x)...)
		}
		p.param(x.Name, width, "("+strings.Join(facts, ", ")+")", ui.Printable(x.Description))
	}
}

// param writes a parameter, and its description below.
func (p *Page) param(name string, width int, facts, description string) {
	first, below := "  "+p.Paint(draw.Bold, draw.Pad(name, width, false))+"  ", strings.Repeat(" ", width+4)
	if p.Width <= 0 {
		p.Line(first + p.Paint(draw.Dim, facts))
	} else {
		if width+4 > p.Most()/2 { // there is no room beside the name
			p.Line("  " + p.Paint(draw.Bold, name))
			first, below = "      ", "      "
		}
		for i, line := range draw.Wrap(draw.Pad("", draw.Cells(first), false), facts, p.Most()) {
			if i == 0 {
				p.Line(first + p.Paint(draw.Dim, strings.TrimLeft(line, " ")))
				continue
			}
			p.Line(p.Paint(draw.Dim, line))
		}
	}
	if description != "" {
		p.Text(below, description)
	}
}

// constraints describes the constraints of a parameter.
func constraints(x *tool.Param) (list []string) {
	add := func(applies bool, name, text string) {
		if applies {
			list = append(list, name+": "+text)
		}
	}
	t := x.Type
	values := ui.Map(t.Enum, func(v value.Value) string { return value.FormatJSON(v, "") })
	add(t.Min != nil, "min", value.FormatJSON(t.Min, ""))
	add(t.Max != nil, "max", value.FormatJSON(t.Max, ""))
	if t.MinLength != nil {
		add(true, "min length", strconv.Itoa(*t.MinLength))
	}
	if t.MaxLength != nil {
		add(true, "max length", strconv.Itoa(*t.MaxLength))
	}
	add(t.Pattern != "", "pattern", t.Pattern)
	add(len(values) > 0, "one of", ui.Join(values))
	add(len(x.Aliases) > 0, "also", ui.Join(x.Aliases))
	return list
}

// Call describes a call in full. command begins the command lines that make it, such as "cassidy tool run ".
func (p *Page) Call(t *toolset.Info, command string) {
	p.Head(t)
	p.Text("", ui.Printable(t.Description))
	p.Title("Usage")
	p.Long("  ", command+strings.ReplaceAll(Usage(&t.Tool), "…", p.Dots()))
	p.Params(&t.Tool, true)
	if t.Returns != nil || t.ReturnsDoc != "" {
		p.Title("Returns")
		kind := "any"
		if t.Returns != nil {
			kind = t.Returns.String()
		}
		p.Text("  ", strings.TrimSuffix(kind+": "+ui.Printable(t.ReturnsDoc), ": "))
		if t.Returns != nil {
			p.fields(t.Returns.Fields)
		}
	}
	p.examples(&t.Tool, command)
}

// HelpPage describes a tool in full.
func HelpPage(a *app.App, t *toolset.Info) string {
	p := NewPage(a)
	p.Call(t, "cassidy tool run ")
	p.Facts(&t.Tool)
	server := ServerOf(t.Name)
	needs := ui.Join(t.Needs)
	switch {
	case server != "":
		needs = "what the server " + server + " may do: see cassidy mcp list"
	case needs == "":
		needs = NoNeeds
	}
	p.Fact("Needs", needs)
	p.Fact("Tags", ui.Join(t.Tags))
	p.Fact("Version", t.Version)
	p.Fact("Limits", LimitsText(t.Limits))
	if t.Timeout > 0 {
		p.Fact("Timeout", t.Timeout.String())
	}
	from := strings.TrimSpace(string(t.Location) + " " + t.Path)
	if server != "" {
		from = "the MCP server " + server
	}
	p.Fact("From", from)
	p.Fact("Overhead", fmt.Sprintf("about %d tokens in a model's context", t.EstimateOverhead()))
	return p.String()
}

// NoNeeds describes a tool without needs.
const NoNeeds = "nothing: the tool only computes"

// LimitsText lists the limits that a tool declares.
func LimitsText(l tool.Limits) string {
	var list []string
	add := func(name string, set bool, v any) {
		if set {
			list = append(list, fmt.Sprintf("%s %v", name, v))
		}
	}
	add("steps", l.Steps > 0, l.Steps)
	add("cpu", l.CPU > 0, l.CPU)
	add("memory", l.Memory > 0, bytesText(l.Memory))
	add("result", l.Result > 0, bytesText(int64(l.Result)))
	add("requests", l.Requests > 0, l.Requests)
	return strings.Join(list, ", ")
}

// bytesText returns a size in the largest unit that gives a full number.
func bytesText(n int64) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MB", n>>20)
	case n%(1<<10) == 0:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// ServerOf returns the attached server of a tool, or "": no other tool has a name with a dot.
func ServerOf(name string) string {
	server, _, attached := strings.Cut(name, ".")
	if !attached {
		return ""
	}
	return server
}

// fields lists the properties of a result.
func (p *Page) fields(fields []tool.Param) {
	width := 0
	for _, f := range fields {
		width = max(width, len(f.Name))
	}
	for _, f := range fields {
		p.Text(fmt.Sprintf("    %s  (%s) ", draw.Pad(ui.VisibleLine(f.Name), width, false), f.Type), ui.Printable(f.Description))
	}
}

func (p *Page) examples(t *tool.Tool, command string) {
	if len(t.Examples) == 0 {
		return
	}
	p.Title("Examples")
	for i, e := range t.Examples {
		if i > 0 {
			p.Line("")
		}
		if e.Description != "" {
			p.Text("  ", ui.Printable(e.Description))
		}
		p.Line("    " + command + ui.VisibleLine(t.Name+hint.ShellArgs(e.Args))) // not broken: it may be copied
		if e.HasExpect {
			arrow, room := "→ ", 80
			if p.Width > 0 {
				room = p.Most()
			}
			if p.ASCII {
				arrow = "= "
			}
			p.Line("    " + arrow + p.Cut(ui.VisibleLine(value.FormatJSON(e.Expect, "")), room-6))
		}
	}
}
