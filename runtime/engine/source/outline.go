package source

import (
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/internal/scan"
)

// A Function is a named function of a script.
type Function struct {
	Name   string
	At     Span // of the name
	Span   Span // of the complete definition
	Params []Param
	Result string // the type of its result as it is written, or ""
	Doc    string // its docstring, or the comment above it in Lua

	opens, closes int  // the tokens of its body: those between, exclusive
	inner         bool // it is inside of another one
	field         bool // its name is that of a field
}

// A Param is a parameter of a Function.
type Param struct {
	Name    string
	Text    string // as it is written, with type and default
	At      Span   // of the name
	Default bool   // it has one
}

// A Load is a load statement of Starlark.
type Load struct {
	Path  string
	At    Span // of the path, without quotes
	Names []Loaded
}

// A Loaded is a name that a Load defines.
type Loaded struct {
	Name, Local string // in the file that is loaded, and in this one
	At          Span   // of the local name
}

// A Name is a name that a script defines, and where.
type Name struct {
	Name string
	At   Span
	Kind NameKind
}

// A NameKind is what a name stands for.
type NameKind uint8

// The kinds of names.
const (
	Variable NameKind = iota
	Parameter
	FunctionName
	LoadedName
)

// Functions returns the functions of the file, in the order of their definitions.
func (f *File) Functions() []Function { return f.functions }

// Loads returns the load statements.
func (f *File) Loads() []Load { return f.loads }

// Signature returns a function with its parameters as they are written.
func (fn *Function) Signature() string {
	var texts []string
	for _, p := range fn.Params {
		texts = append(texts, p.Text)
	}
	text := fn.Name + "(" + strings.Join(texts, ", ") + ")"
	if fn.Result != "" {
		text += " -> " + fn.Result
	}
	return text
}

// The limits of an outline.
const (
	maxFunctions = 5000 // of a file
	maxHead      = 2000 // tokens of the head of a function, or of a load statement
	maxInner     = 50   // functions that are inside of each other
)

// readStarFunctions finds the def statements.
func (f *File) readStarFunctions() {
	for i, t := range f.tokens {
		if len(f.functions) == maxFunctions {
			return
		}
		if t.Kind != scan.Word || t.Text != "def" || !f.isWord(i+1) || f.at(i+2).Kind != '(' {
			continue
		}
		name, open := f.tokens[i+1], i+2
		fn := Function{Name: name.Text, At: span(name), Params: f.params(open)}
		last := f.closing(open)
		colon := last + 1
		for colon < min(len(f.tokens), i+maxHead) && (f.tokens[colon].Kind != ':' || f.tokens[colon].Around != t.Around) && !f.tokens[colon].NewLine {
			colon++
		}
		if f.at(last+1).Text == "->" && colon > last+2 {
			fn.Result = strings.TrimSpace(f.Text[end(f.tokens[last+1]):end(f.tokens[colon-1])])
		}
		stop := colon + 1
		for stop < len(f.tokens) && !(f.tokens[stop].NewLine && f.tokens[stop].At.Col <= t.At.Col && f.tokens[stop].Around == t.Around) {
			stop++
		}
		fn.opens, fn.closes = i, stop
		fn.Span = Span{t.Start, end(f.at(min(stop, len(f.tokens)) - 1))}
		if doc := f.at(colon + 1); doc.Kind == scan.String && colon+1 < stop {
			fn.Doc = dedent(Unquote(doc.Text))
		}
		f.functions = append(f.functions, fn)
	}
}

// closing returns the closing bracket of an opening one, or the last token inside it.
func (f *File) closing(open int) int {
	if m := f.tokens[open].Match; m >= 0 {
		return min(m, open+maxHead)
	}
	i := open
	for i+1 < min(len(f.tokens), open+maxHead) && f.tokens[i+1].Around >= open && !f.tokens[i+1].NewLine {
		i++
	}
	return i
}

// params reads the parameters in brackets.
func (f *File) params(open int) (list []Param) {
	last := f.closing(open)
	for i := open + 1; i < last; {
		stop := i
		for stop < last && (f.tokens[stop].Kind != ',' || f.tokens[stop].Around != open) {
			stop++
		}
		if stop > i {
			p := Param{Text: strings.Join(strings.Fields(f.Text[f.tokens[i].Start:end(f.tokens[stop-1])]), " ")}
			name := i
			if k := f.tokens[i].Text; (k == "*" || k == "**") && i+1 < stop {
				name++
			}
			p.Name, p.At = f.tokens[name].Text, span(f.tokens[name])
			p.Default = slices.ContainsFunc(f.tokens[i:stop], func(t scan.Token) bool { return t.Kind == '=' && t.Around == open })
			list = append(list, p)
		}
		i = stop + 1
	}
	return list
}

