package promote

import (
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// moduleWords are the names in the module tools that are not tools.
var moduleWords = []string{"call", "call_all", "list", "describe"}

// toolOf returns the tool that an expression of the program names, or nil.
func (w *writer) toolOf(x syntax.Expr) *tool.Tool {
	name := nameOf(x)
	if name == "" || w.bound[name] > 0 || prose.IsPredeclared(name) {
		return nil
	}
	i := slices.IndexFunc(w.Tools, func(t tool.Tool) bool { return isNameOf(t.Name, name) })
	if i < 0 {
		return nil
	}
	return &w.Tools[i]
}

// isNameOf reports whether written is the name of a tool or a parameter in a program: further
// _ at the end distinguish it from other names.
func isNameOf(name, written string) bool {
	plain := prose.Identifier(name)
	return written == plain || strings.TrimRight(written, "_") == plain
}

// rewriteCalls replaces the tools that the program uses by those of the module tools.
func (w *writer) rewriteCalls() error {
	done := map[syntax.Expr]bool{} // names that are rewritten, or are of arguments and attributes
	var err error
	syntax.Walk(w.tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DotExpr:
			done[n.Name] = true
		case *syntax.BinaryExpr:
			done[n.X] = n.Op == syntax.EQ
		case *syntax.CallExpr:
			if t := w.toolOf(n.Fn); t != nil {
				done[n.Fn] = true
				err = w.rewriteCall(n, t)
			} else if nameOf(n.Fn) == "attempt" && len(n.Args) > 0 && w.toolOf(n.Args[0]) != nil {
				done[n.Args[0]] = true
				err = w.rewriteAttempt(n, w.toolOf(n.Args[0]))
			}
		case *syntax.Ident:
			if t := w.toolOf(n); t != nil && !done[n] {
				err = w.rewriteValue(n, t)
			}
		}
		return err == nil
	})
	return err
}

// callee returns the function that calls a tool, and the tool's name if that is an
// argument of it.
func (w *writer) callee(at syntax.Position, t *tool.Tool) (fn, name string) {
	if !slices.Contains(w.called, t) {
		w.note(at, "the new tool does not declare %s: the run did not call it", t.Name)
	}
	if key := tool.Key(t.Name); !slices.Contains(moduleWords, key) {
		return "tools." + key, ""
	}
	return "tools.call", quote(t.Name)
}

func (w *writer) rewriteCall(call *syntax.CallExpr, t *tool.Tool) error {
	start, _ := w.span(call)
	fn, name := w.callee(call.Lparen, t)
	if name != "" && len(call.Args) > 0 {
		name += ", "
	}
	w.replace(start, w.offset(call.Lparen)+1, fn+"("+name)
	return w.nameArguments(call.Args, t)
}

func (w *writer) rewriteAttempt(call *syntax.CallExpr, t *tool.Tool) error {
	start, end := w.span(call.Args[0])
	fn, name := w.callee(call.Lparen, t)
	if name != "" {
		fn += ", " + name
	}
	w.replace(start, end, fn)
	return w.nameArguments(call.Args[1:], t)
}

// rewriteValue rewrites a tool that is used as a value.
func (w *writer) rewriteValue(id *syntax.Ident, t *tool.Tool) error {
	start, end := w.span(id)
	fn, name := w.callee(id.NamePos, t)
	if name != "" {
		return refuse(id, "the program uses the tool '%s' as a value, but the module tools has a function with this name", t.Name)
	}
	w.replace(start, end, fn)
	w.note(id.NamePos, "the program uses %s as a value: pass the arguments of %[1]s by name", t.Name)
	return nil
}

// refuse returns the error of a part of the program that cannot be in a tool.
func refuse(n syntax.Node, format string, args ...any) error {
	e := value.Errorf(value.Invalid, format, args...).WithHint("write the tool by hand; begin with the program of the step")
	start, _ := n.Span()
	e.Pos = value.Position{File: programName, Line: int(start.Line)}
	return e
}

// nameArguments writes the names of the arguments of a call.
func (w *writer) nameArguments(args []syntax.Expr, t *tool.Tool) error {
	params, err := positions(t)
	position := 0
	for _, arg := range args {
		start, _ := w.span(arg)
		switch x := arg.(type) {
		case *syntax.UnaryExpr:
			if x.Op == syntax.STARSTAR {
				continue
			}
			if x.Op == syntax.STAR {
				return refuse(x, "the call of '%s' passes its arguments as a list: expected arguments by name", t.Name)
			}
		case *syntax.BinaryExpr:
			if x.Op != syntax.EQ {
				break
			}
			name := nameOf(x.X)
			i := slices.IndexFunc(params, func(p tool.Param) bool { return isNameOf(p.Name, name) })
			if i < 0 || params[i].Name == name {
				continue
			}
			if !canName(params[i].Name) {
				return refuse(x, "the argument %q of '%s' cannot be passed by name: the name is not an identifier", params[i].Name, t.Name)
			}
			w.replace(start, start+len(name), params[i].Name)
			continue
		}
		switch {
		case err != nil:
			return refuse(arg, "argument %d of '%s' cannot be passed by name: %w", position+1, t.Name, err)
		case position >= len(params):
			return refuse(arg, "argument %d of '%s' cannot be passed by name: the number of its parameters is %d", position+1, t.Name, len(params))
		case !canName(params[position].Name):
			return refuse(arg, "argument %d of '%s' cannot be passed by name: the name %q is not an identifier", position+1, t.Name, params[position].Name)
		}
		w.replace(start, start, params[position].Name+" = ")
		position++
	}
	return nil
}

// canName reports whether a script can write a name before =.
func canName(name string) bool { return isNameOf(name, name) && !prose.IsKeyword(name) }

// positions returns the parameters of a tool in the order of positional arguments in
// programs: the required ones first.
func positions(t *tool.Tool) ([]tool.Param, error) {
	params, err := t.CallerParams()
	required := slices.DeleteFunc(slices.Clone(params), func(p tool.Param) bool { return !p.Required })
	optional := slices.DeleteFunc(slices.Clone(params), func(p tool.Param) bool { return p.Required })
	return append(required, optional...), err
}
