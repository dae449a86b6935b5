package assist

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/source"
)

// builtins are the functions of Starlark itself, by their definitions.
var builtins = map[string]string{
	"abs(x)":                                 "Returns the absolute value of a number.",
	"all(x)":                                 "Reports whether all elements of x are true.",
	"any(x)":                                 "Reports whether an element of x is true.",
	"attempt(fn, *args, **kwargs)":           "Calls a function and catches its error. Returns a dict of ok, value, error, error_type and hint.",
	"bool(x = False)":                        "Returns whether x is true.",
	"bytes(x)":                               "Returns the bytes of a string or of a list of numbers.",
	"chr(i)":                                 "Returns the character with a code point.",
	"dict(pairs, **kwargs)":                  "Returns a dict.",
	"dir(x)":                                 "Returns the names of the fields and methods of x.",
	"enumerate(x, start = 0)":                "Returns a list of pairs: the index of each element, and the element.",
	"float(x = 0)":                           "Returns x as a float.",
	"getattr(x, name, default)":              "Returns the field or method of x with a name.",
	"hasattr(x, name)":                       "Reports whether x has a field or method with a name.",
	"hash(x)":                                "Returns a hash of a string.",
	"int(x, base = 10)":                      "Returns x as an int.",
	"len(x)":                                 "Returns the number of elements of x.",
	"list(x)":                                "Returns a list of the elements of x.",
	"max(x, *args, key = None)":              "Returns the largest element.",
	"min(x, *args, key = None)":              "Returns the smallest element.",
	"ord(s)":                                 "Returns the code point of a character.",
	"print(*args, sep = \" \")":              "Writes a line, which is not part of the result.",
	"range(start, stop, step = 1)":           "Returns the numbers from start to stop, exclusive.",
	"repr(x)":                                "Returns x as it is written in Starlark.",
	"reversed(x)":                            "Returns the elements of x in reverse order.",
	"set(x)":                                 "Returns a set of the elements of x.",
	"sorted(x, key = None, reverse = False)": "Returns a sorted list of the elements of x.",
	"str(x)":                                 "Returns x as a string.",
	"tuple(x)":                               "Returns a tuple of the elements of x.",
	"type(x)":                                "Returns the name of the type of x.",
	"zip(*args)":                             "Returns a list of tuples with an element of each argument.",
}

// failing describes fail, and in Lua the table that error accepts.
func failing(name string) *callable {
	c := &callable{name: name, doc: "Ends the call of the tool with an error."}
	types := "The type of the error: " + strings.Join(source.FailureTypes(), ", ") + "."
	const hint = "What to do instead, as the caller can type it."
	if name == errorWord {
		c.doc += " The value is a text, or a table with message, type and hint."
		c.params = []parameter{
			{name: "message", text: "message", doc: "The text of the error."},
			{name: "type", text: "type = \"user_error\"", doc: types},
			{name: "hint", text: "hint = \"\"", doc: hint},
		}
		return c
	}
	c.params = []parameter{
		{name: "args", text: "*args", doc: "The parts of the message."},
		{name: "type", text: "type = \"user_error\"", doc: types},
		{name: "hint", text: "hint = \"\"", doc: hint},
		{name: "sep", text: "sep = \" \"", doc: "The text between the parts."},
	}
	return c
}

// The functions that end a call with an error, in Starlark and in Lua.
const (
	failWord  = "fail"
	errorWord = "error"
)

// reports reports whether a call is one of fail, or of error in Lua.
func (d *Document) reports(c *source.Call) bool {
	return c.Function == failWord && d.script.Language == source.Starlark || c.Function == errorWord && d.script.Language == source.Lua
}

// builtin returns a function of Starlark itself.
func builtin(name string) (*callable, bool) {
	if name == failWord {
		return failing(name), true
	}
	for definition, doc := range builtins {
		params, ok := strings.CutPrefix(definition, name+"(")
		if !ok {
			continue
		}
		c := &callable{name: name, doc: doc}
		for text := range strings.SplitSeq(strings.TrimSuffix(params, ")"), ", ") {
			name, _, _ := strings.Cut(strings.TrimLeft(text, "*"), " ")
			if text != "" {
				c.params = append(c.params, parameter{name: name, text: text})
			}
		}
		return c, true
	}
	return nil, false
}

// builtinNames returns the names of the functions of Starlark itself.
func builtinNames() (names []string) {
	names = append(names, failWord)
	for definition := range builtins {
		name, _, _ := strings.Cut(definition, "(")
		names = append(names, name)
	}
	return names
}
