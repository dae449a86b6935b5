// Package markdown reads tools that are written as Markdown files.
package markdown

import (
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Language is the Markdown form of a tool's file: metadata between two lines ---,
// prose, and the handler in a code block.
type Language struct {
	fences map[string]script.Fenced // by the word after ``` on the line that opens a block
}

// The lines that mark a handler which is not simply the first code block.
const (
	beginMarker = "# TOOL BEGINS HERE"
	endMarker   = "# TOOL ENDS HERE"
)

// New returns the language. fences are the languages of its code blocks, by the word
// after ```.
func New(fences map[string]script.Fenced) *Language { return &Language{fences} }

func (m *Language) Declare(src script.Source) (*script.Declaration, error) {
	file, err := m.split(src.Path, src.Text)
	if err != nil {
		return nil, err
	}
	d, err := file.code.DeclareBlock(script.Source{Path: src.Path, Text: file.text, Libs: src.Libs})
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		if e.Pos.Line == 0 {
			e.Pos = value.Position{File: src.Path, Line: file.line}
		}
		return nil, &e
	}
	d.Pos = value.Position{File: src.Path, Line: 1}
	v, err := yaml.Parse(file.meta)
	if err != nil {
		return nil, inFrontMatter(err, src.Path)
	}
	fields, ok := v.(*value.Dict)
	if !ok {
		return nil, d.ErrorAt("", "No valid YAML frontmatter found: expected lines such as \"description: TEXT\"")
	}
	return d, addFrontMatter(d, fields, file.meta)
}

// inFrontMatter moves the position of a YAML error to its line in the file.
func inFrontMatter(err error, path string) error {
	e := *value.ErrorOf(err, value.Invalid)
	e.Pos.File = path
	e.Pos.Line++                    // the line --- above
	e.Pos.Line = max(e.Pos.Line, 2) // yaml.v3 does not name the first line
	return &e
}

// ownNames are the fields that have other names in front matter than in the other languages, which are accepted, too.
var ownNames = map[string]string{"parameters": "params", "token_overhead": "overhead"}

// addFrontMatter adds the metadata, with its Markdown field names, to the handler's own
// signature and documentation.
func addFrontMatter(d *script.Declaration, fields *value.Dict, text string) error {
	d.Spelled = map[string]string{}
	for name, field := range ownNames {
		d.Spelled[field] = name
	}
	inText := yaml.Lines(text)
	for k, v := range fields.All() {
		name, ok := k.(string)
		if !ok {
			return d.ErrorAt("", "the name of a field should be a string but got %s", value.TypeOf(k))
		}
		field := ownNames[name]
		if field == "" {
			field = name
		}
		place := func(path ...string) value.Position {
			return value.Position{File: d.Pos.File, Line: max(inText(append([]string{name}, path...)...), 1) + 1}
		}
		d.At[field] = place()
		items, _ := value.Elements(v)
		for i := range items {
			d.Elements[field] = append(d.Elements[field], place(strconv.Itoa(i)))
		}
		switch {
		case field == "params":
			params, err := frontMatterParams(d, v, place)
			if err != nil {
				return err
			}
			v = params
		case field == "examples" && items != nil:
			v = value.List(examplesOf(items, place))
		case field == "available", field == "undo", field == "preview":
			s, ok := v.(string)
			if !ok {
				return d.ErrorAt(field, "'%s' should be the name of a function but got %s", field, value.TypeOf(v))
			}
			v = script.FuncName(s)
		case field == "version":
			if _, ok := v.(string); !ok {
				v = value.FormatJSON(v, "") // 1.2 unquoted is a number in YAML
			}
		case field == "handler":
			return d.ErrorAt(field, "the field 'handler' is not allowed: the code block is the handler")
		}
		if d.Fields.Has(field) {
			return d.ErrorAt(field, "'%s' is given twice", field)
		}
		d.Fields.Put(field, v)
	}
	return nil
}

// frontMatterParams reads the list of named parameters, or those by name, whose positions place returns.
func frontMatterParams(d *script.Declaration, v value.Value, place func(path ...string) value.Position) (value.Value, error) {
	if v == nil {
		return nil, nil
	}
	if byName, ok := v.(*value.Dict); ok {
		return namedParams(byName, place), nil
	}
	items, ok := value.Elements(v)
	if !ok {
		return nil, d.ErrorAt("params", "'parameters' should be a list but got %s", value.TypeOf(v))
	}
	params := &value.Dict{}
	for i, item := range items {
		fields, ok := item.(*value.Dict)
		if !ok || fields.Text("name") == "" {
			return nil, d.ErrorAt("params", "parameter %d has no name", i+1).WithHint("begin each parameter with its name, as in - name: path")
		}
		name := fields.Text("name")
		if params.Has(name) {
			return nil, d.ErrorAt("params", "the parameter '%s' is given twice", name)
		}
		spec := &value.Dict{}
		for k, x := range fields.All() {
			if key, _ := k.(string); key != "name" {
				spec.Put(key, x)
			}
		}
		if !d.Signed && !spec.Has("required") && !spec.Has("default") {
			spec.Put("required", false) // without a signature, only a literal true makes it required
		}
		params.Put(name, declared("param", spec, func(path ...string) value.Position {
			return place(append([]string{strconv.Itoa(i)}, path...)...)
		}))
	}
	return params, nil
}

