package lua

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/lualint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A checkable is the library as checks need it.
type checkable struct {
	globals   map[string]lualint.Global
	functions map[string]*tool.Func // of modules, without those that a function of Lua has the name of
}

func (l *Language) newCheckable() checkable {
	c := checkable{map[string]lualint.Global{}, map[string]*tool.Func{}}
	native := map[string]bool{}
	for _, g := range newLibrary(nil).globals {
		for _, f := range g.fields {
			native[g.name+"."+f.name] = true
		}
		native[g.name] = g.value != nil
	}
	for _, g := range l.library.globals {
		global := lualint.Global{Other: g.other != nil}
		for _, f := range g.fields {
			global.Fields = append(global.Fields, f.name)
		}
		slices.Sort(global.Fields)
		c.globals[g.name] = global
	}
	for _, m := range l.modules {
		for _, f := range m.Funcs {
			if name := f.DisplayName(); !native[name] {
				c.functions[name] = f.Func
			}
		}
	}
	return c
}

// A checking is the check of one file.
type checking struct {
	lang   *Language
	report *lint.Report
	src    script.Source
	file   *file
	stmts  []ast.Stmt // as they are written
	shift  func(line int) int
	hidden map[string]bool // the words in the parts that do not parse; nil if all parts parse
}

// Check reports the faults of a file.
func (l *Language) Check(src script.Source, r *lint.Report) {
	c := &checking{lang: l, report: r, src: src}
	if !c.parse(parseFile) {
		return
	}
	d, _, err := c.file.declaration()
	if d == nil {
		c.undeclared(err)
		return
	}
	for _, err := range c.file.faults {
		r.AddError(err, diagnostic.Declaration)
	}
	if len(c.file.faults) == 0 {
		c.compile(src)
	}
	call := c.stmts[len(c.stmts)-1].(*ast.ReturnStmt).Exprs[0].(*ast.FuncCallExpr)
	table := call.Args[0].(*ast.TableExpr)
	k := c.checker()
	k.Skip = call
	for _, p := range d.Signature {
		k.ParamsAt[p.Name] = lint.RangeOf(p.Pos)
	}
	k.PlaceParams(table)
	t := r.Declaration(d, script.Stem(src.Path), len(c.file.faults) == 0)
	r.Undescribed(d, &t, "the comment", "write ---@param %s TYPE what it is")
	k.Handler = c.handler(table)
	k.Params, k.Declared = t.Params, !t.AllowExtra && len(c.file.faults) == 0 && (d.Fields.Has("params") || len(d.Signature) > 0)
	c.run(k)
	if returns, err := d.Result(); err == nil {
		k.Result(t.Name, returns)
	}
	needs := k.NeedsOf(table, &t)
	c.needs(k, *needs)
}

// undeclared reports that the declaration cannot be read.
func (c *checking) undeclared(err error) {
	k := c.checker()
	if c.hidden == nil {
		d := c.report.Error(err, diagnostic.Declaration)
		if call := c.lacksReturn(); call != nil {
			k.Skip = call
			d = c.report.At(c.report.Span(k.Of(call)), diagnostic.Error, diagnostic.Declaration, d.Message)
			start := diagnostic.Span{Start: d.Span.Start, End: d.Span.Start}
			d.Fix = &diagnostic.Fix{Title: "insert return", Edits: []diagnostic.Edit{{Span: start, Text: "return "}}}
		}
		c.report.AddDiagnostic(d)
		k.Hidden = map[string]bool{"tool": true, "param": true, "example": true} // one slip is one fault
	}
	c.run(k)
}

// lacksReturn returns the call of tool at the end of the file, if only the return before it is missing.
func (c *checking) lacksReturn() *ast.FuncCallExpr {
	if len(c.stmts) == 0 || len(c.file.tools) != 1 || len(c.file.returns) > 0 || c.file.assigned["tool"] > 0 {
		return nil
	}
	s, _ := c.stmts[len(c.stmts)-1].(*ast.FuncCallStmt)
	if s == nil {
		return nil
	}
	call, _ := s.Expr.(*ast.FuncCallExpr)
	if call == nil || !isLuaName(call.Func, "tool") {
		return nil
	}
	return call
}

