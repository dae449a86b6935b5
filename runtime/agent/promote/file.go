package promote

import (
	"cmp"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// file returns the text of the tool's file.
func (w *writer) file() string {
	body := w.body()
	t := &tool.Tool{Name: w.Name}
	title, handler := t.DisplayTitle(), w.handler(body)
	heads, args := make([]string, len(w.params)), make([]string, len(w.params))
	for i, p := range w.params {
		heads[i], args[i] = p.name+": "+p.kind+" = "+p.text, quote(p.name)+": "+p.text
	}
	returns := ""
	if kind := typeOf(w.Result); kind != "" {
		returns = " -> " + kind
	}
	var b strings.Builder
	b.WriteString(`"""` + title + ": promoted from " + cmp.Or(docText(w.From), "a run") + ".\n\n" +
		"A model wrote the program that is the body of the handler. Read the program.\nThen change the docstring and the defaults: a model reads the docstring to decide when to call the tool.\n\"\"\"\n\n")
	b.WriteString("def " + handler + "(" + strings.Join(heads, ", ") + ")" + returns + ":\n")
	w.docstring(&b, title)
	for _, line := range w.above {
		b.WriteString(bodyIndent + line + "\n")
	}
	if body != "" {
		b.WriteString(body + "\n")
	}
	for _, line := range w.below {
		b.WriteString(bodyIndent + line + "\n")
	}
	b.WriteString("\ntool(\n    " + handler + ",\n    title = " + quote(title) + ",\n    group = \"custom\",\n" +
		"    needs = " + listOf(w.needs()) + ",\n")
	if len(args) > 0 {
		b.WriteString("    examples = [\n        example(\"As the model ran it\", args = {" + strings.Join(args, ", ") + "}),\n    ],\n")
	}
	b.WriteString("    tags = [\"promoted\"],\n)\n")
	return b.String()
}

// handler returns the name of the handler: that of the tool, unless the file uses it
// otherwise.
func (w *writer) handler(body string) string {
	name := tool.Key(w.Name)
	used := prose.IsKeyword(name) || prose.IsPredeclared(name)
	s := scan.New(body)
	for t := s.Next(); t.Kind != scan.EndOfText; t = s.Next() {
		used = used || t.Text == name
	}
	if used {
		name += "_tool"
	}
	return name
}

// typeOf returns the annotation for the type of a value, or "".
func typeOf(v value.Value) string {
	switch v := v.(type) {
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case *value.Dict:
		return "dict"
	case value.List:
		kinds := map[string]bool{}
		for _, item := range v {
			kind, _, _ := strings.Cut(typeOf(item), "[")
			kinds[kind] = true
		}
		return listType(kinds)
	}
	return ""
}

// docstring writes the docstring of the handler.
func (w *writer) docstring(b *strings.Builder, title string) {
	const maxKeys = 12 // of a result that are listed
	about := w.doc
	if about == "" {
		about = cmp.Or(docText(w.About), title)
		if !strings.ContainsAny(about[len(about)-1:], ".!?") {
			about += "."
		}
	}
	lines := []string{`"""` + about}
	if len(w.params) > 0 {
		lines = append(lines, "", "Args:")
	}
	for _, p := range w.params {
		lines = append(lines, "  "+p.name+": "+cmp.Or(docText(p.comment), "The "+strings.ToLower(strings.ReplaceAll(p.name, "_", " "))+"."))
	}
	result := "The result of the program."
	if d, ok := w.Result.(*value.Dict); ok && d.Len() > 0 && d.Len() <= maxKeys {
		var keys []string
		for k := range d.All() {
			keys = append(keys, docText(value.Display(k)))
		}
		result = strings.Join(keys, ", ") + "."
	}
	if w.Result != nil {
		lines = append(lines, "", "Returns:", "  "+result)
	}
	if len(lines) == 1 {
		b.WriteString(bodyIndent + lines[0] + "\"\"\"\n")
		return
	}
	for _, line := range append(lines, `"""`) {
		b.WriteString(strings.TrimRight(bodyIndent+line, " ") + "\n")
	}
}

// docText returns a text as one line of a docstring.
func docText(text string) string {
	const most = 300
	text = strings.NewReplacer(`\`, `\\`, `"`, "'").Replace(prose.OneLine(text))
	if utf8.RuneCountInString(text) > most {
		text = strings.TrimRight(prose.FirstRunes(text, most-1), `\`) + "…"
	}
	return text
}

// needs returns the needs of the tool: the called tools and what they need, since a
// call of a tool can do no more than its caller, but only the used hosts and commands.
func (w *writer) needs() []tool.Capability {
	var list []tool.Capability
	add := func(c tool.Capability) {
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	for _, t := range w.called {
		add(tool.Capability{Name: "tool", Target: t.Name})
	}
	for _, t := range w.called {
		for _, c := range t.Needs {
			switch {
			case c.Name == "tool":
			case c.Name == "shell" || c.Name == "http" || strings.HasPrefix(c.Name, "http."):
				for _, used := range w.Used {
					if c.Allows(used) {
						add(used)
					}
				}
			default:
				add(c)
			}
		}
	}
	return slices.DeleteFunc(list, func(c tool.Capability) bool {
		return c.Target != "" && slices.Contains(list, tool.Capability{Name: c.Name})
	})
}

// listOf writes a list of capabilities, on one line if that is short enough.
func listOf(list []tool.Capability) string {
	const width = 100
	quoted := value.Map(list, func(c tool.Capability) string { return quote(c.String()) })
	if line := "[" + strings.Join(quoted, ", ") + "]"; len(line) <= width {
		return line
	}
	return "[\n        " + strings.Join(quoted, ",\n        ") + ",\n    ]"
}

// quote writes a string as a script does.
func quote(text string) string { return value.FormatJSON(text, "") }