// readLuaFunctions finds the functions with a name, also fields of tables.
func (f *File) readLuaFunctions() {
	unclosed := f.beforeTop()
	for i, t := range f.tokens {
		if len(f.functions) == maxFunctions {
			return
		}
		if t.Kind != scan.Word || t.Text != "function" {
			continue
		}
		name, open, begin := i+1, i+1, i
		switch {
		case f.isWord(i + 1):
			for open = i + 2; f.isDot(open) && f.isWord(open+1); open += 2 {
				name = open + 1
			}
			if f.at(i-1).Text == "local" {
				begin = i - 1
			}
		case f.at(i-1).Kind == '=' && f.isWord(i-2):
			name, begin = i-2, i-2
			if f.at(i-3).Text == "local" {
				begin = i - 3
			}
		default:
			continue
		}
		if f.at(open).Kind != '(' {
			continue
		}
		last := t.Match
		if last < 0 {
			last = unclosed[i]
		}
		fn := Function{Name: f.tokens[name].Text, At: span(f.tokens[name]), Params: f.params(open), Doc: f.commentAbove(f.tokens[begin]),
			Span: Span{f.tokens[begin].Start, end(f.tokens[last])}, opens: i, closes: last, field: f.isDot(name - 1)}
		f.functions = append(f.functions, fn)
	}
}

// beforeTop returns, for each token, the last token before the next statement at the begin of a line.
func (f *File) beforeTop() []int {
	list := make([]int, len(f.tokens))
	last := len(f.tokens) - 1
	for i := len(f.tokens) - 1; i >= 0; i-- {
		list[i] = last
		if t := f.tokens[i]; t.NewLine && t.At.Col == 1 && t.Text != "end" {
			last = i - 1
		}
	}
	return list
}

// commentAbove returns the comment in the lines above a token of Lua.
func (f *File) commentAbove(t scan.Token) string {
	head := f.Text[:t.Start]
	head = head[:strings.LastIndexByte(head, '\n')+1]
	var lines []string
	for head != "" {
		head = head[:len(head)-1]
		line := strings.TrimSpace(head[strings.LastIndexByte(head, '\n')+1:])
		text, ok := strings.CutPrefix(line, "--")
		if !ok || strings.HasPrefix(text, "[") {
			break
		}
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(text, "-"), " "))
		head = head[:strings.LastIndexByte(head, '\n')+1]
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// readLoads finds the load statements.
func (f *File) readLoads() {
	for i, t := range f.tokens {
		if t.Kind != scan.Word || t.Text != "load" || !t.NewLine && i > 0 || f.at(i+1).Kind != '(' || f.at(i+2).Kind != scan.String {
			continue
		}
		l := Load{Path: Unquote(f.tokens[i+2].Text), At: stringContent(f.tokens[i+2])}
		for j := i + 3; j < f.closing(i+1); j++ {
			if f.tokens[j].Kind != scan.String {
				continue
			}
			name := Loaded{Name: Unquote(f.tokens[j].Text), At: stringContent(f.tokens[j])}
			name.Local = name.Name
			if f.at(j-1).Kind == '=' && f.isWord(j-2) {
				name.Local, name.At = f.tokens[j-2].Text, span(f.tokens[j-2])
			}
			l.Names = append(l.Names, name)
		}
		f.loads = append(f.loads, l)
	}
}