// namedParams returns parameters by name, as in the other forms, with their positions.
func namedParams(byName *value.Dict, place func(path ...string) value.Position) *value.Dict {
	params := &value.Dict{}
	for k, v := range byName.All() {
		name, isName := k.(string)
		if spec, ok := v.(*value.Dict); ok && isName {
			v = declared("param", spec, func(path ...string) value.Position { return place(append([]string{name}, path...)...) })
		}
		params.Put(name, v)
	}
	return params
}

// examplesOf returns examples with the positions of their fields.
func examplesOf(items []value.Value, place func(path ...string) value.Position) []value.Value {
	list := make([]value.Value, len(items))
	for i, item := range items {
		list[i] = item
		if fields, ok := item.(*value.Dict); ok {
			list[i] = declared("example", fields, func(path ...string) value.Position {
				return place(append([]string{strconv.Itoa(i)}, path...)...)
			})
		}
	}
	return list
}

// declared returns fields with their positions, which place returns.
func declared(kind string, fields *value.Dict, place func(path ...string) value.Position) script.Declared {
	d := script.Declared{Kind: kind, Fields: fields, Pos: place(), At: map[string]value.Position{}}
	for k := range fields.All() {
		if field, ok := k.(string); ok {
			d.At[field] = place(field)
		}
	}
	return d
}

func (m *Language) Compile(s tool.Script) (script.Program, error) {
	file, err := m.split(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	src := script.Source{Path: s.Path, Text: s.Source, Libs: s.Libs}
	s.Source = file.text
	return file.code.CompileBlock(s, func() (*tool.Type, error) {
		d, err := m.Declare(src)
		if err != nil {
			return nil, err
		}
		return d.Result()
	})
}

// markdownFile is a Markdown tool split into its parts.
type markdownFile struct {
	meta string        // the front matter
	text string        // the code, on the same lines as in the file
	line int           // above the code
	code script.Fenced // its language
}

func (m *Language) split(path, text string) (markdownFile, error) {
	text, err := script.PlainText(path, text)
	if err != nil {
		return markdownFile{}, err
	}
	lines := strings.Split(text, "\n")
	fail := func(line int, problem string) (markdownFile, error) {
		e := value.Errorf(value.Invalid, "%s", problem)
		e.Pos = value.Position{File: path, Line: line}
		return markdownFile{}, e.WithHint("%s", hintFor(problem))
	}
	meta, end := yaml.FrontMatter(lines)
	switch end {
	case 0:
		return fail(1, "No valid YAML frontmatter found: the file does not begin with ---")
	case -1:
		return fail(1, "No valid YAML frontmatter found: the second --- is missing")
	}
	from, to, problem := m.codeLines(lines, end)
	if problem != "" {
		file, err := fail(from+1, problem)
		file.meta = meta
		if lang, at := m.otherBlock(lines, end); at > 0 && strings.HasPrefix(problem, noBlock) {
			err = m.wrongBlock(path, lang, at)
		}
		return file, err
	}
	return markdownFile{
		meta: meta,
		text: strings.Repeat("\n", from) + strings.Join(lines[from:to], "\n") + "\n",
		line: from,
		code: m.languageOf(lines, end, from),
	}, nil
}

// hintFor returns what to write if a file cannot be split.
func hintFor(problem string) string {
	switch {
	case strings.HasPrefix(problem, "No valid YAML"):
		return "begin the file with --- lines around description: …, and add a code block ```starlark … ```"
	case strings.HasPrefix(problem, noBlock):
		return "add a code block with the function of the tool: ```starlark … ```, or ```lua … ```"
	case strings.HasPrefix(problem, "Unclosed"):
		return "end the code block with the mark with which it begins: ``` or ~~~"
	case strings.HasPrefix(problem, "the line "+endMarker):
		return "write this line after the function"
	}
	return "begin the code with: def NAME(…):"
}

const noBlock = "No code block found"

// otherBlock returns the language and the line of the code block that is probably the handler, in no known
// language: the first one without a language, or else the first one. The line is 0 if there is none.
func (m *Language) otherBlock(lines []string, start int) (lang string, line int) {
	for i := start; i < len(lines); i++ {
		mark, name := fence(lines[i])
		if mark == "" {
			continue
		}
		if line == 0 || name == "" && lang != "" {
			lang, line = name, i+1
		}
		for i++; i < len(lines) && !closes(lines[i], mark); i++ {
		}
	}
	return lang, line
}

// wrongBlock returns the error of a code block that is in no known language.
func (m *Language) wrongBlock(path, lang string, line int) error {
	e := value.Errorf(value.Invalid, "%s: the block on line %d has no language", noBlock, line)
	if lang != "" {
		e = value.Errorf(value.Invalid, "%s: tools cannot be written in %q", noBlock, value.Clean(lang, 40))
	}
	e.Pos = value.Position{File: path, Line: line}
	return e.WithHint("begin the block of the handler with ```starlark or ```lua")
}

// codeLines finds the handler: between the markers, or in the first code block in a
// known language.
func (m *Language) codeLines(lines []string, start int) (from, to int, problem string) {
	begin, end := -1, -1
	for i := start; i < len(lines); i++ {
		switch strings.TrimSpace(strings.Replace(lines[i], "--", "#", 1)) {
		case beginMarker:
			if begin < 0 {
				begin = i
			}
		case endMarker:
			if begin >= 0 && end < 0 {
				end = i
			}
		}
	}
	switch {
	case begin >= 0 && end < 0:
		return begin, begin, "the line " + endMarker + " is missing"
	case begin >= 0:
		return m.marked(lines[:end], begin+1)
	}
	from, to, problem = m.firstBlock(lines, start)
	if problem == "" && from < 0 {
		return start - 1, start - 1, noBlock + " (use ```starlark, ```python or ```lua, or the markers " + beginMarker + " and " + endMarker + ")"
	}
	return from, to, problem
}

// marked finds the handler between the markers, with or without the fences of a code
// block.
func (m *Language) marked(lines []string, start int) (from, to int, problem string) {
	if from, to, problem := m.firstBlock(lines, start); from >= 0 && problem == "" {
		return from, to, ""
	}
	for i := start; i < len(lines); i++ {
		if line := strings.TrimLeft(lines[i], " \t"); line != "" && line != lines[i] {
			return i, i, "Code block must define a function: put the complete function between the markers, not only its body"
		} else if line != "" && line[0] != '#' {
			break
		}
	}
	return start, len(lines), ""
}

// firstBlock finds the first code block in a known language. If there is no such block,
// from is -1.
func (m *Language) firstBlock(lines []string, start int) (from, to int, problem string) {
	for i := start; i < len(lines); i++ {
		mark, lang := fence(lines[i])
		if mark == "" {
			continue
		}
		closing := i + 1
		for closing < len(lines) && !closes(lines[closing], mark) {
			closing++
		}
		switch {
		case closing == len(lines):
			return i, i, "Unclosed code block"
		case m.fences[lang] != nil:
			return i + 1, closing, ""
		}
		i = closing
	}
	return -1, -1, ""
}

// fence returns the backquotes or tildes that open a code block in a line, and the
// language after them. It returns "" for any other line.
func fence(line string) (mark, lang string) {
	line = strings.TrimSpace(line)
	for _, sign := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, sign)
		if n := len(line) - len(rest); n >= 3 && !(sign == "`" && strings.Contains(rest, sign)) {
			mark = line[:n]
			if words := strings.Fields(rest); len(words) > 0 {
				lang = strings.ToLower(words[0])
			}
		}
	}
	return mark, lang
}

