package lua

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A comment is the documentation above a handler, in the form of LuaCATS and LDoc: a text, then
// tags such as @param. It takes the place of the signature and the docstring of other languages.
type comment struct {
	file   *file
	d      *script.Declaration
	own    []string // the parameters of the function itself
	args   map[string]string
	text   string
	result string
}

// commentTags are the tags that are read. Others are for editors, and ignored.
var commentTags = []string{"param", "return", "returns", "description", "example", "examples"}

// describe completes a declaration by the comment above its handler, which x is or names.
func (f *file) describe(d *script.Declaration, x ast.Expr) {
	fn := f.function(x)
	if fn == nil {
		return
	}
	line, lines := f.commentAbove(fn.Line())
	if len(lines) == 0 {
		return
	}
	c := comment{file: f, d: d, own: fn.ParList.Names, args: map[string]string{}}
	for len(lines) > 0 {
		n := 1
		for n < len(lines) && !strings.HasPrefix(lines[n], "@") {
			n++
		}
		c.part(line, strings.Join(lines[:n], "\n"))
		line, lines = line+n, lines[n:]
	}
	d.Doc = script.NewDocstring(c.text, c.args, c.result)
}

// describeBlock is describe for a code block, whose handler may be the function that it returns.
func (f *file) describeBlock(d *script.Declaration) {
	x := f.constants[d.Handler]
	if r, ok := f.stmts[len(f.stmts)-1].(*ast.ReturnStmt); ok && len(r.Exprs) == 1 {
		x = r.Exprs[0]
	}
	f.describe(d, x)
	fitEmptyTables(d)
}

// hasComment reports whether a function has a doc comment.
func (f *file) hasComment(name string) bool {
	fn := f.function(f.constants[name])
	if fn == nil {
		return false
	}
	_, lines := f.commentAbove(fn.Line())
	return len(lines) > 0
}

// commentAbove returns the lines of the doc comment that ends above a line, without their dashes, and
// the number of the first. It begins with three dashes; its other lines may have two.
func (f *file) commentAbove(line int) (first int, lines []string) {
	end := 0
	for range line - 1 {
		end += strings.IndexByte(f.text[end:], '\n') + 1
	}
	n := 0 // how many lines belong to it
	for head := f.text[:end]; head != ""; {
		head = head[:len(head)-1]
		start := strings.LastIndexByte(head, '\n') + 1
		text, ok := strings.CutPrefix(strings.TrimSpace(head[start:]), "--")
		if !ok || strings.HasPrefix(text, "[[") || strings.HasPrefix(text, "[=") {
			break
		}
		head = head[:start]
		text, isDoc := strings.CutPrefix(text, "-")
		isDoc = isDoc && !strings.HasPrefix(text, "-")
		switch trimmed := strings.TrimSpace(text); {
		case strings.Trim(trimmed, "-") == "": // also a line of dashes
			text = ""
		case strings.HasPrefix(trimmed, "@"):
			text = trimmed
		}
		lines = append(lines, strings.TrimPrefix(text, " "))
		if isDoc {
			n = len(lines)
		}
	}
	lines = lines[:n]
	slices.Reverse(lines)
	return line - n, lines
}

// part reads the text before the first tag, or a tag with its text.
func (c *comment) part(line int, text string) {
	if !strings.HasPrefix(text, "@") {
		c.text = strings.TrimSpace(text)
		return
	}
	tag, text := nextWord(text[1:])
	switch tag {
	case "description":
		c.text = strings.TrimSpace(c.text + "\n\n" + text)
	case "param":
		c.param(line, text)
	case "return", "returns":
		if c.result == "" && c.d.Returns == nil {
			c.d.Returns, c.result = c.typed(line, tag, text)
		}
	case "example", "examples":
		c.example(line, tag, text)
	default:
		if meant := value.Nearest(tag, commentTags); meant != "" {
			c.warn(line, "the tag '@%s' is not known%s", tag, value.DidYouMean(tag, commentTags))
		}
	}
}

func (c *comment) warn(line int, format string, args ...any) {
	c.d.Warn(c.file.position(line), diagnostic.DocComment, fmt.Sprintf(format, args...))
}