// dedent removes the common indentation of all lines but the first, and empty lines around.
func dedent(text string) string {
	lines := strings.Split(text, "\n")
	common := -1
	for _, line := range lines[1:] {
		if trimmed := strings.TrimLeft(line, " \t"); trimmed != "" && (common < 0 || len(line)-len(trimmed) < common) {
			common = len(line) - len(trimmed)
		}
	}
	for i := range lines {
		if i > 0 {
			lines[i] = lines[i][min(max(common, 0), len(lines[i])):]
		}
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n ")
}

// Enclosing returns the innermost function whose definition contains an offset, or nil.
func (f *File) Enclosing(offset int) *Function {
	var found *Function
	for i := range f.functions {
		fn := &f.functions[i]
		stop := fn.Span.End
		if f.Language == Starlark && f.at(fn.closes).Kind == scan.EndOfText {
			stop = len(f.Text) // the last function continues while it is written
		}
		if fn.Span.Start <= offset && offset <= stop {
			found = fn
		}
	}
	return found
}

// Names returns the names that the script defines and that can be used at an offset, those of
// inner functions first. A name that is defined twice is returned once.
func (f *File) Names(offset int) []Name {
	var list []Name
	seen := map[string]bool{}
	add := func(name string, at Span, kind NameKind) {
		if name != "" && !seen[name] {
			seen[name] = true
			list = append(list, Name{name, at, kind})
		}
	}
	innermost := f.Enclosing(offset)
	for i, n := len(f.functions)-1, 0; i >= 0 && n < maxInner; i-- {
		fn := &f.functions[i]
		if offset < fn.Span.Start || offset > fn.Span.End && fn != innermost {
			continue
		}
		n++
		for _, p := range fn.Params {
			add(p.Name, p.At, Parameter)
		}
		f.variables(fn.opens+1, fn.closes, add)
	}
	for i := range f.functions {
		if f.isOuter(&f.functions[i]) {
			add(f.functions[i].Name, f.functions[i].At, FunctionName)
		}
	}
	for _, l := range f.loads {
		for _, n := range l.Names {
			add(n.Local, n.At, LoadedName)
		}
	}
	f.variables(0, len(f.tokens), add)
	return list
}

// isOuter reports whether a function is not inside of another one, and not the field of a table.
func (f *File) isOuter(fn *Function) bool {
	return f.tokens[fn.opens].Around < 0 && !fn.inner && !fn.field
}

// markInner marks the functions that are inside of other ones.
func (f *File) markInner() {
	closes := -1
	for i := range f.functions {
		fn := &f.functions[i]
		fn.inner = fn.opens < closes
		closes = max(closes, fn.closes)
	}
}

// variables finds the variables that are assigned between two tokens, outside of the functions
// that are between them.
func (f *File) variables(from, to int, add func(string, Span, NameKind)) {
	for i := from; i < min(to, len(f.tokens)); i++ {
		if inner := f.functionAt(i, from); inner != nil {
			i = max(i, inner.closes-1)
			continue
		}
		t := f.tokens[i]
		isKeyword := t.Kind == scan.Word && (t.Text == "for" || t.Text == "local" && f.Language == Lua)
		switch {
		case isKeyword:
			for i+1 < len(f.tokens) && (f.isWord(i+1) || f.at(i+1).Kind == ',' || f.at(i+1).Kind == '(') {
				i++
				if f.isWord(i) {
					add(f.tokens[i].Text, span(f.tokens[i]), Variable)
				}
			}
		case f.Language == Starlark && t.Around < 0 && f.isWord(i) && f.beginsLine(i):
			i = f.targets(i, add)
		case f.Language == Lua && f.isWord(i) && f.at(i+1).Kind == '=' && !f.isDot(i-1) && (t.Around < 0 || f.tokens[t.Around].Kind == scan.Word):
			add(t.Text, span(t), Variable)
		}
	}
}

// beginsLine reports whether a token of Starlark is the first one of a statement.
func (f *File) beginsLine(i int) bool {
	before := f.at(i - 1)
	return i == 0 || f.tokens[i].NewLine || before.Kind == ':' || before.Kind == ';'
}

// targets adds the targets of the assignment that begins with a token, if it is one. It returns the
// last token that it has read.
func (f *File) targets(i int, add func(string, Span, NameKind)) int {
	last := i
	for f.isWord(last+1) && !f.at(last+1).NewLine || f.at(last+1).Kind == ',' {
		last++
	}
	if f.at(last+1).Kind != '=' {
		return last
	}
	for j := i; j <= last; j++ {
		if f.isWord(j) {
			add(f.tokens[j].Text, span(f.tokens[j]), Variable)
		}
	}
	return last
}

// functionAt returns the function that begins with a token, but not at from.
func (f *File) functionAt(i, from int) *Function {
	k, ok := slices.BinarySearchFunc(f.functions, i, func(fn Function, i int) int { return fn.opens - i })
	if !ok || i < from {
		return nil
	}
	return &f.functions[k]
}

// Uses returns the places of a name where it is not a field of something else.
func (f *File) Uses(name string) (list []Span) {
	for i, t := range f.tokens {
		if t.Kind == scan.Word && t.Text == name && !f.isDot(i-1) {
			list = append(list, span(t))
		}
	}
	return list
}
