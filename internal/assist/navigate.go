package assist

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
)

// A Signature is the call in which an offset is.
type Signature struct {
	Label  string
	Doc    string        // in Markdown
	Params []source.Span // in Label
	Docs   []string      // of the parameters
	Active int           // the parameter at the offset, or -1
}

// Signature returns the innermost call of a known function whose arguments contain an offset, or nil.
func (d *Document) Signature(w *World, offset int) *Signature {
	if d.script == nil || d.inMeta(offset) {
		return nil
	}
	p := d.script.At(offset)
	if p.Comment {
		return nil
	}
	for c := p.Call; c != nil; c = c.Outer {
		f := d.callable(w, c.Function, c.Name.Start)
		if f == nil {
			continue
		}
		s := &Signature{Doc: f.doc, Active: -1}
		s.Label, s.Params = f.label()
		index := c.Index
		if many := slices.IndexFunc(f.params, isMany); many >= 0 {
			index = min(index, many)
		}
		for i, param := range f.params {
			s.Docs = append(s.Docs, param.doc)
			if c.Argument == param.name && c.Argument != "" || c.Argument == "" && i == index && !f.named {
				s.Active = i
			}
		}
		return s
	}
	return nil
}

// A Target is where something is defined.
type Target struct {
	Path string      // "" is the document
	Text string      // the text of another file, if it is known
	At   source.Span // in the text
}

// Definition returns where the name at an offset is defined.
func (d *Document) Definition(w *World, offset int) (t Target, ok bool) {
	if d.inMeta(offset) {
		m := d.metaAt(offset)
		return d.functionTarget(d.text(m.Word))
	}
	if d.script == nil {
		return t, false
	}
	p := d.script.At(offset)
	switch {
	case p.Comment || p.Unowned:
		return t, false
	case p.String != nil:
		return d.stringTarget(w, &p)
	case len(p.Owner) == 1 && p.Owner[0] == "tools":
		return w.toolTarget(d.text(p.Word))
	case len(p.Owner) > 0 || p.Word.Start == p.Word.End:
		return t, false
	}
	word := d.text(p.Word)
	for _, n := range d.script.Names(p.Word.Start) {
		if n.Name != word {
			continue
		}
		if n.Kind == source.LoadedName {
			return d.loadTarget(w, word)
		}
		return Target{At: n.At}, true
	}
	return t, false
}

// functionTarget returns where a function of the script is defined.
func (d *Document) functionTarget(name string) (Target, bool) {
	if d.script == nil {
		return Target{}, false
	}
	for _, fn := range d.script.Functions() {
		if fn.Name == name {
			return Target{At: fn.At}, true
		}
	}
	return Target{}, false
}

// toolTarget returns the file of a tool.
func (w *World) toolTarget(name string) (Target, bool) {
	t := w.tool(name)
	if t == nil || t.Path == "" {
		return Target{}, false
	}
	return Target{Path: t.Path}, true
}

// loadTarget returns where a name is defined that a load statement loads.
func (d *Document) loadTarget(w *World, local string) (Target, bool) {
	fn, lib := d.loaded(w, local)
	switch {
	case lib == nil:
		return Target{}, false
	case fn == nil:
		return Target{Path: lib.Path, Text: lib.Text}, true
	}
	return Target{Path: lib.Path, Text: lib.Text, At: fn.At}, true
}

func (d *Document) stringTarget(w *World, p *source.Place) (Target, bool) {
	text := d.text(*p.String)
	for _, l := range d.script.Loads() {
		if lib, ok := w.Libs[l.Path]; ok && l.At == *p.String {
			return Target{Path: lib.Path, Text: lib.Text}, true
		}
		for _, n := range l.Names {
			if n.At == *p.String {
				return d.loadTarget(w, n.Local)
			}
		}
	}
	if name, ok := strings.CutPrefix(text, "tool:"); ok && declares(p.Call) && p.Call.Argument == "needs" {
		return w.toolTarget(name)
	}
	if c := p.Call; c != nil && c.Function == "tools.call" && c.Index == 0 {
		return w.toolTarget(text)
	}
	return Target{}, false
}

// A Symbol is a function or the declaration of a script.
type Symbol struct {
	Name, Detail string
	Function     bool
	Span, At     source.Span // of the definition and of its name
	Inner        []Symbol
}

// Symbols returns the functions of a script and its declaration, in order. Functions inside of
// others are their inner symbols.
func (d *Document) Symbols() []Symbol {
	var list []Symbol
	if d.Kind == Markdown && d.meta.End > d.meta.Start {
		list = append(list, Symbol{Name: "front matter", Span: d.meta, At: source.Span{Start: d.meta.Start, End: d.meta.Start}})
	}
	if d.script == nil {
		return list
	}
	symbols := &list
	for _, fn := range d.script.Functions() {
		symbols = &list
		for n := len(*symbols); n > 0; n = len(*symbols) {
			last := &(*symbols)[n-1]
			if !last.Function || fn.Span.End > last.Span.End {
				break
			}
			symbols = &last.Inner
		}
		*symbols = append(*symbols, Symbol{Name: fn.Name, Detail: strings.TrimPrefix(fn.Signature(), fn.Name), Function: true, Span: fn.Span, At: fn.At})
	}
	if d.Kind == Markdown {
		return list
	}
	for _, word := range []string{"tool", "workflow"} {
		for _, at := range d.script.Uses(word) {
			if at.Start == 0 || d.Text[at.Start-1] == '\n' || d.Kind == Lua && strings.HasSuffix(d.Text[:at.Start], "return ") {
				list = append(list, Symbol{Name: word, Detail: "(…)", Span: at, At: at})
			}
		}
	}
	return list
}