// CheckBlock reports the faults of the code block of a Markdown file; see the method of package star.
func (l *Language) CheckBlock(src script.Source, r *lint.Report, declared func(*script.Declaration) (*lint.Declaration, *tool.Tool)) {
	c := &checking{lang: l, report: r, src: src}
	if start := luaCodeStart(src.Text); isAnonymous(src.Text[start:]) {
		line := 1 + strings.Count(src.Text[:start], "\n")
		c.shift = func(n int) int { return map[bool]int{true: len("return ")}[n == line] }
	}
	if !c.parse(parseBlock) {
		declared(nil)
		return
	}
	name, err := c.file.handlerOf(script.Stem(src.Path))
	if err != nil {
		if c.hidden == nil {
			r.AddError(err, diagnostic.Declaration)
		}
		declared(nil)
		c.run(c.checker())
		return
	}
	if c.hidden["function"] && tool.Key(name) != tool.Key(script.Stem(src.Path)) { // the handler may not parse
		declared(nil)
		c.run(c.checker())
		return
	}
	d := script.New("", value.Position{}, map[string][]string{})
	d.Handler = name
	for name, fn := range c.file.functions {
		d.Functions[name] = c.file.parameters(fn)
	}
	c.file.describeBlock(d)
	needs, t := declared(d)
	k := c.checker()
	k.Roots = map[string]bool{name: true, t.Available: true, t.Undo: true, t.Preview: true}
	k.Handler = c.named(name)
	k.Params, k.Declared = t.Params, !t.AllowExtra && (d.Fields.Has("params") || len(d.Signature) > 0)
	for _, p := range d.Signature {
		k.ParamsAt[p.Name] = lint.RangeOf(p.Pos)
	}
	if v, ok := d.Fields.Get("params"); ok {
		if params, ok := v.(*value.Dict); ok {
			for key, v := range params.All() {
				if p, ok := script.DeclaredOf("param", v); ok {
					k.ParamsAt[fmt.Sprint(key)] = lint.RangeOf(p.Pos)
				}
			}
		}
	}
	if c.hidden == nil {
		if _, err := l.CompileBlock(tool.Script{Path: src.Path, Source: src.Text}, untyped); err != nil {
			r.AddError(err, diagnostic.InvalidCode)
		}
	}
	c.run(k)
	if returns, err := d.Result(); err == nil {
		k.Result(t.Name, returns)
	}
	if needs != nil {
		c.needs(k, *needs)
	}
}

// isAnonymous reports whether a text begins with a function without a name.
func isAnonymous(text string) bool {
	rest, ok := strings.CutPrefix(text, "function")
	return ok && strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "(")
}

// compile reports the errors of the compiler, such as too many local names.
func (c *checking) compile(src script.Source) {
	if c.hidden != nil {
		return
	}
	if _, err := c.lang.Compile(tool.Script{Path: src.Path, Source: src.Text}); err != nil {
		c.report.AddError(err, diagnostic.InvalidCode)
	}
}

