package star

import (
	"fmt"
	"strings"

	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/starlint"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// needsOf returns the needs of tool(…), with the edits that change them, or nil if they cannot be read.
func (c *checking) needsOf(call *syntax.CallExpr, t *tool.Tool) *lint.Declaration {
	d := &lint.Declaration{Name: "the tool"}
	var list *syntax.ListExpr
	given := false
	for _, arg := range call.Args {
		b, ok := arg.(*syntax.BinaryExpr)
		if !ok || b.Op != syntax.EQ {
			continue
		}
		if id, ok := b.X.(*syntax.Ident); ok && id.Name == "needs" {
			given = true
			x := b.Y
			if id, ok := x.(*syntax.Ident); ok {
				x = c.file.constants[id.Name]
			}
			list, _ = x.(*syntax.ListExpr)
		}
	}
	if list == nil && given && len(t.Needs) == 0 {
		return nil
	}
	if list == nil {
		for _, need := range t.Needs {
			d.Needs = append(d.Needs, lint.Need{Capability: need, At: starlint.RangeOf(call.Fn)})
		}
		if !given {
			d.Add = func(text string) *diagnostic.Fix { return c.addArgument(call, text) }
		}
		return d
	}
	for i, x := range list.List {
		lit, ok := x.(*syntax.Literal)
		if !ok {
			continue
		}
		text, _ := lit.Value.(string)
		if need, err := tool.ParseCapability(text); err == nil {
			d.Needs = append(d.Needs, lint.Need{Capability: need, At: starlint.RangeOf(x), Remove: func() *diagnostic.Fix { return c.removeElement(list, i, text) }})
		}
	}
	d.Add = func(text string) *diagnostic.Fix { return c.addElement(list, text) }
	return d
}

func (c *checking) span(n syntax.Node) diagnostic.Span { return c.report.Span(starlint.RangeOf(n)) }

func (c *checking) insert(at int, text, need string) *diagnostic.Fix {
	return &diagnostic.Fix{Title: fmt.Sprintf("add %q to needs", need), Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: at, End: at}, Text: text}}}
}

// separator returns what is before a new item after the last one: on a line of its own if that is.
func (c *checking) separator(last syntax.Node, close syntax.Position) string {
	start, _ := last.Span()
	line := c.report.Line(int(start.Line))
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if start.Line < close.Line && int(start.Col) == len(indent)+1 {
		return ",\n" + indent
	}
	return ", "
}

// addArgument adds needs to tool(…).
func (c *checking) addArgument(call *syntax.CallExpr, need string) *diagnostic.Fix {
	if len(call.Args) == 0 {
		return nil
	}
	last := call.Args[len(call.Args)-1]
	return c.insert(c.span(last).End, fmt.Sprintf("%sneeds = [%q]", c.separator(last, call.Rparen), need), need)
}

// addElement adds an element to the list of needs.
func (c *checking) addElement(list *syntax.ListExpr, need string) *diagnostic.Fix {
	if len(list.List) == 0 {
		return c.insert(c.span(list).Start+1, fmt.Sprintf("%q", need), need)
	}
	last := list.List[len(list.List)-1]
	return c.insert(c.span(last).End, c.separator(last, list.Rbrack)+fmt.Sprintf("%q", need), need)
}

// removeElement removes an element from the list of needs.
func (c *checking) removeElement(list *syntax.ListExpr, i int, need string) *diagnostic.Fix {
	span := c.span(list.List[i])
	switch {
	case i > 0:
		span.Start = c.span(list.List[i-1]).End
	case len(list.List) > 1:
		span.End = c.span(list.List[1]).Start
	default:
		all := c.span(list)
		span = diagnostic.Span{Start: all.Start + 1, End: all.End - 1}
	}
	if strings.Contains(c.report.Source[span.Start:span.End], "#") {
		return nil
	}
	return &diagnostic.Fix{Title: fmt.Sprintf("remove %q from needs", need), Edits: []diagnostic.Edit{{Span: span}}}
}

// needs checks what the functions that are called use.
func (c *checking) needs(roots []string, d lint.Declaration) {
	var uses lint.Uses
	c.usesOf(c.file, c.names.Reachable(roots...), lint.Range{}, &uses)
	uses.Unknown = uses.Unknown || c.hidden != nil
	lint.CheckNeeds(c.report, uses, d)
}

// A loadedLib is a loaded file that is read for what it uses.
type loadedLib struct {
	file  *file
	names *starlint.Names
	seen  map[string]bool // the functions that were collected
}

// lib reads a loaded file, or returns nil.
func (c *checking) lib(name string) *loadedLib {
	lib, known := c.libs[name]
	if known {
		return lib
	}
	c.libs[name] = nil
	text, ok := c.src.Libs[name]
	if !ok {
		return nil
	}
	f, err := c.lang.parse(name, text)
	if err != nil {
		return nil
	}
	if err := c.lang.resolve(f.syntax); err != nil {
		return nil
	}
	c.libs[name] = &loadedLib{file: f, names: starlint.NamesOf(f.syntax), seen: map[string]bool{}}
	return c.libs[name]
}

// valueOf returns the only value of a variable of the file, or of a loaded file. It is nil if that is unknown.
func (c *checking) valueOf(id *syntax.Ident) syntax.Expr {
	all := []*starlint.Names{c.names}
	for _, lib := range c.libs {
		if lib != nil {
			all = append(all, lib.names)
		}
	}
	for _, names := range all {
		if x := names.ValueOf(id); x != nil {
			return x
		}
		if file, name := names.LoadOf(id); file != "" {
			lib := c.lib(file)
			if lib == nil {
				return nil
			}
			if global := lib.names.Global(name); global != nil {
				return lib.names.ValueOf(global)
			}
		}
	}
	return nil
}

// usesOf collects what the functions of a file use. at is where the main file loads the functions;
// it is zero for the main file.
func (c *checking) usesOf(f *file, reached map[string]bool, at lint.Range, uses *lint.Uses) {
	calls := c.lang.calls(c.lang.predeclared)
	if calls.Value = c.valueOf; f == c.file {
		calls = c.calls
	}
	for _, stmt := range f.syntax.Stmts {
		switch s := stmt.(type) {
		case *syntax.DefStmt:
			if !reached[s.Name.Name] {
				continue
			}
		case *syntax.LoadStmt:
			for i, to := range s.To {
				if reached[to.Name] {
					from := at
					if from == (lint.Range{}) {
						from = starlint.RangeOf(to)
					}
					c.usesOfLoaded(s.ModuleName(), s.From[i].Name, from, uses)
				}
			}
			continue
		}
		calls.Uses(stmt, at, uses)
	}
}

func (c *checking) usesOfLoaded(file, name string, at lint.Range, uses *lint.Uses) {
	lib := c.lib(file)
	if lib == nil {
		uses.Unknown = true
		return
	}
	if lib.seen[name] {
		return
	}
	lib.seen[name] = true
	c.usesOf(lib.file, lib.names.Reachable(name), at, uses)
}
