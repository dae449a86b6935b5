package assist

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// An ItemKind is what an item stands for.
type ItemKind uint8

// The kinds of items.
const (
	ItemFunction ItemKind = iota
	ItemModule
	ItemVariable
	ItemArgument
	ItemField
	ItemText
	ItemTool
	ItemConstant
)

// An Item is a text that can be written at a position.
type Item struct {
	Label  string
	Insert string // what is written
	Kind   ItemKind
	Detail string // a line
	Doc    string // in Markdown
}

// maxItems bounds the items of one answer.
const maxItems = 2000

// Complete returns what can be written at an offset, and the text that it replaces.
func (d *Document) Complete(w *World, offset int) (items []Item, replaces source.Span) {
	offset = min(max(offset, 0), len(d.Text))
	if d.inMeta(offset) {
		return d.completeMeta(w, offset)
	}
	if d.script == nil || d.Kind == Markdown && strings.TrimSpace(d.script.Text[:offset]) == "" && strings.TrimSpace(d.script.Text[offset:]) == "" {
		return nil, source.Span{Start: offset, End: offset}
	}
	p := d.script.At(offset)
	replaces = source.Span{Start: p.Word.Start, End: offset}
	switch {
	case p.Comment:
		return nil, replaces
	case p.String != nil:
		return d.completeString(w, &p), source.Span{Start: p.String.Start, End: p.String.End}
	case p.Unowned:
		items = d.methods(w)
	case len(p.Owner) > 0:
		items = d.members(w, &p)
	default:
		items = d.names(w, &p, offset)
	}
	return items[:min(len(items), maxItems)], replaces
}

func (c *callable) item(label string) Item {
	text, _ := c.label()
	_, doc, _ := strings.Cut(c.markdown(Starlark), "\n```")
	return Item{Label: label, Insert: label, Kind: ItemFunction, Detail: text, Doc: strings.TrimSpace(doc)}
}

// members returns what can follow the dot of a name.
func (d *Document) members(w *World, p *source.Place) (items []Item) {
	owner := strings.Join(p.Owner, ".")
	isLocal := slices.ContainsFunc(d.script.Names(p.Word.Start), func(n source.Name) bool { return n.Name == p.Owner[0] })
	funcs, consts, _, ok := w.module(owner)
	if !ok || isLocal {
		return d.methods(w)
	}
	for _, f := range funcs {
		items = append(items, functionOf(owner, f).item(f.Name))
	}
	for _, c := range consts {
		items = append(items, Item{Label: c.Name, Insert: c.Name, Kind: ItemConstant, Detail: literal(c.Value), Doc: c.Doc})
	}
	if owner == "tools" {
		for i := range w.Tools {
			c := toolOf(&w.Tools[i])
			item := c.item(strings.TrimPrefix(c.name, "tools."))
			item.Kind = ItemTool
			items = append(items, item)
		}
	}
	return items
}

// methods returns the methods and fields of the objects that the script can have.
func (d *Document) methods(w *World) (items []Item) {
	for _, t := range w.objects(d.script) {
		for i := range t.Methods {
			items = append(items, functionOf(t.Name, &t.Methods[i]).item(t.Methods[i].Name))
		}
		for _, f := range t.Fields {
			items = append(items, Item{Label: f.Name, Insert: f.Name, Kind: ItemField, Detail: t.Name + "." + f.Name, Doc: f.Doc})
		}
	}
	return items
}

// names returns what can be written where no dot is before: arguments, and names.
func (d *Document) names(w *World, p *source.Place, offset int) (items []Item) {
	items = d.arguments(w, p)
	seen := map[string]bool{}
	for _, n := range d.script.Names(offset) {
		if n.At.Start <= offset && offset <= n.At.End {
			continue // the name that is being written
		}
		seen[n.Name] = true
		item := Item{Label: n.Name, Insert: n.Name, Kind: ItemVariable}
		if c := d.plainCallable(w, n.Name, offset); c != nil {
			item = c.item(n.Name)
		}
		items = append(items, item)
	}
	add := func(item Item) {
		if !seen[item.Label] {
			seen[item.Label] = true
			items = append(items, item)
		}
	}
	for _, name := range w.moduleNames() {
		_, _, doc, _ := w.module(name)
		add(Item{Label: name, Insert: name, Kind: ItemModule, Detail: "module " + name, Doc: doc})
	}
	for i := range w.Modules {
		for j := range w.Modules[i].Funcs {
			if f := &w.Modules[i].Funcs[j]; w.Modules[i].Name == "" && w.function("", f.Name) == f {
				add(functionOf("", f).item(f.Name))
			}
		}
	}
	for _, word := range []string{"tool", "param", "example", "workflow"} {
		if d.Kind != Markdown && (word != "workflow" || d.Kind == Starlark) {
			add(declarationOf(word).item(word))
		}
	}
	if d.script.Language == source.Starlark {
		for _, name := range slices.Sorted(slices.Values(builtinNames())) {
			c, _ := builtin(name)
			add(c.item(name))
		}
		for _, word := range []string{"None", "True", "False"} {
			add(Item{Label: word, Insert: word, Kind: ItemConstant})
		}
	}
	return items
}

