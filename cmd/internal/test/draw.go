package test

import (
	"fmt"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/cmd/internal/ui"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/internal/scripttest"
)

// A drawn is a report on a terminal: the tests that failed, and how many passed.
type drawn struct {
	draw.Screen
	print func(lines []string)
	all   bool                // nothing is folded
	files map[string]bool     // those whose tests have passed so far
	like  map[string][]string // the other tests that failed for the cause of a first one, by it
	order []string            // those first ones
	first map[string]string   // by cause
}

func newDrawn(c *command) *drawn {
	d := &drawn{Screen: c.ScreenOf(c.Out), all: c.Verbose, files: map[string]bool{}, like: map[string][]string{}, first: map[string]string{}}
	d.print = c.PrintLines
	return d
}

// add draws a result, unless it passed or another test failed for the same cause.
func (d *drawn) add(r *scripttest.Result) {
	name := short(r.File) + "  " + ui.VisibleLine(r.Name)
	took := d.Paint(draw.Dim, milliseconds(r.Duration))
	if r.Err == nil {
		if _, known := d.files[r.File]; !known {
			d.files[r.File] = true
		}
		if d.all {
			d.print(d.Head(draw.Done, name, took))
		}
		return
	}
	d.files[r.File] = false
	cause := describe.ForUsers(r.Err)
	key := cause.Message() + "\n" + cause.Hint
	if first, ok := d.first[key]; ok && !d.all && cause.Hint != "" && len(r.Output) == 0 {
		if d.like[first] == nil {
			d.order = append(d.order, first)
		}
		d.like[first] = append(d.like[first], r.Name)
		return
	}
	d.first[key] = r.Name
	d.print(append(append(d.Head(draw.Failed, name, took), d.failure(r)...), ""))
}

// failure returns the lines about why a test has failed.
func (d *drawn) failure(r *scripttest.Result) []string {
	e := describe.ForUsers(r.Err)
	at := strings.TrimPrefix(strings.TrimPrefix(e.Pos.String(), r.File), ":")
	message, rest, _ := strings.Cut(strings.TrimPrefix(strings.TrimRight(e.Message(), "\n"), e.Pos.String()+": "), "\n")
	label := draw.Pad(short(at), len("try"), false)
	lines := draw.Wrap("  ", ui.VisibleLine(message), d.Most())
	if at != "" {
		lines = d.Fact(draw.None, label, ui.VisibleLine(message))
	}
	if rest != "" {
		lines = append(lines, d.Changes("  ", ui.Printable(rest))...)
	}
	if e.Hint != "" {
		hint := ui.VisibleLine(strings.TrimPrefix(e.Hint, "add to the test: "))
		if n := draw.Cells(label); n < 10 && !d.Plain {
			lines = append(lines, draw.Wrap("  "+d.Paint(draw.Bold, draw.Pad("try", n, false))+"  ", hint, d.Most())...)
		} else {
			lines = append(lines, d.Hint("  ", hint)...)
		}
	}
	if len(r.Output) > 0 {
		lines = append(lines, d.Quote("  ", ui.Printable(strings.Join(r.Output, "\n")))...)
	}
	return lines
}

// end draws what was folded, the coverage, and how many tests failed and passed.
func (d *drawn) end(passed, failed int, took time.Duration, cover []scripttest.Coverage) {
	var lines []string
	for _, first := range d.order {
		like := d.like[first]
		text := d.Fold(len(like), "more test", "--verbose") + ", as " + ui.VisibleLine(first) + ": " + ui.VisibleLine(strings.Join(like, " "))
		lines = append(lines, d.Paint(draw.Dim, d.Cut(text, d.Most())))
	}
	clean := 0
	for _, all := range d.files {
		if all {
			clean++
		}
	}
	if failed > 0 && clean > 0 {
		lines = append(lines, d.Message(draw.Done, ui.Count(clean, "file"))...)
	}
	lines = append(lines, d.coverage(cover)...)
	took = took.Round(100 * time.Millisecond)
	switch total := fmt.Sprintf("%s%.1fs", d.Between(), took.Seconds()); {
	case failed+passed == 0:
		lines = append(lines, d.Message(draw.None, "no tests")...)
		lines = append(lines, d.Hint("  ", "write def test_NAME(t) in the file NAME_test.star beside the tool NAME")...)
	case failed > 0:
		lines = append(lines, d.Message(draw.Failed, ui.Count(failed, "test")+d.Between()+d.Mark(draw.Done)+" "+fmt.Sprint(passed)+total)...)
	default:
		lines = append(lines, d.Message(draw.Done, ui.Count(passed, "test")+" in "+ui.Count(clean, "file")+total)...)
	}
	d.print(lines)
}

// coverage returns a table of how many statements have run, and the lines of the others.
func (d *drawn) coverage(list []scripttest.Coverage) []string {
	if len(list) == 0 {
		return nil
	}
	t := &draw.Table{Columns: []draw.Column{{Name: "file"}, {Name: "run", Right: true}, {Name: "statements", Right: true, Rank: 2}, {Name: "not run, lines", Rank: 1}}, AllRows: true}
	row := func(name string, c *scripttest.Coverage, missing string) {
		t.Rows = append(t.Rows, []string{name, fmt.Sprintf("%.1f %%", c.Percent()), fmt.Sprint(c.Lines), missing})
	}
	total := scripttest.Coverage{}
	for i := range list {
		c := &list[i]
		total.Lines += c.Lines
		total.Missing = append(total.Missing, c.Missing...)
		row(short(c.File), c, missingLines(c))
	}
	if len(list) > 1 {
		row("all", &total, "")
	}
	return append(d.Table(t, "  "), "")
}

// short returns the name of a file without the folder that most are in.
func short(file string) string {
	for _, dir := range []string{".cassidy/tools/", ".cassidy/"} {
		if rest, ok := strings.CutPrefix(file, dir); ok {
			return ui.VisibleLine(rest)
		}
	}
	return ui.VisibleLine(file)
}
