package assist

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A callable is a function that a script can call.
type callable struct {
	name   string
	params []parameter
	rest   string // the end of the list of parameters, such as "…", or ""
	result string // its description or type
	doc    string
	needs  string // a sentence on what it needs, or ""
	named  bool   // all arguments are passed by name
}

// A parameter is one of a callable.
type parameter struct {
	name, text, doc string
	aliases         []string
}

// label returns the callable as it is defined, and where each parameter is in it.
func (c *callable) label() (text string, at []source.Span) {
	var b strings.Builder
	b.WriteString(c.name)
	b.WriteString("(")
	for i, p := range c.params {
		if i > 0 {
			b.WriteString(", ")
		}
		start := b.Len()
		b.WriteString(p.text)
		at = append(at, source.Span{Start: start, End: b.Len()})
	}
	if c.rest != "" {
		if len(c.params) > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.rest)
	}
	b.WriteString(")")
	return b.String(), at
}

// markdown describes the callable.
func (c *callable) markdown(kind Kind) string {
	text, _ := c.label()
	var b strings.Builder
	b.WriteString(code(kind, text))
	if c.doc != "" {
		b.WriteString("\n\n" + c.doc)
	}
	if c.needs != "" {
		b.WriteString("\n\n" + c.needs)
	}
	var list []string
	for _, p := range c.params {
		if p.doc != "" {
			list = append(list, "- `"+p.name+"`: "+p.doc)
		}
	}
	if len(list) > 0 {
		b.WriteString("\n\n" + strings.Join(list, "\n"))
	}
	if c.result != "" {
		b.WriteString("\n\nReturns " + strings.TrimSuffix(c.result, ".") + ".")
	}
	return b.String()
}

// code returns a code block.
func code(kind Kind, text string) string {
	lang := "python" // editors highlight it
	if kind == Lua {
		lang = "lua"
	}
	return "```" + lang + "\n" + text + "\n```"
}

// literal writes a default value.
func literal(v value.Value) string {
	switch v {
	case nil:
		return "None"
	case true:
		return "True"
	case false:
		return "False"
	}
	return value.FormatJSON(v, "")
}

// paramOf describes a parameter of a function or a tool.
func paramOf(p *tool.Param) parameter {
	text := p.Name
	if p.Type.Name != "" && p.Type.Name != tool.TypeAny {
		text += ": " + p.Type.String()
	}
	switch {
	case p.HasDefault:
		text += " = " + literal(p.Default)
	case !p.Required:
		text += " = None"
	}
	return parameter{name: p.Name, text: text, doc: p.Description, aliases: p.Aliases}
}

// functionOf describes a function of a module.
func functionOf(module string, f *tool.Func) *callable {
	c := &callable{name: f.Name, doc: f.Doc, result: f.Returns}
	if module != "" {
		c.name = module + "." + f.Name
	}
	for i := range f.Params {
		c.params = append(c.params, paramOf(&f.Params[i]))
	}
	if f.Rest != "" {
		c.rest = "…"
	}
	c.needs = needsOf(f)
	return c
}

// needsOf returns what a function needs, as a sentence.
func needsOf(f *tool.Func) string {
	if f.Target == nil {
		return ""
	}
	args := &value.Dict{}
	for _, p := range f.Params {
		args.Put(p.Name, "x")
	}
	needs, err := f.Target(args)
	if err != nil || len(needs) == 0 {
		return ""
	}
	var names []string
	for _, n := range needs {
		if text := "`" + n.Name + "`"; !slices.Contains(names, text) {
			names = append(names, text)
		}
	}
	return "Needs " + strings.Join(names, " and ") + "."
}

// toolOf describes a tool as a function.
func toolOf(t *Tool) *callable {
	c := &callable{name: "tools." + strings.ReplaceAll(t.Name, "-", "_"), doc: t.Description, result: t.ReturnsDoc, named: true}
	for i := range t.Params {
		if !t.Params[i].FromHost {
			c.params = append(c.params, paramOf(&t.Params[i]))
		}
	}
	var needs []string
	for _, n := range t.Needs {
		needs = append(needs, "`"+n.String()+"`")
	}
	c.needs = "Needs `tool:" + t.Name + "`"
	if len(needs) > 0 {
		c.needs += ", and for its own effects " + strings.Join(needs, ", ")
	}
	c.needs += "."
	return c
}