// arguments returns the names of the arguments that a call does not have yet.
func (d *Document) arguments(w *World, p *source.Place) (items []Item) {
	c := p.Call
	if c == nil || !p.Begins {
		return nil
	}
	if c.Depth == 1 && (declares(c) || c.Outer != nil && declares(c.Outer)) && d.Kind == Lua {
		return d.keys(c, func(name string) string { return name + " = " })
	}
	if c.Depth > 0 || d.Kind == Lua && !d.inTable(p) {
		return nil
	}
	f := d.callable(w, c.Function, c.Name.Start)
	if f == nil {
		return nil
	}
	params := f.params
	if c.Index > 0 && !f.named && d.script.Language == source.Starlark {
		passed := min(c.Index-len(c.Given), len(params))
		if many := slices.IndexFunc(params, isMany); many >= 0 { // it takes all arguments that follow
			passed = min(passed, many)
		}
		params = params[passed:]
	}
	for _, param := range params {
		if !isMany(param) && !slices.Contains(c.Given, param.name) {
			items = append(items, Item{Label: param.name + " = ", Insert: param.name + " = ", Kind: ItemArgument, Detail: param.text, Doc: param.doc})
		}
	}
	return items
}

// isMany reports whether a parameter takes any number of arguments, and so has no name in a call.
func isMany(p parameter) bool { return strings.HasPrefix(p.text, "*") }

// inTable reports whether the arguments at a place of Lua are in a table, where they have names.
func (d *Document) inTable(p *source.Place) bool {
	depth := 0
	head := d.Text[p.Call.Name.End:p.Word.Start]
	for i := len(head) - 1; i >= 0; i-- {
		switch head[i] {
		case '}', ')':
			depth++
		case '{', '(':
			if depth == 0 {
				return head[i] == '{'
			}
			depth--
		}
	}
	return false
}

// keys returns the keys of a dict in a declaration: the parameters of the script's functions, or the names of
// hints and limits.
func (d *Document) keys(c *source.Call, insert func(string) string) (items []Item) {
	add := func(name, detail string) {
		if !slices.ContainsFunc(items, func(i Item) bool { return i.Label == name }) {
			items = append(items, Item{Label: name, Insert: insert(name), Kind: ItemField, Detail: detail})
		}
	}
	switch c.Argument {
	case "params":
		for _, fn := range d.script.Functions() {
			for _, p := range fn.Params {
				add(p.Name, "a parameter of "+fn.Name)
			}
		}
	case "limits":
		for _, name := range source.LimitNames() {
			add(name, "a limit of a call")
		}
	case "hints":
		for _, name := range source.HintNames() {
			add(name, "a hint")
		}
	case "deprecated":
		for _, name := range []string{"since", "replacement", "message"} {
			add(name, "a part of the deprecation")
		}
	}
	return items
}

// completeString returns what can be written in a string.
func (d *Document) completeString(w *World, p *source.Place) (items []Item) {
	c := p.Call
	switch {
	case c == nil:
		return nil
	case declares(c) && c.Argument == "needs":
		return w.capabilities()
	case declares(c) && c.Depth == 1 && c.Key == "" && p.Begins:
		return d.keys(c, func(name string) string { return name })
	case declares(c) && (c.Argument == "returns" || c.Argument == "params"), c.Function == "param" && (c.Argument == "type" || c.Argument == "items" || c.Argument == "" && c.Index == 0 || c.Argument == "properties"):
		for _, name := range tool.TypeNames() {
			items = append(items, Item{Label: name, Insert: name, Kind: ItemText, Detail: "type"})
		}
	case d.reports(c) && (c.Argument == "type" || c.Key == "type"):
		for _, name := range source.FailureTypes() {
			items = append(items, Item{Label: name, Insert: name, Kind: ItemText, Detail: "type of an error"})
		}
	case c.Function == "load":
		return d.loadable(w, c)
	case c.Function == "tools.call" && c.Index == 0 && c.Depth == 0:
		for i := range w.Tools {
			t := &w.Tools[i]
			items = append(items, Item{Label: t.Name, Insert: t.Name, Kind: ItemTool, Detail: t.Summary()})
		}
	}
	return items
}

