package lualint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// PlaceParams records where parameters are declared.
func (c *Check) PlaceParams(table *ast.TableExpr) {
	for _, field := range table.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		params, isTable := field.Value.(*ast.TableExpr)
		if !ok || key.Value != "params" || !isTable {
			continue
		}
		for _, p := range params.Fields {
			if name, ok := p.Key.(*ast.StringExpr); ok {
				c.ParamsAt[name.Value] = c.at(name)
			}
		}
	}
}

// Result reports a handler that returns nothing, or a value that certainly does not have the declared type. name is
// that of the tool.
func (c *Check) Result(name string, t *tool.Type) {
	if c.Handler == nil || t == nil || t.Nullable || t.Name == "" || t.Name == tool.TypeAny {
		return
	}
	list, fails := returnsOf(c.Handler.Stmts)
	if !fails && !slices.ContainsFunc(list, func(s *ast.ReturnStmt) bool { return len(s.Exprs) > 0 }) {
		c.fault(lint.Fault{At: lint.Range{Start: lint.Pos{Line: c.Handler.Line()}}, Code: diagnostic.MissingReturn,
			Message: fmt.Sprintf("the handler returns nothing, but its declared result is %s", t), Hint: "return a value, or remove the declared result"})
		return
	}
	for _, s := range list {
		if len(s.Exprs) != 1 {
			continue
		}
		v, ok := constantOf(s.Exprs[0], 0)
		if _, isTable := v.(value.List); !ok || isTable { // an empty table is a list or an object
			continue
		}
		if why := lint.WrongResult(name, t, v); why != "" {
			c.fault(lint.Fault{At: c.of(s.Exprs[0]), Code: diagnostic.ResultType, Message: why})
		}
	}
}

// NeedsOf returns the needs of tool{…}, with the edits that change them.
func (c *Check) NeedsOf(table *ast.TableExpr, t *tool.Tool) *lint.Declaration {
	d := &lint.Declaration{Name: "the tool"}
	for _, field := range table.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		if !ok || key.Value != "needs" {
			continue
		}
		list, ok := field.Value.(*ast.TableExpr)
		if !ok {
			for _, need := range t.Needs {
				d.Needs = append(d.Needs, lint.Need{Capability: need, At: c.at(key)})
			}
			return d
		}
		for i, item := range list.Fields {
			if text, ok := item.Value.(*ast.StringExpr); ok {
				if need, err := tool.ParseCapability(text.Value); err == nil {
					d.Needs = append(d.Needs, lint.Need{Capability: need, At: c.at(text), Remove: func() *diagnostic.Fix { return c.removeElement(list, i, text.Value) }})
				}
			}
		}
		d.Add = func(text string) *diagnostic.Fix { return c.addElement(list, text) }
		return d
	}
	d.Add = func(text string) *diagnostic.Fix { return c.addField(table, text) }
	return d
}

func fixNeeds(title string, span diagnostic.Span, text string) *diagnostic.Fix {
	return &diagnostic.Fix{Title: title, Edits: []diagnostic.Edit{{Span: span, Text: text}}}
}

// addField adds needs before the field handler.
func (c *Check) addField(table *ast.TableExpr, need string) *diagnostic.Fix {
	for _, field := range table.Fields {
		key, ok := field.Key.(*ast.StringExpr)
		at := c.at(field.Key)
		if !ok || key.Value != "handler" || at.Start.Col < 1 {
			continue
		}
		line := c.Report.Line(at.Start.Line)
		indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
		text := fmt.Sprintf("needs = { %q }, ", need)
		if at.Start.Col == len(indent)+1 {
			text = fmt.Sprintf("needs = { %q },\n%s", need, indent)
		}
		start := c.Report.Offset(at.Start.Line, at.Start.Col)
		return fixNeeds(fmt.Sprintf("add %q to needs", need), diagnostic.Span{Start: start, End: start}, text)
	}
	return nil
}

// textSpan returns the span of a text in quotes.
func (c *Check) textSpan(x ast.Expr) (span diagnostic.Span, ok bool) {
	at := c.at(x)
	if at.Start.Col < 1 {
		return span, false
	}
	start := c.Report.Offset(at.Start.Line, at.Start.Col)
	source := c.Report.Source[start:]
	if source == "" || source[0] != '"' && source[0] != '\'' {
		return span, false
	}
	end := strings.IndexByte(source[1:], source[0])
	if end < 0 || strings.Contains(source[1:1+end], `\`) {
		return span, false
	}
	return diagnostic.Span{Start: start, End: start + end + 2}, true
}

// addElement adds an element to the table of needs.
func (c *Check) addElement(list *ast.TableExpr, need string) *diagnostic.Fix {
	title := fmt.Sprintf("add %q to needs", need)
	if len(list.Fields) == 0 {
		at := c.at(list)
		if at.Start.Col < 1 {
			return nil
		}
		start := c.Report.Offset(at.Start.Line, at.Start.Col) + 1
		return fixNeeds(title, diagnostic.Span{Start: start, End: start}, fmt.Sprintf("%q", need))
	}
	span, ok := c.textSpan(list.Fields[len(list.Fields)-1].Value)
	if !ok {
		return nil
	}
	return fixNeeds(title, diagnostic.Span{Start: span.End, End: span.End}, fmt.Sprintf(", %q", need))
}

// removeElement removes an element from the table of needs.
func (c *Check) removeElement(list *ast.TableExpr, i int, need string) *diagnostic.Fix {
	span, ok := c.textSpan(list.Fields[i].Value)
	if !ok {
		return nil
	}
	other, also := span, true
	switch {
	case i > 0:
		other, also = c.textSpan(list.Fields[i-1].Value)
		span.Start = other.End
	case len(list.Fields) > 1:
		other, also = c.textSpan(list.Fields[1].Value)
		span.End = other.Start
	}
	if !also || strings.Contains(c.Report.Source[span.Start:span.End], "--") {
		return nil
	}
	return fixNeeds(fmt.Sprintf("remove %q from needs", need), span, "")
}
