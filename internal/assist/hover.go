package assist

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Hover returns what is known about the name at an offset, in Markdown. If nothing is known, ok is false.
func (d *Document) Hover(w *World, offset int) (text string, at source.Span, ok bool) {
	if d.inMeta(offset) {
		return d.hoverMeta(w, offset)
	}
	if d.script == nil {
		return "", at, false
	}
	p := d.script.At(offset)
	switch {
	case p.Comment:
		return "", at, false
	case p.String != nil:
		text = d.hoverString(w, &p)
		return text, *p.String, text != ""
	case p.Word.Start == p.Word.End:
		return "", at, false
	}
	text = d.hoverWord(w, &p)
	return text, p.Word, text != ""
}

// text returns a part of the text.
func (d *Document) text(s source.Span) string { return d.Text[s.Start:s.End] }

func (d *Document) hoverWord(w *World, p *source.Place) string {
	word := d.text(p.Word)
	if p.Unowned {
		return d.hoverMethod(w, word)
	}
	if len(p.Owner) > 0 {
		name := strings.Join(append(p.Owner, word), ".")
		if c := d.callable(w, name, p.Word.Start); c != nil {
			return c.markdown(d.Kind)
		}
		_, consts, _, isModule := w.module(p.Owner[0])
		for _, c := range consts {
			if c.Name == word && len(p.Owner) == 1 {
				return code(d.Kind, name+" = "+literal(c.Value)) + "\n\n" + c.Doc
			}
		}
		if isModule {
			return ""
		}
		return d.hoverMethod(w, word)
	}
	if param := d.argument(w, p); param != nil {
		return describeParam(d.Kind, param)
	}
	if c := d.callable(w, word, p.Word.Start); c != nil {
		return c.markdown(d.Kind)
	}
	for _, n := range d.script.Names(p.Word.Start) {
		if n.Name == word {
			return d.describeName(&n)
		}
	}
	if _, _, doc, ok := w.module(word); ok {
		return code(d.Kind, word) + "\n\n" + doc
	}
	return ""
}

// hoverMethod describes a method or field of an object.
func (d *Document) hoverMethod(w *World, name string) string {
	if c := d.method(w, name); c != nil {
		return c.markdown(d.Kind)
	}
	for _, t := range w.objects(d.script) {
		for _, f := range t.Fields {
			if f.Name == name {
				return code(d.Kind, t.Name+"."+f.Name) + "\n\n" + f.Doc
			}
		}
	}
	return ""
}

func describeParam(kind Kind, p *parameter) string {
	return strings.TrimSpace(code(kind, p.text) + "\n\n" + p.doc)
}

// describeName describes a variable or a parameter of the script.
func (d *Document) describeName(n *source.Name) string {
	if n.Kind == source.Parameter {
		if fn := d.script.Enclosing(n.At.Start); fn != nil {
			for _, p := range fn.Params {
				if p.Name == n.Name {
					return code(d.Kind, p.Text) + "\n\nA parameter of `" + fn.Name + "`."
				}
			}
		}
	}
	line := d.Text[strings.LastIndexByte(d.Text[:n.At.Start], '\n')+1:]
	line, _, _ = strings.Cut(line, "\n")
	return code(d.Kind, strings.TrimSpace(line))
}

// argument returns the parameter that the name of an argument at a place is, or nil.
func (d *Document) argument(w *World, p *source.Place) *parameter {
	if p.Call == nil || p.Call.Depth > 0 || !p.Begins {
		return nil
	}
	rest := strings.TrimLeft(d.Text[p.Word.End:], " \t")
	if !strings.HasPrefix(rest, "=") || strings.HasPrefix(rest, "==") {
		return nil
	}
	c := d.callable(w, p.Call.Function, p.Call.Name.Start)
	if c == nil {
		return nil
	}
	return c.param(d.text(p.Word))
}

// param returns the parameter with a name or an alias, or nil.
func (c *callable) param(name string) *parameter {
	for i := range c.params {
		if c.params[i].name == name || slices.Contains(c.params[i].aliases, name) {
			return &c.params[i]
		}
	}
	return nil
}

// declares reports whether a call is tool(…) or workflow(…).
func declares(c *source.Call) bool {
	return c != nil && (c.Function == "tool" || c.Function == "workflow")
}

func (d *Document) hoverString(w *World, p *source.Place) string {
	text := d.text(*p.String)
	switch c := p.Call; {
	case declares(c) && c.Argument == "needs":
		return w.capability(text)
	case c != nil && c.Function == "tools.call" && c.Index == 0 && c.Depth == 0:
		if t := w.tool(text); t != nil {
			return toolOf(t).markdown(d.Kind)
		}
	}
	return ""
}

// capability describes a capability.
func (w *World) capability(text string) string {
	name, target, _ := strings.Cut(text, ":")
	doc := tool.CapabilityDoc(name)
	if doc == "" {
		return ""
	}
	doc = "`" + name + "`: " + doc
	if t := w.tool(target); name == "tool" && t != nil {
		doc += "\n\n" + toolOf(t).markdown(Starlark)
	}
	return doc
}

func (d *Document) hoverMeta(w *World, offset int) (text string, at source.Span, ok bool) {
	m := d.metaAt(offset)
	word := d.text(m.Word)
	if m.Item || m.Key != "" {
		if len(m.Path) > 0 && m.Path[0] == "needs" || m.Key == "needs" {
			text = w.capability(word)
		}
		if m.Key != word {
			return text, m.Word, text != ""
		}
	}
	for _, f := range metaFields(m.Path) {
		if f.Name == word {
			return "`" + f.Name + "`: " + f.Doc, m.Word, true
		}
	}
	return "", at, false
}

// metaAt returns what is at an offset in the front matter, with places of the document.
func (d *Document) metaAt(offset int) source.MetaPlace {
	m := source.MetaAt(d.text(d.meta), offset-d.meta.Start)
	m.Word.Start += d.meta.Start
	m.Word.End += d.meta.Start
	return m
}

// metaFields returns the fields of the object at a path of the front matter.
func metaFields(path []string) (list []source.Field) {
	if len(path) == 0 {
		return source.MetaFields()
	}
	last := path[len(path)-1]
	switch {
	case path[0] == "parameters" && len(path) == 1:
		name := source.Field{Name: "name", Type: tool.Type{Name: tool.TypeString}, Doc: "The name of the parameter."}
		return append([]source.Field{name}, source.Fields("param")...)
	case path[0] == "parameters" && (len(path) == 2 || last == "items" || path[len(path)-2] == "properties"), path[0] == "returns":
		return source.Fields("param")
	case path[0] == "examples" && len(path) == 1:
		return source.Fields("example")
	case path[0] == "limits":
		return named(source.LimitNames(), tool.TypeNumber, "A limit of a call.")
	case path[0] == "hints":
		return named(source.HintNames(), tool.TypeBoolean, "A hint for models and their hosts.")
	case path[0] == "deprecated":
		return named([]string{"since", "replacement", "message"}, tool.TypeString, "A part of the deprecation.")
	}
	return nil
}

// named returns fields with one documentation.
func named(names []string, typ, doc string) (list []source.Field) {
	for _, name := range names {
		list = append(list, source.Field{Name: name, Type: tool.Type{Name: typ}, Doc: doc})
	}
	return list
}
