// Package promote makes a tool from a program that a model wrote and that has run.
package promote

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Program is a program that a model wrote and that has run. Only Name and Code are
// required.
type Program struct {
	Name   string            // of the new tool
	Code   string            // the program
	About  string            // the purpose of the program; its own docstring takes precedence
	From   string            // the origin, for readers of the file: "run r, step 3"
	Result value.Value       // the result of the program
	Tools  []tool.Tool       // that the program could call
	Called []string          // the tools that were called during the run, directly or indirectly
	Used   []tool.Capability // the hosts and commands that these calls used
}

// File returns the file of a Starlark tool. The statements of the program become the
// body of its handler, with their comments. Tools are called through the module tools,
// with each argument by name. Constants that the program assigns in its first lines, as
// limit = 10, become parameters with these defaults, unless the program changes them.
// The tool needs the called tools and what they need. Of hosts and commands it needs
// only the used ones.
//
// The notes name the parts to check, one a line. The error is of kind Invalid if the
// program cannot become a tool, and of kind NotFound if p.Tools lacks a called tool. The
// file is not checked: describe it before use.
func File(p *Program) (file string, notes []string, err error) {
	w := &writer{Program: p, text: strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimPrefix(p.Code, "\ufeff"))}
	if !strings.HasSuffix(w.text, "\n") {
		w.text += "\n"
	}
	if err := w.parse(); err != nil {
		return "", nil, err
	}
	if err := w.findCalled(); err != nil {
		return "", nil, err
	}
	w.findParams()
	if err := w.rewriteCalls(); err != nil {
		return "", nil, err
	}
	w.returnResult()
	w.indent()
	return w.file(), w.notes, nil
}

// programName is the name of the program in positions.
const programName = "the program"

// A writer writes the file of one program.
type writer struct {
	*Program
	text   string
	lines  []int // where each line of the text begins
	tree   *syntax.File
	bound  map[string]int // how often the program assigns or changes each name
	doc    string         // the docstring of the program
	params []param
	edits  []edit
	above  []string // lines before the first statement
	below  []string // lines after the last statement
	notes  []string
	called []*tool.Tool
}

// A param is a parameter that was an assignment.
type param struct {
	name, kind, text, comment string
}

// An edit replaces a part of the text.
type edit struct {
	start, end int
	text       string
}

func (w *writer) replace(start, end int, text string) {
	w.edits = append(w.edits, edit{start, end, text})
}

func (w *writer) note(at syntax.Position, format string, args ...any) {
	w.notes = append(w.notes, fmt.Sprintf("line %d of the program: ", at.Line)+fmt.Sprintf(format, args...))
}

func (w *writer) parse() error {
	stripped, err := scan.StripAnnotations(programName, w.text) // it moves no character
	if err != nil {
		return err
	}
	if w.tree, err = scan.ParseProgram(programName, stripped.Text); err != nil {
		return value.Errorf(value.Invalid, "%w", err)
	}
	if len(w.tree.Stmts) == 0 {
		return value.Errorf(value.Invalid, "the program is empty")
	}
	for at := 0; at <= len(w.text); at = prose.LineEnd(w.text, at) + 1 {
		w.lines = append(w.lines, at)
	}
	w.countBound()
	return nil
}

// span returns the part of the text that a node covers.
func (w *writer) span(n syntax.Node) (start, end int) {
	from, to := n.Span()
	return w.offset(from), w.offset(to)
}

// offset returns the index in the text of a position.
func (w *writer) offset(pos syntax.Position) int {
	at := w.lines[pos.Line-1]
	for range pos.Col - 1 {
		_, size := utf8.DecodeRuneInString(w.text[at:])
		at += size
	}
	return at
}

// changing are the methods that change a list, a dict or a set.
var changing = strings.Fields("add append clear discard extend insert pop popitem remove setdefault update")

// countBound counts the assignments and changes of each name.
func (w *writer) countBound() {
	w.bound = map[string]int{}
	bind := func(targets ...syntax.Expr) {
		for _, x := range targets {
			syntax.Walk(x, func(n syntax.Node) bool {
				if id, ok := n.(*syntax.Ident); ok {
					w.bound[id.Name]++
				}
				return true
			})
		}
	}
	syntax.Walk(w.tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.AssignStmt:
			bind(n.LHS)
		case *syntax.ForStmt:
			bind(n.Vars)
		case *syntax.ForClause:
			bind(n.Vars)
		case *syntax.DefStmt:
			bind(n.Name)
			bind(n.Params...)
		case *syntax.LambdaExpr:
			bind(n.Params...)
		case *syntax.DotExpr:
			if slices.Contains(changing, n.Name.Name) {
				bind(n.X)
			}
		}
		return true
	})
}

