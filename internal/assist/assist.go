// Package assist answers what an editor asks about a script: what can be written at a position,
// what a name means, and where it is defined. It reads texts and runs nothing. Positions are
// offsets in bytes.
package assist

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A World is what is known besides the script. It is not changed while it is used.
type World struct {
	Modules []tool.Module
	Tools   []Tool
	Libs    map[string]Lib // by the paths with which scripts load them, such as "lib/text.star"
}

// A Tool is a tool that scripts can call.
type Tool struct {
	tool.Tool
	Path string // its file, or ""
}

// A Lib is a file that scripts load.
type Lib struct{ Path, Text string }

// Kind is the format of a file.
type Kind string

// The kinds of files.
const (
	Starlark Kind = "starlark"
	Lua      Kind = "lua"
	Markdown Kind = "markdown"
)

// KindOf returns the kind of a file by its suffix, or "".
func KindOf(file string) Kind {
	switch path.Ext(file) {
	case ".star":
		return Starlark
	case ".lua":
		return Lua
	case ".md":
		return Markdown
	}
	return ""
}

// A Document is the text of a file in an editor. It is safe for concurrent use.
type Document struct {
	Kind Kind
	Text string

	meta   source.Span  // the front matter of Markdown
	script *source.File // nil if Markdown has no code
}

// Read reads a text.
func Read(kind Kind, text string) *Document {
	d := &Document{Kind: kind, Text: text}
	switch kind {
	case Markdown:
		m := source.ReadMarkdown(text)
		d.meta, d.script = m.Meta, m.Code
	case Lua:
		d.script = source.Read(source.Lua, text)
	default:
		d.script = source.Read(source.Starlark, text)
	}
	return d
}

// HasAllParts reports whether the document has all its parts: no string in its code is unterminated,
// and Markdown has front matter and code.
func (d *Document) HasAllParts() bool {
	return d.script != nil && d.script.Complete && (d.Kind != Markdown || d.meta.End > 0)
}

// IsTool reports whether a text looks like the file of a tool or a workflow: it declares one, or has
// front matter with a description, and code.
func (d *Document) IsTool() bool {
	if d.Kind == Markdown {
		return d.script != nil && d.meta.End > d.meta.Start && strings.Contains(d.Text[d.meta.Start:d.meta.End], "description:")
	}
	return slices.ContainsFunc([]string{"tool", "workflow"}, func(word string) bool {
		return slices.ContainsFunc(d.script.Uses(word), func(s source.Span) bool {
			rest := strings.TrimLeft(d.Text[s.End:], " ")
			return strings.HasPrefix(rest, "(") || d.Kind == Lua && strings.HasPrefix(rest, "{")
		})
	})
}

// inMeta reports whether an offset is in the front matter.
func (d *Document) inMeta(offset int) bool {
	return d.Kind == Markdown && d.meta.End > 0 && d.meta.Has(offset)
}

// module returns the functions of the module with a name, and its documentation.
func (w *World) module(name string) (funcs []*tool.Func, consts []tool.Const, doc string, ok bool) {
	for i := range w.Modules {
		m := &w.Modules[i]
		if m.Name != name {
			continue
		}
		ok = true
		if doc == "" {
			doc = m.Doc
		}
		consts = append(consts, m.Consts...)
		for j := range m.Funcs {
			if f := &m.Funcs[j]; f.Mode != tool.ModeInternal && f.Name != "" {
				funcs = append(funcs, f)
			}
		}
	}
	slices.SortStableFunc(funcs, func(a, b *tool.Func) int { return strings.Compare(a.Name, b.Name) })
	return funcs, consts, doc, ok && name != ""
}

// moduleNames returns the names of the modules.
func (w *World) moduleNames() (names []string) {
	for _, m := range w.Modules {
		if m.Name != "" && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	return names
}

// function returns a function of a module, or nil.
func (w *World) function(module, name string) *tool.Func {
	for i := range w.Modules {
		if w.Modules[i].Name != module {
			continue
		}
		for j := range w.Modules[i].Funcs {
			if f := &w.Modules[i].Funcs[j]; f.Name == name && f.Mode != tool.ModeInternal {
				return f
			}
		}
	}
	return nil
}

// tool returns the tool with a name, or nil.
func (w *World) tool(name string) *Tool {
	key := tool.Key(name)
	i := slices.IndexFunc(w.Tools, func(t Tool) bool { return tool.Key(t.Name) == key })
	if i < 0 {
		return nil
	}
	return &w.Tools[i]
}

// objects returns the types of the objects of modules that a script mentions.
func (w *World) objects(f *source.File) (types []*tool.ObjectType) {
	for _, m := range w.Modules {
		if len(m.Objects) == 0 || f == nil || len(f.Uses(m.Name)) == 0 {
			continue
		}
		for _, t := range m.Objects {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	return types
}