// loadable returns the files that can be loaded, or the functions of the file that is loaded.
func (d *Document) loadable(w *World, c *source.Call) (items []Item) {
	if c.Index == 0 {
		for name, lib := range w.Libs {
			items = append(items, Item{Label: name, Insert: name, Kind: ItemText, Detail: lib.Path})
		}
		slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.Label, b.Label) })
		return items
	}
	for _, l := range d.script.Loads() {
		if l.At.Start < c.Name.End || l.At.Start > c.Name.End+64 {
			continue
		}
		for _, fn := range source.Read(source.Starlark, w.Libs[l.Path].Text).Functions() {
			if !strings.HasPrefix(fn.Name, "_") {
				items = append(items, scriptFunction(&fn).item(fn.Name))
			}
		}
	}
	return items
}

// capabilities returns the capabilities that needs can have.
func (w *World) capabilities() (items []Item) {
	for _, name := range tool.CapabilityNames() {
		items = append(items, Item{Label: name, Insert: name, Kind: ItemText, Detail: "capability", Doc: tool.CapabilityDoc(name)})
	}
	for i := range w.Tools {
		t := &w.Tools[i]
		items = append(items, Item{Label: "tool:" + t.Name, Insert: "tool:" + t.Name, Kind: ItemTool, Detail: t.Summary()})
	}
	return items
}

// completeMeta returns what can be written in the front matter.
func (d *Document) completeMeta(w *World, offset int) (items []Item, replaces source.Span) {
	m := d.metaAt(offset)
	replaces = source.Span{Start: m.Word.Start, End: offset}
	last := ""
	if len(m.Path) > 0 {
		last = m.Path[len(m.Path)-1]
	}
	switch {
	case m.Key == "needs" || m.Item && last == "needs":
		// A capability may have a colon, which ends a word.
		line := strings.LastIndexByte(d.Text[:offset], '\n') + 1
		replaces.Start = line + strings.LastIndexAny(d.Text[line:offset], " [,\"'") + 1
		return w.capabilities(), replaces
	case m.Key == "type" || m.Key == "items" || m.Key == "returns":
		for _, name := range tool.TypeNames() {
			items = append(items, Item{Label: name, Insert: name, Kind: ItemText, Detail: "type"})
		}
	case (m.Key == "undo" || m.Key == "available" || m.Key == "preview") && d.script != nil:
		for _, fn := range d.script.Functions() {
			items = append(items, Item{Label: fn.Name, Insert: fn.Name, Kind: ItemFunction, Detail: fn.Signature()})
		}
	case m.Key == "name" && last == "parameters" && d.script != nil:
		for _, fn := range d.script.Functions() {
			for _, p := range fn.Params {
				items = append(items, Item{Label: p.Name, Insert: p.Name, Kind: ItemVariable, Detail: "a parameter of " + fn.Name})
			}
		}
	case m.Key != "" && isFlag(metaFields(m.Path), m.Key):
		for _, word := range []string{"true", "false"} {
			items = append(items, Item{Label: word, Insert: word, Kind: ItemConstant})
		}
	case m.Key == "":
		for _, f := range metaFields(m.Path) {
			if !slices.Contains(m.Given, f.Name) {
				items = append(items, Item{Label: f.Name, Insert: f.Name + ": ", Kind: ItemField, Detail: f.Type.String(), Doc: f.Doc})
			}
		}
	}
	return items, replaces
}

// isFlag reports whether a field is true or false.
func isFlag(fields []source.Field, name string) bool {
	return slices.ContainsFunc(fields, func(f source.Field) bool {
		return f.Name == name && (f.Type.Name == tool.TypeBoolean || name == "required")
	})
}
