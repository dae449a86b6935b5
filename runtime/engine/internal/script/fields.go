package script

import "github.com/cassidy-run/cassidy/runtime/tool"

// A Field is a field of tool(…), param(…) or example(…). [Reader] reads the fields; a test
// compares both.
type Field struct {
	Name string
	Type tool.Type
	Doc  string
}

func object() tool.Type { return tool.Type{Name: tool.TypeObject} }

func text() tool.Type { return tool.Type{Name: tool.TypeString} }

func flag() tool.Type { return tool.Type{Name: tool.TypeBoolean} }

func atLeast(name string, least int64) tool.Type { return tool.Type{Name: name, Min: least} }

func listOf(t tool.Type) tool.Type { return tool.Type{Name: tool.TypeArray, Items: &t} }

// Fields returns the fields of tool(…), workflow(…), param(…) or example(…), in the order of
// positional arguments, and nil for any other word. A handler is not one of the fields.
func Fields(word string) []Field {
	switch word {
	case ToolWord, WorkflowWord:
		return toolFields()
	case "param":
		return paramTable()
	case "example":
		return exampleTable()
	}
	return nil
}

func toolFields() []Field {
	flags := tool.Type{Name: tool.TypeObject, Values: &tool.Type{Name: tool.TypeBoolean}}
	return []Field{
		{"name", text(), "The name of the tool. It must be the name of the file; only - and _ may differ."},
		{"title", text(), "The name that people see. The default is the name in title case."},
		{"description", text(), "What the tool does and when to use it, at most 16 KB. The default is the docstring, or in Lua the comment above the handler."},
		{"group", text(), "The group of the tool in lists. The default is \"custom\"."},
		{"params", object(), "Maps the name of a parameter to param(…) or a type, which is added to the signature."},
		{"returns", tool.Type{}, "The type of the result: a type, or param(…). A result of another type is an error."},
		{"examples", listOf(object()), "Example calls: a list of example(…)."},
		{"needs", listOf(text()), "The capabilities of the tool, such as \"fs.read\" or \"http.get:api.example.com\". All others are denied."},
		{"risky", flag(), "If true, a call by a model needs approval."},
		{"hints", flags, "Hints for models: read_only, idempotent, open_world, untrusted_output, parallel, or any other name."},
		{"allow_extra", flag(), "If true, unknown arguments of a call are ignored. Otherwise they are an error."},
		{"available", text(), "A function without parameters that reports whether the tool can be used."},
		{"undo", text(), "A function undo(args, result) that undoes a call."},
		{"preview", text(), "A function preview(result, args) that returns what people see of a result: a string or a list of lines."},
		{"deprecated", tool.Type{}, "Marks the tool as deprecated: a message, or a dict of since, replacement and message."},
		{"tags", listOf(text()), "Words that are shown to people only."},
		{"version", tool.Type{}, "The version of the tool, which is shown to people only."},
		{"timeout", atLeast(tool.TypeNumber, 0), "The wall time of a call in seconds, at most 24 hours. The default is 30."},
		{"limits", object(), "Limits of a call: steps, cpu in seconds, memory in bytes, result in bytes, and the number of HTTP requests."},
		{"overhead", atLeast(tool.TypeInteger, 0), "How many tokens the definition of the tool takes in a prompt. The default is estimated."},
	}
}

func paramTable() []Field {
	return []Field{
		{"type", tool.Type{}, "The type: string, integer, number, boolean, array, object, media, any, or one of these with constraints."},
		{"description", text(), "The description of the parameter. The default is its text in the docstring, or in Lua in the comment above the handler."},
		{"required", tool.Type{}, "Whether a call must pass it. For an object, it may also be a list of the required properties."},
		{"default", tool.Type{}, "The value of an omitted argument."},
		{"min", tool.Type{Name: tool.TypeNumber}, "The smallest allowed number."},
		{"max", tool.Type{Name: tool.TypeNumber}, "The largest allowed number."},
		{"min_length", atLeast(tool.TypeInteger, 0), "The smallest number of characters of a string, or of items of a list."},
		{"max_length", atLeast(tool.TypeInteger, 0), "The largest number of characters of a string, or of items of a list."},
		{"pattern", text(), "A regular expression (RE2). It may match any part of the string, unless it has ^ and $."},
		{"enum", tool.Type{Name: tool.TypeArray, MinLength: new(1)}, "The allowed values."},
		{"items", tool.Type{}, "The type of the items of a list: a type, or param(…)."},
		{"properties", object(), "The properties of an object: maps the name of each to a type or param(…)."},
		{"aliases", tool.Type{Name: tool.TypeArray, Items: &tool.Type{Name: tool.TypeString}, MinLength: new(1)}, "Other names of the parameter in a call."},
	}
}

func exampleTable() []Field {
	return []Field{
		{"description", text(), "What the example shows."},
		{"args", object(), "The arguments of the call."},
		{"expect", tool.Type{}, "The result of the call. 1 equals 1.0, and the order of a dict is ignored."},
	}
}

// LimitNames returns the names in limits.
func LimitNames() []string { return []string{"steps", "cpu", "memory", "result", "requests"} }

// HintNames returns the names in hints that have a meaning.
func HintNames() []string {
	return []string{"read_only", "idempotent", "open_world", "untrusted_output", "parallel"}
}
