// Package promote makes a tool of a program that a model wrote and that has run.
package promote

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Program is a program that a model wrote and that has run, to be made a
// tool. Only Name and Code are required.
type Program struct {
	Name   string      // of the tool that it becomes
	Code   string      // the program
	About  string      // what it is for; a text that the program begins with comes before it
	From   string      // where it was run, for whoever reads the file: "run r, step 3"
	Result value.Value // what it gave
	Tools  []tool.Tool
	// Called names the tools that were called while it ran, by it and by those.
	Called []string
	// Used are the capabilities with which that reached out: hosts and commands.
	Used []tool.Capability
}

// File makes a tool's file, in Starlark, of a program. The program's
// statements become the body of one function, with their comments; its tools
// are called by the module tools, with each argument named. What it is given
// by its first lines, as limit = 10, become parameters with these defaults,
// unless it changes them. It declares that it needs what was called, what those
// tools declare, and of hosts and commands what was used alone.
//
// The notes say, a line each, what somebody should look at. File fails with
// Invalid where the program cannot be a tool as it is, and with NotFound where a
// tool that it calls is not among p.Tools. It reads the text by its tokens alone:
// the file is to be described before it is used.
func File(p *Program) (file string, notes []string, err error) {
	w := &promoting{Program: p, text: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(p.Code, "\ufeff"))}
	if !strings.HasSuffix(w.text, "\n") {
		w.text += "\n"
	}
	w.tokens = scanProgram(w.text)
	w.list = statementsOf(w.text, w.tokens)
	w.bound = boundNames(w.tokens, w.list)
	if len(w.list) == 0 {
		return "", nil, value.Errorf(value.Invalid, "the program is empty")
	}
	if err := w.called(); err != nil {
		return "", nil, err
	}
	w.lead()
	if err := w.calls(); err != nil {
		return "", nil, err
	}
	w.ending()
	w.indent()
	return w.file(), w.notes, nil
}

// A promoting is a program that is being made a tool.
type promoting struct {
	*Program
	text   string
	tokens []lexeme
	list   []statement
	bound  map[string]int
	about  string // that the program begins with
	params []promotedParam
	edits  []edit
	above  []string // lines before the first statement
	below  []string // and after the last
	notes  []string
	using  []*tool.Tool // what was called, each once
}

// A promotedParam is a parameter that was an assignment.
type promotedParam struct {
	name, kind, text, about string
}

// An edit puts a text in place of another.
type edit struct {
	start, end int
	text       string
}

func (w *promoting) replace(start, end int, text string) {
	w.edits = append(w.edits, edit{start, end, text})
}

func (w *promoting) note(line int, format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf("line %d of the program: ", line)+fmt.Sprintf(format, args...))
}

// called finds the tools that were called.
func (w *promoting) called() error {
	for _, name := range w.Called {
		t := w.byName(name)
		switch {
		case t == nil:
			return value.Errorf(value.NotFound, "the program calls the tool '%s', which is not here", name).
				WithHint("work in the folder of the run; cassidy tool list shows the tools that are here")
		case !slices.Contains(w.using, t):
			w.using = append(w.using, t)
		}
	}
	return nil
}

func (w *promoting) byName(name string) *tool.Tool {
	i := slices.IndexFunc(w.Tools, func(t tool.Tool) bool { return tool.Key(t.Name) == tool.Key(name) })
	if i < 0 {
		return nil
	}
	return &w.Tools[i]
}

// lead takes what the program is given out of its first statements.
func (w *promoting) lead() {
	for i := range w.list {
		s := &w.list[i]
		first := &w.tokens[s.from]
		if i == 0 && first.kind == lexString && s.to == s.from+1 && len(w.list) > 1 && w.alone(s) {
			w.about = plainDoc(first.text)
			w.remove(s)
			continue
		}
		p, ok := w.literal(s)
		if !ok {
			return
		}
		if p.name != "" {
			w.params = append(w.params, p)
			w.remove(s)
		}
	}
}

// literal reads the assignment of a literal to a name. The parameter has no
// name where it should be none: the program changes it, or it is its result.
func (w *promoting) literal(s *statement) (p promotedParam, ok bool) {
	const longest = 200 // of a default that is still read in a function's head
	tokens := w.tokens[s.from:s.to]
	if len(tokens) > 0 && tokens[len(tokens)-1].text == ";" {
		tokens = tokens[:len(tokens)-1]
	}
	if !s.top || len(tokens) < 3 || tokens[0].kind != lexWord || tokens[1].text != "=" {
		return p, false
	}
	kind, text, n := literalOf(tokens[2:])
	if n != len(tokens)-2 {
		return p, false
	}
	if name := tokens[0].text; kind != "" && len(text) <= longest && w.bound[name] == 1 && name != programResult && w.alone(s) {
		p = promotedParam{name, kind, text, w.comment(s)}
	}
	return p, true
}

