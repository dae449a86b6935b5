package mcp

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/cmd/internal/draw"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A definition is what a server says about one of its tools, and how that differs from what was accepted.
type definition struct {
	attached.Change
	says   claim
	params []string // those that are required with *
	texts  []string // all that a model reads, but for the name and what is above
}

// A claim is what a server says that a tool does. Nothing proves it.
type claim int

const (
	destructive claim = iota
	openWorld
	nothing
	readOnly
)

// String returns a claim as a text.
func (c claim) String() string {
	return [...]string{"destructive", "open world", "nothing", "read-only"}[c]
}

// mark returns the symbol of a tool.
func (d *definition) mark() draw.Symbol {
	if d.says < nothing && d.What != "removed" {
		return draw.Risk
	}
	return draw.None
}

// definitions reads the definitions of changed tools: those first whose server says that they do most.
func definitions(changes []attached.Change) []definition {
	list := make([]definition, len(changes))
	for i, c := range changes {
		d := definition{Change: c, says: nothing}
		if v, err := value.ParseJSON([]byte(c.New)); err == nil {
			if of, ok := v.(*value.Dict); ok {
				d.read(of)
			}
		}
		list[i] = d
	}
	slices.SortStableFunc(list, func(a, b definition) int { return int(a.says - b.says) })
	return list
}

func (d *definition) read(of *value.Dict) {
	claims := of.Dict("annotations")
	is := func(name string) bool { v, _ := claims.Get(name); return v == true }
	switch {
	case is("destructiveHint"):
		d.says = destructive
	case is("openWorldHint"):
		d.says = openWorld
	case is("readOnlyHint"):
		d.says = readOnly
	}
	schema := of.Dict("inputSchema")
	required, _ := schema.Get("required")
	names, _ := value.Elements(required)
	for name := range schema.Dict("properties").All() {
		text, _ := name.(string)
		if slices.Contains(names, name) {
			text += "*"
		}
		d.params = append(d.params, text)
	}
	if text := of.Text("description"); text != "" {
		d.texts = append(d.texts, text)
	}
	for key, v := range of.All() {
		if name, _ := key.(string); name != "name" && name != "description" && name != "_meta" {
			path := map[string]string{"inputSchema": "", "outputSchema": "result", "annotations": ""}
			at, known := path[name]
			if !known {
				at = name
			}
			d.walk(at, v)
		}
	}
}

// word is a value of a schema that says nothing to a model.
var word = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9#/:._$-]{1,60}$`) })

// walk collects the texts in a schema. The path names the parameter that they are about.
func (d *definition) walk(path string, v value.Value) {
	join := func(name string) string { return strings.TrimPrefix(path+"."+name, ".") }
	if text, ok := v.(string); ok {
		d.texts = append(d.texts, path+": "+text)
		return
	}
	if of, ok := v.(*value.Dict); ok {
		for key, item := range of.All() {
			name, _ := key.(string)
			text, isText := item.(string)
			switch {
			case isText && slices.Contains([]string{"type", "format", "$schema", "$ref"}, name) && word().MatchString(text):
			case isText && name == "description" && path != "":
				d.texts = append(d.texts, path+": "+text)
			case name == "properties" || name == "required":
				if name == "properties" {
					d.walk(path, item)
				}
			default:
				d.walk(join(name), item)
			}
		}
		return
	}
	items, _ := value.Elements(v)
	for _, item := range items {
		d.walk(path, item)
	}
}