// closes reports whether a line closes a code block that mark has opened.
func closes(line, mark string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(mark) && strings.Trim(line, mark[:1]) == ""
}

// languageOf returns the language of the code at a line: that of the nearest fence
// above. Between markers outside any block it is Starlark.
func (m *Language) languageOf(lines []string, start, from int) script.Fenced {
	for i := from - 1; i >= start; i-- {
		if _, lang := fence(lines[i]); m.fences[lang] != nil {
			return m.fences[lang]
		}
	}
	return m.fences["starlark"]
}

// Parts are where the parts of a tool are in its text: its lines, from From up to To, exclusive.
type Parts struct {
	MetaFrom, MetaTo int    // the front matter; empty if there is none
	CodeFrom, CodeTo int    // the code; empty if there is none
	Word             string // the word for the language of the code
}

// A named language has only a name.
type named struct {
	script.Fenced
	word string
}

// PartsOf finds the parts of a text, which may be incomplete. words are the known languages.
// Front matter without an end lasts until the first code block, and a code block without an end
// lasts until the end of the text.
func PartsOf(text string, words ...string) Parts {
	m := &Language{fences: map[string]script.Fenced{}}
	for _, word := range words {
		m.fences[word] = named{word: word}
	}
	lines := strings.Split(text, "\n")
	var p Parts
	_, end := yaml.FrontMatter(lines)
	switch end {
	case 0:
		return p
	case -1:
		for end = 1; end < len(lines); end++ {
			if mark, _ := fence(lines[end]); mark != "" {
				break
			}
		}
		p.MetaFrom, p.MetaTo = 1, end
	default:
		p.MetaFrom, p.MetaTo = 1, end-1
	}
	var problem string
	p.CodeFrom, p.CodeTo, problem = m.codeLines(lines, end)
	if problem != "" {
		if mark, lang := fence(lines[p.CodeFrom]); mark == "" || m.fences[lang] == nil {
			p.CodeFrom, p.CodeTo = 0, 0
			return p
		}
		p.CodeFrom, p.CodeTo = p.CodeFrom+1, len(lines)
	}
	code, _ := m.languageOf(lines, end, p.CodeFrom).(named)
	p.Word = code.word
	return p
}

// Statements lists the lines of the statements of the code block.
func (m *Language) Statements(s tool.Script) ([]int, error) {
	file, err := m.split(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	s.Source = file.text
	return file.code.Statements(s)
}
