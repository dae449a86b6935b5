package markdown

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Check reports the faults of a file: those of its front matter, and those of its code block.
func (m *Language) Check(src script.Source, r *lint.Report) {
	file, err := m.split(src.Path, src.Text)
	if err != nil {
		r.AddDiagnostic(labeled(r, r.Error(err, diagnostic.Declaration)))
	}
	fields := readFields(r, file.meta, src.Path)
	otherNames(r, fields, file.meta)
	if err != nil {
		return
	}
	block, ok := file.code.(lint.Block)
	if !ok {
		return
	}
	declared := func(d *script.Declaration) (*lint.Declaration, *tool.Tool) {
		if d == nil || fields == nil {
			return nil, &tool.Tool{AllowExtra: true}
		}
		d.Pos = value.Position{File: src.Path, Line: 1}
		err := addFrontMatter(d, fields, file.meta)
		r.AddError(err, diagnostic.Declaration)
		t := r.Declaration(d, script.Stem(src.Path), err == nil)
		if err != nil {
			return nil, &tool.Tool{AllowExtra: true}
		}
		return needsOf(r, &t), &t
	}
	block.CheckBlock(script.Source{Path: src.Path, Text: file.text, Libs: src.Libs}, r, declared)
}

// readFields reads the front matter, or reports why it cannot be read.
func readFields(r *lint.Report, meta, path string) *value.Dict {
	if meta == "" {
		return nil
	}
	v, err := yaml.Parse(meta)
	if err != nil {
		r.AddError(inFrontMatter(err, path), diagnostic.Syntax)
		return nil
	}
	fields, ok := v.(*value.Dict)
	if !ok {
		e := value.Errorf(value.Invalid, "No valid YAML frontmatter found: expected lines such as \"description: TEXT\"")
		e.Pos = value.Position{File: path, Line: 2}
		r.AddError(e, diagnostic.Declaration)
	}
	return fields
}

// otherNames warns of fields whose names are those of the other languages.
func otherNames(r *lint.Report, fields *value.Dict, meta string) {
	for name, field := range ownNames {
		if fields.Has(name) || !fields.Has(field) {
			continue
		}
		at := lint.Range{Start: lint.Pos{Line: yaml.Line(meta, field) + 1, Col: 1}}
		if r.Source[r.Span(at).Start:r.Span(at).End] == field {
			r.Add(lint.Fault{At: at, Warning: true, Code: diagnostic.Declaration, Message: fmt.Sprintf("the field '%s' is called '%s' in front matter", field, name), Rename: name})
		}
	}
}

// labeled adds the fix of a code block without a language whose language is certain.
func labeled(r *lint.Report, d diagnostic.Diagnostic) diagnostic.Diagnostic {
	mark, lang := fence(r.Line(d.Pos.Line))
	if mark == "" || lang != "" || !strings.HasPrefix(d.Message, noBlock) {
		return d
	}
	for n := d.Pos.Line + 1; n <= r.Lines() && !closes(r.Line(n), mark) && lang == ""; n++ {
		switch line := r.Line(n); {
		case strings.HasPrefix(line, "def ") && strings.HasSuffix(strings.TrimSpace(line), ":"):
			lang = "starlark"
		case strings.HasPrefix(line, "function ") || strings.HasPrefix(line, "function(") || strings.HasPrefix(line, "local "), strings.HasPrefix(line, "return function"):
			lang = "lua"
		}
	}
	if lang != "" {
		at := r.Offset(d.Pos.Line, 0) + len(mark)
		d.Fix = &diagnostic.Fix{Title: "write " + mark + lang, Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: at, End: at}, Text: lang}}}
	}
	return d
}

// needsOf returns the needs in the front matter, with the edits that change them.
func needsOf(r *lint.Report, t *tool.Tool) *lint.Declaration {
	d := &lint.Declaration{Name: "the tool"}
	end := 1 // the line of the second ---
	for end++; end <= r.Lines() && strings.TrimRight(r.Line(end), " \t") != "---"; end++ {
	}
	field, last := 0, 0
	for n := 2; n < end; n++ {
		switch line := r.Line(n); {
		case strings.HasPrefix(line, "needs:"):
			field, last = n, n
		case field > 0 && n == last+1 && strings.HasPrefix(strings.TrimLeft(line, " \t"), "- "):
			last = n
		}
	}
	for i, need := range t.Needs {
		at := lint.Range{Start: lint.Pos{Line: max(field, 1)}}
		n := lint.Need{Capability: need}
		if last > field && last-field == len(t.Needs) { // a line for each
			at.Start.Line = field + 1 + i
			n.Remove = func() *diagnostic.Fix { return removeLine(r, at.Start.Line, need.String()) }
		}
		if col := strings.Index(r.Line(at.Start.Line), need.String()); col >= 0 {
			at.Start.Col = 1 + len([]rune(r.Line(at.Start.Line)[:col]))
			at.End = lint.Pos{Line: at.Start.Line, Col: at.Start.Col + len([]rune(need.String()))}
		}
		n.At = at
		d.Needs = append(d.Needs, n)
	}
	d.Add = func(text string) *diagnostic.Fix { return addNeed(r, text, field, last, end) }
	return d
}

func removeLine(r *lint.Report, line int, need string) *diagnostic.Fix {
	span := diagnostic.Span{Start: r.Offset(line, 1), End: r.Offset(line+1, 1)}
	return &diagnostic.Fix{Title: fmt.Sprintf("remove %q from needs", need), Edits: []diagnostic.Edit{{Span: span}}}
}

// addNeed adds a need to the field in a line, whose last item is in the line last. end is the line after the
// front matter.
func addNeed(r *lint.Report, need string, field, last, end int) *diagnostic.Fix {
	text := need
	if strings.ContainsAny(need, ":*{}[],&#'%@!|>?`") {
		text = fmt.Sprintf("%q", need)
	}
	var at int
	switch line := r.Line(field); {
	case field == 0:
		at, text = r.Offset(end, 1), "needs: ["+text+"]\n"
	case last > field:
		item := r.Line(last)
		at = r.Offset(last+1, 1)
		text = item[:len(item)-len(strings.TrimLeft(item, " \t"))] + "- " + text + "\n"
	case strings.HasSuffix(strings.TrimRight(line, " \t"), "]") && strings.Count(line, "]") == 1:
		before := line[:strings.LastIndexByte(line, ']')]
		at = r.Offset(field, 1) + len(before)
		if !strings.HasSuffix(strings.TrimRight(before, " "), "[") {
			text = ", " + text
		}
	default:
		return nil
	}
	return &diagnostic.Fix{Title: fmt.Sprintf("add %q to needs", need), Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: at, End: at}, Text: text}}}
}