// findCalled finds the tools that were called.
func (w *writer) findCalled() error {
	for _, name := range w.Called {
		i := slices.IndexFunc(w.Tools, func(t tool.Tool) bool { return tool.Key(t.Name) == tool.Key(name) })
		if i < 0 {
			return value.Errorf(value.NotFound, "the program calls the unknown tool '%s'", name).
				WithHint("repeat the command in the project in which the run was started")
		}
		if t := &w.Tools[i]; !slices.Contains(w.called, t) {
			w.called = append(w.called, t)
		}
	}
	return nil
}

// findParams removes the docstring and the parameters from the first statements.
func (w *writer) findParams() {
	for i, stmt := range w.tree.Stmts {
		if doc, ok := docOf(stmt); ok && i == 0 && len(w.tree.Stmts) > 1 && w.alone(stmt) {
			w.doc = docText(doc)
			w.remove(stmt)
			continue
		}
		p, ok := w.constant(stmt)
		if !ok {
			return
		}
		if p.kind != "" {
			w.params = append(w.params, p)
			w.remove(stmt)
		}
	}
}

// docOf returns the string that a statement consists of.
func docOf(stmt syntax.Stmt) (string, bool) {
	if s, ok := stmt.(*syntax.ExprStmt); ok {
		if lit, ok := s.X.(*syntax.Literal); ok && lit.Token == syntax.STRING {
			return lit.Value.(string), true
		}
	}
	return "", false
}

// constant reads the assignment of a literal to a name. The kind is "" if that cannot
// be a parameter, for example because the program changes it.
func (w *writer) constant(stmt syntax.Stmt) (p param, ok bool) {
	const longest = 200 // a longer default is unreadable in the signature
	s, ok := stmt.(*syntax.AssignStmt)
	if !ok || s.Op != syntax.EQ {
		return param{}, false
	}
	id, ok := s.LHS.(*syntax.Ident)
	if !ok {
		return param{}, false
	}
	kind, text, ok := literal(s.RHS)
	if len(text) > longest || w.bound[id.Name] > 1 || id.Name == scan.ResultName || !w.alone(s) {
		kind = ""
	}
	return param{id.Name, kind, text, w.comment(s)}, ok
}

// around returns the text before and after a statement on its lines.
func (w *writer) around(stmt syntax.Stmt) (before, after string) {
	start, end := w.span(stmt)
	return strings.TrimSpace(w.text[strings.LastIndexByte(w.text[:start], '\n')+1 : start]), strings.TrimSpace(w.text[end:prose.LineEnd(w.text, end)])
}

// alone reports whether no other statement is on the lines of a statement.
func (w *writer) alone(stmt syntax.Stmt) bool {
	before, after := w.around(stmt)
	return before == "" && (after == "" || after[0] == '#')
}

// comment returns the comment behind a statement, or "".
func (w *writer) comment(stmt syntax.Stmt) string {
	_, after := w.around(stmt)
	return strings.TrimSpace(strings.TrimPrefix(after, "#"))
}

// remove removes the lines of a statement.
func (w *writer) remove(stmt syntax.Stmt) {
	start, end := w.span(stmt)
	w.replace(strings.LastIndexByte(w.text[:start], '\n')+1, prose.LineEnd(w.text, end)+1, "")
}

// literal returns the type of a literal, and its text on one line. The type is "" for
// None, empty collections, bytes, and strings of several lines: they are not suitable
// as parameters.
func literal(x syntax.Expr) (kind, text string, ok bool) {
	switch x := x.(type) {
	case *syntax.Literal:
		kind = map[syntax.Token]string{syntax.STRING: "str", syntax.INT: "int", syntax.FLOAT: "float"}[x.Token]
		if strings.Contains(x.Raw, "\n") {
			kind = ""
		}
		return kind, x.Raw, true
	case *syntax.UnaryExpr:
		number, ok := x.X.(*syntax.Literal)
		if !ok || x.Op != syntax.MINUS {
			return "", "", false
		}
		kind, text, _ = literal(number)
		return kind, "-" + text, true
	case *syntax.Ident:
		return map[string]string{"True": "bool", "False": "bool"}[x.Name], x.Name, slices.Contains([]string{"True", "False", "None"}, x.Name)
	case *syntax.ListExpr:
		text, kinds, ok := literals(x.List)
		if len(x.List) > 0 && !strings.Contains(text, "\n") {
			kind = listType(kinds)
		}
		return kind, "[" + text + "]", ok
	case *syntax.DictExpr:
		text, _, ok := literals(x.List)
		if len(x.List) > 0 && !strings.Contains(text, "\n") {
			kind = "dict"
		}
		return kind, "{" + text + "}", ok
	case *syntax.DictEntry:
		text, _, ok := literals([]syntax.Expr{x.Key})
		_, val, isLiteral := literal(x.Value)
		return "", text + ": " + val, ok && isLiteral
	}
	return "", "", false
}