// parse parses the file, and reports the faults of syntax. A statement of the top level that does not
// parse is replaced by empty lines.
func (c *checking) parse(parseText func(path, text string) (*file, error)) bool {
	if _, err := script.PlainText(c.src.Path, c.src.Text); err != nil {
		c.report.AddError(err, diagnostic.InvalidFile)
		return false
	}
	text := c.src.Text
	for range lint.SyntaxFaults(text) {
		f, err := parseText(c.src.Path, text)
		if err == nil {
			c.file = f
			f.hidden = c.hidden
			c.stmts, err = parse.Parse(strings.NewReader(f.text), c.src.Path) // parseFile changes the tree
			return err == nil
		}
		e := *value.ErrorOf(err, value.Invalid)
		begin, end := lualint.StatementAround(text, e.Pos.Line)
		if strings.HasSuffix(e.Message(), "at the end of the file") {
			if begin, end = lualint.Unended(text); begin == 0 {
				begin, end = lualint.StatementAround(text, e.Pos.Line)
			} else {
				e.Pos.Line, e.Pos.Col = begin, 0
				e.Err, e.Hint = errors.New("'end' or a closing bracket is missing in the statement that begins here"), "add the missing end or bracket"
			}
		}
		if e.Pos.Line == 0 {
			c.report.AddError(&e, diagnostic.Syntax)
			return false
		}
		if c.shift != nil && e.Pos.Col > 0 {
			e.Pos.Col = max(e.Pos.Col-c.shift(e.Pos.Line), 1)
		}
		lualint.SyntaxFault(c.report, &e, text, func(text string) bool {
			_, err := parseText(c.src.Path, text)
			return err == nil || value.ErrorOf(err, value.Invalid).Pos.Line >= end
		})
		if c.hidden == nil {
			c.hidden = map[string]bool{}
		}
		if text = lint.Hide(text, begin, end, c.hidden); strings.TrimSpace(text) == "" {
			return false
		}
	}
	return false
}

// checker returns the check of the statements.
func (c *checking) checker() *lualint.Check {
	library := c.lang.checkable()
	places := lualint.PlacesOf(c.file.text, c.stmts, c.places)
	return &lualint.Check{Report: c.report, Places: places, Globals: library.globals, Functions: library.functions, Missing: luaMissing,
		Assigned: c.file.assigned, Hidden: c.hidden, ParamsAt: map[string]lint.Range{}, Roots: map[string]bool{}}
}

// places returns how many bytes the parser's text has before a line of the file.
func (c *checking) places(line int) int {
	n := 0
	if c.shift != nil {
		n = c.shift(line)
	}
	if line == 1 && strings.HasPrefix(c.file.text, "--#") && !strings.HasPrefix(strings.TrimPrefix(c.src.Text, "\ufeff"), "--") {
		n += len("--")
	}
	return n
}

func (c *checking) run(k *lualint.Check) { k.Run(c.stmts) }

// handler returns the handler in the declaration, or nil.
func (c *checking) handler(table *ast.TableExpr) *ast.FunctionExpr {
	for _, field := range table.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		if !ok || key.Value != "handler" {
			continue
		}
		switch x := field.Value.(type) {
		case *ast.FunctionExpr:
			return x
		case *ast.IdentExpr:
			return c.named(x.Value)
		}
	}
	return nil
}

// named returns a function of the top level by its name, or the function that a block returns.
func (c *checking) named(name string) *ast.FunctionExpr {
	var found *ast.FunctionExpr
	for _, s := range c.stmts {
		switch s := s.(type) {
		case *ast.LocalAssignStmt:
			for i, n := range s.Names {
				if n == name && i < len(s.Exprs) {
					found, _ = s.Exprs[i].(*ast.FunctionExpr)
				}
			}
		case *ast.FuncDefStmt:
			if id, ok := s.Name.Func.(*ast.IdentExpr); ok && id.Value == name {
				found = s.Func
			}
		case *ast.AssignStmt:
			for i, x := range s.Lhs {
				if id, ok := x.(*ast.IdentExpr); ok && id.Value == name && i < len(s.Rhs) {
					found, _ = s.Rhs[i].(*ast.FunctionExpr)
				}
			}
		case *ast.ReturnStmt:
			if len(s.Exprs) == 1 && found == nil {
				found, _ = s.Exprs[0].(*ast.FunctionExpr)
			}
		}
	}
	return found
}

// needs checks what the file uses.
func (c *checking) needs(k *lualint.Check, d lint.Declaration) {
	k.Uses.Unknown = k.Uses.Unknown || c.hidden != nil || c.file.mentions["_G"]
	lint.CheckNeeds(c.report, k.Uses, d)
}
