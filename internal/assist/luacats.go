package assist

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// LuaCATS returns a file of definitions for lua-language-server: all modules, the tools, and the
// functions of declarations.
func (w *World) LuaCATS() string {
	var b strings.Builder
	b.WriteString("---@meta\n\n-- Written by cassidy lsp --luacats; do not edit.\n\n" +
		"---Null inside of tables.\n---@type any\nnull = nil\n")
	var types []*tool.ObjectType
	for _, m := range w.Modules {
		for _, t := range m.Objects {
			if !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
	}
	for _, t := range types {
		b.WriteString("\n" + luaComment(t.Doc) + "---@class cassidy." + t.Name + "\n")
		for _, f := range t.Fields {
			b.WriteString("---@field " + f.Name + " any " + oneLine(f.Doc) + "\n")
		}
		b.WriteString("local " + t.Name + "_methods = {}\n")
		for i := range t.Methods {
			w.writeLua(&b, t.Name+"_methods:"+t.Methods[i].Name, functionOf("", &t.Methods[i]), typesOf(t.Methods[i].Params), false)
		}
	}
	for _, name := range w.moduleNames() {
		funcs, consts, doc, _ := w.module(name)
		b.WriteString("\n" + luaComment(doc) + "---@class cassidy." + name + "\n")
		for _, c := range consts {
			b.WriteString("---@field " + c.Name + " any " + oneLine(c.Doc) + "\n")
		}
		b.WriteString(name + " = {}\n")
		for _, f := range funcs {
			if !luaName(f.Name) {
				continue
			}
			w.writeLua(&b, name+"."+f.Name, functionOf(name, f), typesOf(f.Params), f.Rest != "")
		}
		if name == "tools" {
			w.luaTools(&b)
		}
	}
	for i := range w.Modules {
		for j := range w.Modules[i].Funcs {
			if f := &w.Modules[i].Funcs[j]; w.Modules[i].Name == "" && w.function("", f.Name) == f && luaName(f.Name) {
				w.writeLua(&b, f.Name, functionOf("", f), typesOf(f.Params), f.Rest != "")
			}
		}
	}
	writeDeclarations(&b)
	return b.String()
}

// luaTools writes the tools, which get one table.
func (w *World) luaTools(b *strings.Builder) {
	for i := range w.Tools {
		t := &w.Tools[i]
		c := toolOf(t)
		_, name, _ := cutLast(c.name)
		if !luaName(name) {
			continue
		}
		b.WriteString("\n---@class cassidy.args." + name + "\n")
		for j := range t.Params {
			p := &t.Params[j]
			if p.FromHost || !luaName(p.Name) {
				continue
			}
			b.WriteString("---@field " + p.Name + optional(p) + " " + luaType(&p.Type) + " " + oneLine(p.Description) + "\n")
		}
		b.WriteString("\n" + luaComment(c.doc+"\n\n"+c.needs) + "---@param args cassidy.args." + name + "\n---@return " + luaResult(t) + "\nfunction tools." + name + "(args) end\n")
	}
}

// luaResult returns the type of the result of a tool, and what it means.
func luaResult(t *Tool) string {
	result := "any"
	if t.Returns != nil {
		result = luaType(t.Returns)
	}
	if t.ReturnsDoc != "" {
		result += " # " + oneLine(t.ReturnsDoc)
	}
	return result
}

// writeLua writes a function. A function gets its arguments in order, and a last table with named ones.
func (w *World) writeLua(b *strings.Builder, name string, c *callable, types []string, rest bool) {
	overload := w.writeOptions(b, name, c, types, rest)
	b.WriteString("\n" + luaComment(c.doc+"\n\n"+c.needs))
	var names []string
	for i, p := range c.params {
		if !luaName(p.name) {
			continue
		}
		mark := ""
		if strings.Contains(p.text, " = ") {
			mark = "?"
		}
		b.WriteString("---@param " + p.name + mark + " " + types[i] + " " + oneLine(p.doc) + "\n")
		names = append(names, p.name)
	}
	if rest {
		b.WriteString("---@param ... any further arguments\n")
		names = append(names, "...")
	}
	if c.result != "None" {
		b.WriteString("---@return " + w.resultType(c.result) + " # " + oneLine(c.result) + "\n")
	}
	b.WriteString(overload + "function " + name + "(" + strings.Join(names, ", ") + ") end\n")
}

// writeOptions writes a class with the optional parameters of a function, and returns the overload that
// takes them by name, in a table after the required arguments. It is "" without optional parameters.
func (w *World) writeOptions(b *strings.Builder, name string, c *callable, types []string, rest bool) string {
	var fields strings.Builder
	var required []string
	object, method, isMethod := strings.Cut(name, "_methods:")
	if isMethod {
		name = object + "." + method
		required = append(required, "self: cassidy."+object)
	}
	for i, p := range c.params {
		switch {
		case !luaName(p.name):
		case strings.Contains(p.text, " = "):
			fields.WriteString("---@field " + p.name + "? " + types[i] + " " + oneLine(p.doc) + "\n")
		default:
			required = append(required, p.name+": "+types[i])
		}
	}
	if rest {
		fields.WriteString("---@field [string] any\n")
	}
	if fields.Len() == 0 {
		return ""
	}
	class := "cassidy.options." + name
	b.WriteString("\n---@class " + class + "\n" + fields.String())
	overload := "---@overload fun(" + strings.Join(append(required, "options: "+class), ", ") + ")"
	if c.result != "None" {
		overload += ": " + w.resultType(c.result)
	}
	return overload + "\n"
}

// resultType returns the type of a result: that of an object if its description begins so.
func (w *World) resultType(description string) string {
	for _, m := range w.Modules {
		for _, t := range m.Objects {
			if description == "a "+t.Name || strings.HasPrefix(description, "a "+t.Name+" ") {
				return "cassidy." + t.Name
			}
		}
	}
	return "any"
}

// writeDeclarations writes tool, param and example.
func writeDeclarations(b *strings.Builder) {
	for _, word := range []string{"tool", "param", "example"} {
		b.WriteString("\n---@class cassidy." + word + "_fields\n")
		if word == "tool" {
			b.WriteString("---@field handler function The function of the tool, which gets one table with the arguments.\n")
		}
		for _, f := range source.Fields(word) {
			b.WriteString("---@field " + f.Name + "? " + luaType(&f.Type) + " " + oneLine(f.Doc) + "\n")
		}
	}
	b.WriteString("\n---Declares the tool of this file: return tool{ … }.\n---@param fields cassidy.tool_fields\n---@return any\nfunction tool(fields) end\n" +
		"\n---Declares a parameter, a property or a type.\n---@param type string|cassidy.param_fields\n---@param description? string\n---@param more? cassidy.param_fields\n---@return any\nfunction param(type, description, more) end\n" +
		"\n---Declares an example call.\n---@param description string|cassidy.example_fields\n---@param args? table\n---@param expect? any\n---@return any\nfunction example(description, args, expect) end\n")
}

func typesOf(params []tool.Param) (types []string) {
	for i := range params {
		types = append(types, luaType(&params[i].Type))
	}
	return types
}

func optional(p *tool.Param) string {
	if p.Required {
		return ""
	}
	return "?"
}

// luaType returns the name of a type in Lua.
func luaType(t *tool.Type) string {
	switch t.Name {
	case tool.TypeString, tool.TypeMedia:
		return "string"
	case tool.TypeInteger:
		return "integer"
	case tool.TypeNumber:
		return "number"
	case tool.TypeBoolean:
		return "boolean"
	case tool.TypeArray, tool.TypeObject:
		return "table"
	}
	return "any"
}

// luaName reports whether a word can be a name in Lua.
func luaName(word string) bool {
	switch word {
	case "", "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until", "while":
		return false
	}
	return strings.Trim(word, "_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" && (word[0] < '0' || word[0] > '9')
}

// oneLine writes a text on one line.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// luaComment writes a text as comments.
func luaComment(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		b.WriteString("---" + strings.TrimRight(line, " \r") + "\n")
	}
	return b.String()
}