// literals returns the texts of literals, joined, and their types.
func literals(list []syntax.Expr) (text string, kinds map[string]bool, ok bool) {
	kinds = map[string]bool{}
	texts := make([]string, len(list))
	for i, x := range list {
		kind, item, ok := literal(x)
		if !ok {
			return "", nil, false
		}
		kinds[kind], texts[i] = true, item
	}
	return strings.Join(texts, ", "), kinds, true
}

// listType returns the type of a list with items of these types.
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

// returnResult makes the handler return the result of the program, see
// [scan.ResultName].
func (w *writer) returnResult() {
	stmts := w.tree.Stmts
	assigned := slices.IndexFunc(stmts, scan.AssignsResult)
	if assigned >= 0 {
		if _, always := stmts[assigned].(*syntax.AssignStmt); !always {
			w.above = append(w.above, scan.ResultName+" = None")
		}
	}
	last := stmts[len(stmts)-1]
	start, _ := w.span(last)
	expr, isExpr := last.(*syntax.ExprStmt)
	switch _, returns := last.(*syntax.ReturnStmt); {
	case returns:
	case assigned < 0 && scan.OnlyMain(stmts):
		w.below = append(w.below, "return main()")
	case !isExpr || callOf(expr.X) == "print":
		if assigned >= 0 {
			w.below = append(w.below, "return "+scan.ResultName)
		}
	case assigned >= 0 && nameOf(expr.X) != scan.ResultName:
		name := "value"
		for w.bound[name] > 0 {
			name += "_"
		}
		w.replace(start, start, name+" = ")
		w.below = append(w.below, "return "+name+" if "+name+" != None else "+scan.ResultName)
	default:
		w.replace(start, start, "return ")
	}
}

// nameOf returns the name that an expression consists of, or "".
func nameOf(x syntax.Expr) string {
	if id, ok := x.(*syntax.Ident); ok {
		return id.Name
	}
	return ""
}

// callOf returns the name of the function that an expression calls, or "".
func callOf(x syntax.Expr) string {
	if call, ok := x.(*syntax.CallExpr); ok {
		return nameOf(call.Fn)
	}
	return ""
}

// bodyIndent is the indentation of the handler's body.
const bodyIndent = "    "

// indent indents the lines of the program, except those that begin inside of a string.
func (w *writer) indent() {
	inside := map[int]bool{} // the line breaks in strings
	syntax.Walk(w.tree, func(n syntax.Node) bool {
		if lit, ok := n.(*syntax.Literal); ok && strings.Contains(lit.Raw, "\n") {
			for at, end := w.span(lit); at < end; at++ {
				inside[at] = true
			}
		}
		return true
	})
	for _, at := range w.lines {
		if !inside[at-1] && strings.TrimSpace(w.text[at:prose.LineEnd(w.text, at)]) != "" {
			w.replace(at, at, bodyIndent)
		}
	}
}

// body returns the program with its edits.
func (w *writer) body() string {
	slices.SortStableFunc(w.edits, func(a, b edit) int { return cmp.Or(a.start-b.start, a.order()-b.order()) })
	var b strings.Builder
	at := 0
	for _, e := range w.edits {
		if e.start < at {
			continue // it is in a removed part
		}
		b.WriteString(w.text[at:e.start] + e.text)
		at = e.end
	}
	b.WriteString(w.text[at:])
	return strings.Trim(b.String(), "\n")
}

// order orders the edits that begin at the same place.
func (e edit) order() int {
	switch {
	case e.end > e.start && e.text == "": // removed lines
		return 0
	case e.text == bodyIndent:
		return 1
	case e.end == e.start:
		return 2
	}
	return 3
}