// scriptFunction describes a function of a script.
func scriptFunction(fn *source.Function) *callable {
	c := &callable{name: fn.Name, doc: fn.Doc, result: fn.Result}
	for _, p := range fn.Params {
		c.params = append(c.params, parameter{name: p.Name, text: p.Text})
	}
	return c
}

// declarationOf describes tool, workflow, param or example, or returns nil.
func declarationOf(word string) *callable {
	fields := source.Fields(word)
	if fields == nil {
		return nil
	}
	c := &callable{name: word}
	switch word {
	case "param":
		c.doc = "Declares a parameter, a property or a type."
	case "example":
		c.doc = "Declares an example call of the tool."
	default:
		c.doc = "Declares the " + word + " of this file. The declaration is read without running the file."
		c.params = append(c.params, parameter{name: "handler", text: "handler", doc: "The function of the " + word + "."})
	}
	for _, f := range fields {
		c.params = append(c.params, parameter{name: f.Name, text: f.Name + " = …", doc: f.Doc})
	}
	return c
}

// callable returns the function that a name stands for at an offset, or nil.
func (d *Document) callable(w *World, name string, offset int) *callable {
	module, function, dotted := cutLast(name)
	if !dotted {
		return d.plainCallable(w, name, offset)
	}
	if f := w.function(module, function); f != nil {
		return functionOf(module, f)
	}
	if module == "tools" {
		if t := w.tool(function); t != nil {
			return toolOf(t)
		}
	}
	if _, _, _, isModule := w.module(module); isModule {
		return nil
	}
	return d.method(w, function)
}

// method returns a method of an object, or nil.
func (d *Document) method(w *World, name string) *callable {
	for _, t := range w.objects(d.script) {
		for i := range t.Methods {
			if t.Methods[i].Name == name {
				return functionOf(t.Name, &t.Methods[i])
			}
		}
	}
	return nil
}

func cutLast(name string) (before, after string, found bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// plainCallable is callable for a name without a dot.
func (d *Document) plainCallable(w *World, name string, offset int) *callable {
	for _, n := range d.script.Names(offset) {
		if n.Name != name {
			continue
		}
		switch n.Kind {
		case source.FunctionName, source.Variable:
			if fn := d.functionAt(n.At); fn != nil {
				return scriptFunction(fn)
			}
			return nil
		case source.LoadedName:
			if fn, _ := d.loaded(w, name); fn != nil {
				c := scriptFunction(fn)
				c.name = name
				return c
			}
			return nil
		}
		return nil
	}
	if c := declarationOf(name); c != nil {
		return c
	}
	if f := w.function("", name); f != nil {
		return functionOf("", f)
	}
	if name == errorWord && d.script.Language == source.Lua {
		return failing(name)
	}
	if b, ok := builtin(name); ok && d.script.Language == source.Starlark {
		return b
	}
	return nil
}

// functionAt returns the function whose name is at a place, or nil.
func (d *Document) functionAt(at source.Span) *source.Function {
	list := d.script.Functions()
	for i := range list {
		if list[i].At == at {
			return &list[i]
		}
	}
	return nil
}

// loaded returns the function that a load statement defines, and its file.
func (d *Document) loaded(w *World, local string) (*source.Function, *Lib) {
	for _, l := range d.script.Loads() {
		for _, n := range l.Names {
			lib, ok := w.Libs[l.Path]
			if n.Local != local || !ok {
				continue
			}
			list := source.Read(source.Starlark, lib.Text).Functions()
			for i := range list {
				if list[i].Name == n.Name {
					return &list[i], &lib
				}
			}
			return nil, &lib
		}
	}
	return nil, nil
}
