package model

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// written returns the fields of requests that only the client of a provider writes, in any API.
func written() []string {
	return []string{"model", "messages", "input", "contents", "system", "instructions", "systemInstruction", "system_instruction", "stream"}
}

// CheckExtra returns an error if further fields of requests, as the option Extra of the providers
// has them, would replace the model, the conversation or its tools. Tools in a list are allowed:
// they are added. The kind of the error is Invalid.
func CheckExtra(extra *value.Dict) error {
	for k, v := range extra.All() {
		name, _ := k.(string)
		switch {
		case slices.Contains(written(), name):
			return value.Errorf(value.Invalid, "Extra has the field '%s', which cassidy writes itself", name).
				WithHint("remove '%s' from Extra", name)
		case name == "tools" && !isObjects(v):
			return value.Errorf(value.Invalid, "the field 'tools' of Extra should be a list of objects but got %s", value.Clean(value.FormatJSON(v, ""), 100)).
				WithHint("write a list of tools that the provider runs, as in [{type: web_search}]")
		}
	}
	return nil
}

// isObjects reports whether v is a list of objects that is not empty.
func isObjects(v value.Value) bool {
	list, _ := v.(value.List)
	return len(list) > 0 && !slices.ContainsFunc(list, func(item value.Value) bool {
		_, ok := item.(*value.Dict)
		return !ok
	})
}
