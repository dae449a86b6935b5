package promote

import (
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/names"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// file writes the tool's file.
func (w *promoting) file() string {
	body := w.body()
	t := &tool.Tool{Name: w.Name}
	title := t.DisplayTitle()
	var b strings.Builder
	from := "a run"
	if w.From != "" {
		from = docText(w.From)
	}
	b.WriteString(`"""` + title + ": promoted from " + from + ".\n\n" +
		"A model wrote the program that is the body of the handler. Read it, then change\nthe docstring (by which a model decides when to call the tool) and the defaults.\n\"\"\"\n\n")
	handler := w.handler(body)
	b.WriteString("def " + handler + "(" + w.heads() + ")" + w.returns() + ":\n")
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
	b.WriteString("\ntool(\n    " + handler + ",\n    title = " + starlark(title) + ",\n    group = \"custom\",\n" +
		"    needs = " + listOf(capabilityTexts(w.needs())) + ",\n")
	if len(w.params) > 0 {
		args := make([]string, len(w.params))
		for i, p := range w.params {
			args[i] = starlark(p.name) + ": " + p.text
		}
		b.WriteString("    examples = [\n        example(\"As the model ran it\", args = {" + strings.Join(args, ", ") + "}),\n    ],\n")
	}
	b.WriteString("    tags = [\"promoted\"],\n)\n")
	return b.String()
}

// handler is the function's name: the tool's, unless that means something in the
// file already.
func (w *promoting) handler(body string) string {
	name := tool.Key(w.Name)
	used := slices.ContainsFunc(scanProgram(body+"\n"), func(t lexeme) bool { return t.kind == lexWord && t.text == name })
	if used || names.IsKeyword(name) || names.IsPredeclared(name) {
		name += "_tool"
	}
	return name
}

func (w *promoting) heads() string {
	heads := make([]string, len(w.params))
	for i, p := range w.params {
		heads[i] = p.name + ": " + p.kind + " = " + p.text
	}
	return strings.Join(heads, ", ")
}

// returns is the type of the result, where the recorded one makes it clear.
func (w *promoting) returns() string {
	if kind := typeOf(w.Result); kind != "" {
		return " -> " + kind
	}
	return ""
}

// typeOf is the type of a value as a script writes it, or "" for none.
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

// docstring writes what the tool is for.
func (w *promoting) docstring(b *strings.Builder, title string) {
	const most = 12 // keys of a result that are told
	about := w.about
	if about == "" {
		if about = docText(w.About); about == "" {
			about = title
		}
		if !strings.ContainsAny(about[len(about)-1:], ".!?") {
			about += "."
		}
	}
	lines := []string{`"""` + about}
	if len(w.params) > 0 {
		lines = append(lines, "", "Args:")
	}
	for _, p := range w.params {
		text := docText(p.about)
		if text == "" {
			text = "The " + strings.ToLower(strings.ReplaceAll(p.name, "_", " ")) + "."
		}
		lines = append(lines, "  "+p.name+": "+text)
	}
	result := "What the program gives."
	if d, ok := w.Result.(*value.Dict); ok && d.Len() > 0 {
		var keys []string
		for k := range d.All() {
			if name, ok := k.(string); ok && len(keys) < most {
				keys = append(keys, docText(name))
			}
		}
		if len(keys) == d.Len() {
			result = strings.Join(keys, ", ") + "."
		}
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

// docText makes a text one line of a docstring.
func docText(text string) string {
	const most = 300
	text = strings.NewReplacer(`\`, `\\`, `"`, "'").Replace(prose.OneLine(text))
	if utf8.RuneCountInString(text) > most {
		text = strings.TrimRight(prose.FirstRunes(text, most-1), `\`) + "…"
	}
	return text
}

// plainDoc is the text of a string in a program, as a line of a docstring.
func plainDoc(literal string) string {
	return docText(strings.ReplaceAll(strings.Trim(strings.TrimLeft(literal, "rb"), `"'`), `\`, ""))
}

// needs is what the tool declares: the tools that were called, and what these
// declare themselves, as what a tool's call does is bounded by its caller. Of
// hosts and commands it is what was used.
func (w *promoting) needs() []tool.Capability {
	var list []tool.Capability
	add := func(c tool.Capability) {
		if !slices.Contains(list, c) {
			list = append(list, c)
		}
	}
	for _, t := range w.using {
		add(tool.Capability{Name: "tool", Target: t.Name})
	}
	for _, t := range w.using {
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

func capabilityTexts(list []tool.Capability) []string {
	texts := make([]string, len(list))
	for i, c := range list {
		texts[i] = c.String()
	}
	return texts
}

// listOf writes a list of texts, on a line if there is room.
func listOf(texts []string) string {
	const width = 100
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = starlark(text)
	}
	if line := "[" + strings.Join(quoted, ", ") + "]"; len(line) <= width {
		return line
	}
	return "[\n        " + strings.Join(quoted, ",\n        ") + ",\n    ]"
}

// starlark writes a text as a script does.
func starlark(text string) string { return value.FormatJSON(text, "") }