// programResult is the name whose value is a program's result.
const programResult = "result"

// alone reports whether a statement has its lines for itself.
func (w *promoting) alone(s *statement) bool {
	return w.tokens[s.from].breaks && w.tokens[s.to-1].text != ";" && (s.to == len(w.tokens) || w.tokens[s.to].breaks)
}

// comment returns the comment behind a statement, or "".
func (w *promoting) comment(s *statement) string {
	at := w.tokens[s.to-1].end
	text, found := strings.CutPrefix(strings.TrimSpace(w.text[at:prose.LineEnd(w.text, at)]), "#")
	if !found {
		return ""
	}
	return strings.TrimSpace(text)
}

// remove takes out the lines of a statement.
func (w *promoting) remove(s *statement) {
	start := strings.LastIndexByte(w.text[:w.tokens[s.from].start], '\n') + 1
	w.replace(start, min(prose.LineEnd(w.text, w.tokens[s.to-1].end)+1, len(w.text)), "")
}

// literalOf reads a literal: its type, how it is written on a line, and how many
// tokens it takes; none where there is no literal. The type is "" for what is no
// parameter: None, what is empty, bytes, and text of several lines.
func literalOf(tokens []lexeme) (kind, text string, n int) {
	if len(tokens) == 0 {
		return "", "", 0
	}
	switch t := &tokens[0]; {
	case t.kind == lexString:
		if plain := strings.TrimPrefix(t.text, "r"); plain[0] == 'b' || strings.Contains(plain, "\n") {
			return "", t.text, 1
		}
		return "str", t.text, 1
	case t.kind == lexNumber:
		if !strings.HasPrefix(t.text, "0x") && strings.ContainsAny(t.text, ".eE") {
			return "float", t.text, 1
		}
		return "int", t.text, 1
	case t.text == "-" && len(tokens) > 1 && tokens[1].kind == lexNumber:
		kind, text, _ = literalOf(tokens[1:])
		return kind, "-" + text, 2
	case t.text == "True" || t.text == "False":
		return "bool", t.text, 1
	case t.text == "None":
		return "", t.text, 1
	case t.text == "[" || t.text == "{":
		return literalItems(tokens)
	}
	return "", "", 0
}

// literalItems reads a list or a dict of literals.
func literalItems(tokens []lexeme) (kind, text string, n int) {
	isDict, closing := tokens[0].text == "{", map[string]string{"[": "]", "{": "}"}[tokens[0].text]
	var items []string
	kinds := map[string]bool{}
	for n = 1; n < len(tokens) && tokens[n].text != closing; {
		of, item, took := literalOf(tokens[n:])
		n += took
		if isDict && took > 0 && n < len(tokens) && tokens[n].text == ":" {
			var value string
			var more int
			if _, value, more = literalOf(tokens[n+1:]); more == 0 {
				return "", "", 0
			}
			item, n = item+": "+value, n+1+more
		} else if isDict {
			return "", "", 0
		}
		if took == 0 || n >= len(tokens) {
			return "", "", 0
		}
		kinds[of], items = true, append(items, item)
		switch tokens[n].text {
		case ",":
			n++
		case closing:
		default:
			return "", "", 0
		}
	}
	if n >= len(tokens) {
		return "", "", 0
	}
	text = tokens[0].text + strings.Join(items, ", ") + closing
	switch {
	case len(items) == 0 || strings.Contains(text, "\n"):
		return "", text, n + 1
	case isDict:
		return "dict", text, n + 1
	}
	return listType(kinds), text, n + 1
}

// listType is the type of a list whose items are of these types.
func listType(kinds map[string]bool) string {
	if len(kinds) == 1 {
		for kind := range kinds {
			if kind != "" {
				return "list[" + kind + "]"
			}
		}
	}
	return "list"
}

// ending has the function return what the program gives: what its last
// expression gives, unless that is None, and else what it called its result.
func (w *promoting) ending() {
	last := &w.list[len(w.list)-1]
	returns := w.resultReturned()
	first := &w.tokens[last.from]
	switch {
	case first.text == "return" && last.top:
		return
	case !returns && w.onlyMain():
		w.below = append(w.below, "return main()")
		return
	case !w.isExpression(last):
	case returns && first.text == programResult && last.to == last.from+1:
		w.replace(first.start, first.start, "return ")
		return
	case first.text == "print" && last.to > last.from+1 && w.tokens[last.from+1].match == last.to-1:
	case returns:
		name := "value"
		for w.bound[name] > 0 {
			name += "_"
		}
		w.replace(first.start, first.start, name+" = ")
		w.below = append(w.below, "return "+name+" if "+name+" != None else "+programResult)
		return
	default:
		w.replace(first.start, first.start, "return ")
		return
	}
	if returns {
		w.below = append(w.below, "return "+programResult)
	}
}

