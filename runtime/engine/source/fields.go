package source

import (
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A Field is a field of a declaration.
type Field struct {
	Name string
	Type tool.Type
	Doc  string
}

// Fields returns the fields of tool(…), workflow(…), param(…) or example(…), in the order of
// positional arguments, and nil for any other function. A handler is not one of the fields.
func Fields(word string) (list []Field) {
	for _, f := range script.Fields(word) {
		list = append(list, Field(f))
	}
	return list
}

// MetaFields returns the fields of the front matter of a tool in Markdown.
func MetaFields() []Field {
	list := Fields(script.ToolWord)
	for i := range list {
		f := &list[i]
		switch f.Name {
		case "params":
			f.Name, f.Doc = "parameters", "The parameters: a list of objects with a name and the fields of param(…), or an object whose keys are the names."
		case "examples":
			f.Doc = "Example calls: a list of objects with description, args and expect."
		case "returns":
			f.Doc = "The type of the result: a type, or an object with the fields of param(…). A result of another type is an error."
		case "available":
			f.Doc = "The name of a function of the code without parameters that reports whether the tool can be used."
		case "preview":
			f.Doc = "The name of a function preview(result, args) of the code that returns what people see of a result."
		case "undo":
			f.Doc = "The name of a function undo(args, result) of the code that undoes a call."
		}
	}
	return list
}

// LimitNames returns the names in the field limits.
func LimitNames() []string { return script.LimitNames() }

// HintNames returns the names in the field hints that have a meaning.
func HintNames() []string { return script.HintNames() }

// FailureTypes returns the types of errors that a script can report with fail, or with error in Lua.
func FailureTypes() []string { return script.FailureTypes() }
