package mcpfile

import (
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Put returns the text of a file with an entry, which replaces one of the same name. Other entries
// and fields stay as they are, in their order. An empty text is a new file. It fails with kind
// Invalid if the text is not a valid file, or would not be one with the entry.
func Put(text, name string, entry *value.Dict) (string, error) {
	return change(text, func(servers *value.Dict) (*value.Dict, error) {
		servers.Put(name, entry)
		return servers, nil
	})
}

// Remove returns the text of a file without an entry. It fails with kind NotFound.
func Remove(text, name string) (string, error) {
	return change(text, func(servers *value.Dict) (*value.Dict, error) {
		if !servers.Has(name) {
			return nil, NoServer(name, names(servers))
		}
		rest := &value.Dict{}
		for k, entry := range servers.All() {
			if k != value.Value(name) {
				rest.Put(k.(string), entry) // the keys of JSON are strings
			}
		}
		return rest, nil
	})
}

// NoServer returns the error of kind NotFound for a name that no entry has.
func NoServer(name string, known []string) error {
	return value.Errorf(value.NotFound, "there is no server %q%s", value.Clean(name, 60), value.DidYouMean(name, known)).
		WithHint("list the servers with: cassidy mcp list")
}

func names(servers *value.Dict) (list []string) {
	for k := range servers.All() {
		list = append(list, k.(string)) // the keys of JSON are strings
	}
	return list
}

// Entry returns an entry of a file as it is written, or nil.
func Entry(text, name string) *value.Dict {
	v, _ := parse(text)
	file, _ := v.(*value.Dict)
	return file.Dict("mcpServers").Dict(name)
}

func parse(text string) (value.Value, error) {
	return value.ParseJSONWithin([]byte(text), maxDepth, maxNodes)
}

func change(text string, edit func(servers *value.Dict) (*value.Dict, error)) (string, error) {
	if text == "" {
		text = "{}"
	}
	if _, _, err := Parse(text); err != nil {
		return "", err
	}
	v, err := parse(text)
	if err != nil {
		return "", err
	}
	file := v.(*value.Dict) // Parse accepts nothing else
	servers, err := edit(file.Dict("mcpServers").OrEmpty())
	if err != nil {
		return "", err
	}
	file.Put("mcpServers", servers)
	text = value.FormatJSON(file, "  ") + "\n"
	_, _, err = Parse(text)
	return text, err
}