// param reads a parameter: its name, which ends with ? if it is optional, its type and its text.
func (c *comment) param(line int, text string) {
	name, text := nextWord(text)
	name, optional := strings.CutSuffix(name, "?")
	_, seen := c.args[name]
	switch {
	case slices.Contains(c.own, name): // the table of all arguments
		return
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }):
		c.warn(line, "@param needs a name, not %q: write ---@param NAME TYPE what it is", value.Clean(name, 80))
		return
	case seen:
		c.warn(line, "@param describes '%s' twice", name)
		return
	}
	p := script.SigParam{Name: name, HasDefault: optional, Pos: c.file.position(line)}
	p.Annotated, c.args[name] = c.typed(line, "param "+name, text)
	if p.Annotated != nil && p.Annotated.Nullable {
		p.HasDefault = true // of a table, nil is absent
	}
	c.d.Signature = append(c.d.Signature, p)
}

// typed reads a text that may begin with a type. A text whose first word is no type has none.
func (c *comment) typed(line int, tag, text string) (*tool.Type, string) {
	word, rest := nextWord(text)
	t, err := parseType(word, maxTypeDepth)
	if err == nil {
		return &t, joinWords(strings.TrimPrefix(rest, "#"))
	}
	if strings.ContainsAny(word, "<|[{(") {
		c.warn(line, "the type %q of @%s cannot be read, so any value is accepted: write string, integer, number, boolean, table, any, T[], table<string, T> or T?", value.Clean(word, 80), tag)
		return nil, joinWords(rest)
	}
	return nil, joinWords(text)
}

// maxTypeDepth is how deep a type may be nested, as in signatures.
const maxTypeDepth = 16

// parseType reads a type as it is written for Lua.
func parseType(text string, depth int) (tool.Type, error) {
	if depth == 0 {
		return tool.ParseAnnotation(text)
	}
	for _, null := range []string{"?", "|nil"} {
		if rest, ok := strings.CutSuffix(text, null); ok {
			t, err := parseType(rest, depth-1)
			t.Nullable = true
			return t, err
		}
	}
	if rest, ok := strings.CutSuffix(text, "[]"); ok {
		item, err := parseType(rest, depth-1)
		return tool.Type{Name: tool.TypeArray, Items: &item}, err
	}
	if text == "table" {
		return tool.Type{Name: tool.TypeObject}, nil
	}
	rest, isTable := strings.CutPrefix(text, "table<")
	rest, closed := strings.CutSuffix(rest, ">")
	if key, item, ok := strings.Cut(rest, ","); isTable && closed && ok && strings.TrimSpace(key) == tool.TypeString {
		t, err := parseType(strings.TrimSpace(item), depth-1)
		return tool.Type{Name: tool.TypeObject, Values: &t}, err
	}
	return tool.ParseAnnotation(text)
}

// example reads an example: its description, a table with the arguments, and after a comma the result.
func (c *comment) example(line int, tag, text string) {
	begin := strings.IndexByte(text, '{')
	if begin >= 0 {
		if d, err := c.file.parseExample(text[begin:]); err == nil {
			d.Pos, d.At = c.file.position(line), nil
			d.Fields.Put("description", joinWords(text[:begin]))
			field, _ := c.d.Fields.Get("examples")
			if list, ok := field.(value.List); ok || field == nil { // else the field is reported
				c.d.Fields.Put("examples", append(list, d))
			}
			return
		}
	}
	c.warn(line, "@%s cannot be read: write ---@example what it shows { name = value }, and after a comma the result", tag)
}

// parseExample reads the arguments of an example, and the result if there is one.
func (f *file) parseExample(text string) (script.Declared, error) {
	stmts, err := parse.Parse(strings.NewReader("return example(nil, "+text+"\n)"), f.path)
	if err != nil {
		return script.Declared{}, err
	}
	if r, ok := stmts[0].(*ast.ReturnStmt); ok && len(stmts) == 1 && len(r.Exprs) == 1 {
		if call, ok := r.Exprs[0].(*ast.FuncCallExpr); ok && isLuaName(call.Func, "example") {
			v, err := f.declared("example", call, value.MaxDepth)
			d, _ := v.(script.Declared)
			return d, err
		}
	}
	return script.Declared{}, f.errorAt(0, "it is more than an example")
}

// nextWord cuts the first word off a text. White space in brackets is a part of it.
func nextWord(text string) (word, rest string) {
	text = strings.TrimSpace(text)
	depth := 0
	for i, r := range text {
		switch {
		case strings.ContainsRune("<([{", r):
			depth++
		case strings.ContainsRune(">)]}", r):
			depth--
		case depth <= 0 && strings.ContainsRune(" \t\n", r):
			return text[:i], strings.TrimSpace(text[i:])
		}
	}
	return text, ""
}

func joinWords(text string) string { return strings.Join(strings.Fields(text), " ") }