// isExpression reports whether a statement is one of the program's own that has
// a value.
func (w *promoting) isExpression(s *statement) bool {
	words := append(strings.Fields("pass break continue return load"), blockWords...)
	return s.top && !slices.Contains(words, w.tokens[s.from].text) && assigned(w.tokens, s) < 0
}

// resultReturned reports whether the program gives its result by the name
// result, and sees to it that this has a value where it is not given one.
func (w *promoting) resultReturned() bool {
	for i := range w.list {
		s := &w.list[i]
		if s.inDef || w.tokens[s.from].text == "def" || !w.bindsResult(s) {
			continue
		}
		if !s.top || slices.Contains(blockWords, w.tokens[s.from].text) {
			w.above = append(w.above, programResult+" = None")
		}
		return true
	}
	return false
}

func (w *promoting) bindsResult(s *statement) bool {
	from, end := s.from, -1
	switch first := w.tokens[s.from].text; {
	case first == "for":
		end = nextWord(w.tokens, from, "in")
	case slices.Contains(blockWords, first):
		for from < s.to && !(w.tokens[from].text == ":" && w.tokens[from].depth == 0) {
			from++
		}
		if from++; from < s.to {
			end = assigned(w.tokens, &statement{from: from, to: s.to})
		}
	default:
		end = assigned(w.tokens, s)
	}
	for i := from; i+1 < len(w.tokens) && i < end; i++ {
		if t := &w.tokens[i]; t.kind == lexWord && t.text == programResult && (i == 0 || w.tokens[i-1].text != ".") &&
			!strings.Contains("[.(", w.tokens[i+1].text) {
			return true
		}
	}
	return false
}

// onlyMain reports whether the program defines functions and constants alone,
// and among them main, which it never mentions and which takes no argument: that
// is called then.
func (w *promoting) onlyMain() bool {
	main, mentions := -1, 0
	for i := range w.list {
		s := &w.list[i]
		first := &w.tokens[s.from]
		switch {
		case !s.top:
		case first.text == "def":
			if s.from+2 < s.to && w.tokens[s.from+1].text == "main" {
				main = s.from + 2
			}
		case assigned(w.tokens, s) < 0 && !(first.kind == lexString && s.to == s.from+1):
			return false
		}
	}
	for i := range w.tokens {
		if w.tokens[i].text == "main" && w.tokens[i].kind == lexWord && (i == 0 || w.tokens[i-1].text != ".") {
			mentions++
		}
	}
	if main < 0 || mentions != 1 {
		return false
	}
	for _, a := range w.arguments(main+1, w.tokens[main].match) {
		given := slices.ContainsFunc(w.tokens[a[0]:a[1]], func(t lexeme) bool { return t.text == "=" })
		if !given && !strings.HasPrefix(w.tokens[a[0]].text, "*") {
			return false
		}
	}
	return true
}

// indent has the program's lines stand in a function, but for those that begin
// inside of a text.
func (w *promoting) indent() {
	inside := map[int]bool{}
	for i := range w.tokens {
		if t := &w.tokens[i]; t.kind == lexString {
			for at := t.start; at < t.end; at++ {
				inside[at] = inside[at] || w.text[at] == '\n'
			}
		}
	}
	for at := 0; at < len(w.text); at = prose.LineEnd(w.text, at) + 1 {
		if !inside[at-1] && strings.TrimSpace(w.text[at:prose.LineEnd(w.text, at)]) != "" {
			w.replace(at, at, bodyIndent)
		}
	}
}

// bodyIndent is how far in the body of a function stands.
const bodyIndent = "    "

// body is the program with its edits.
func (w *promoting) body() string {
	slices.SortStableFunc(w.edits, func(a, b edit) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return order(w, &a) - order(w, &b)
	})
	var b strings.Builder
	at := 0
	for _, e := range w.edits {
		if e.start < at {
			continue // it is of what was taken out
		}
		b.WriteString(w.text[at:e.start] + e.text)
		at = e.end
	}
	b.WriteString(w.text[at:])
	return strings.Trim(b.String(), "\n")
}

// order puts of the edits at a place those first that take lines out, then the
// indent of the line.
func order(w *promoting, e *edit) int {
	switch {
	case e.end > e.start && e.text == "":
		return 0
	case e.text == bodyIndent:
		return 1
	case e.end == e.start:
		return 2
	}
	return 3
}
