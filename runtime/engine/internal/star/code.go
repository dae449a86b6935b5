package star

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/starlint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Code is Starlark for programs that models write to act: a program runs from its first
// line to its last, like a notebook cell. Its statements are the body of one function,
// so return ends it, and for and if need no function around them. The dialect is that
// of tools.
//
// Its result is, in this order,
//
//   - what it returns,
//   - the value of its last statement, if that is an expression and not None, as the
//     value of print and append is,
//   - what its top level assigned to the name result,
//   - None.
//
// A program of only functions and constants with a function main that has no required
// parameters and is never mentioned returns the result of main: models often write
// their programs so.
//
// Besides the modules it has the functions of its library file tools.star whose names
// do not begin with _, without a load. It cannot load anything itself.
//
// All of a program is checked before anything of it runs: its names, and the arguments of its
// calls as far as they are certain. One error has all faults. tools.json describes the parameters
// of the functions in tools.star.
type Code struct {
	star *Language
}

const (
	// toolsLib is the library whose functions are available to programs.
	toolsLib = "tools.star"
	// programName is the function that contains a program's statements, and valueName
	// the variable for its last value. No program can use these names.
	programName = "<program>"
	valueName   = "<value>"
)

// NewCode returns the language of programs.
func NewCode(star *Language) *Code { return &Code{star} }

func (l *Code) Declare(src script.Source) (*script.Declaration, error) {
	e := value.Errorf(value.Invalid, "a program cannot declare a tool").WithHint("write a tool in a file that ends in %s",
		strings.Join(tool.ScriptSuffixes(), ", "))
	e.Pos = value.Position{File: src.Path}
	return nil, e
}

func (l *Code) Compile(s tool.Script) (script.Program, error) {
	text, err := script.PlainText(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	stripped, err := scan.StripAnnotations(s.Path, text)
	if err != nil {
		return nil, err
	}
	predeclared, err := l.predeclaredOf(s.Libs)
	if err != nil {
		return nil, err
	}
	h := starlint.Program{Path: s.Path, Text: stripped.Text, Predeclared: predeclared}
	tree, err := scan.ParseProgram(s.Path, stripped.Text)
	if err != nil {
		return nil, h.Unparsed(err)
	}
	if err := refuseLoads(tree); err != nil {
		return nil, err
	}
	asFunction(tree)
	calls, err := l.newCallChecker(predeclared, s.Libs)
	if err != nil {
		return nil, err
	}
	names := undefined{predeclared, map[string]bool{}}
	prog, err := starlark.FileProgram(tree, names.isPredeclared)
	err = names.restore(tree, err)
	calls.Fault = func(f lint.Fault) {
		at := f.At.Start
		h.Fault(syntax.MakePosition(&tree.Path, int32(at.Line), int32(at.Col)), "%s", f.Message)
	}
	if _, unchecked := s.Libs[uncheckedLib]; !unchecked {
		calls.Check(tree)
		calls.Methods(tree)
	}
	if err := h.Parsed(tree, err); err != nil {
		return nil, err
	}
	globals, err := prog.Init(&starlark.Thread{Name: s.Path}, predeclared) // it only makes the function
	if err != nil {
		return nil, atLoad(scriptError(err, nil))
	}
	globals.Freeze()
	return codeProgram{&program{path: s.Path, handler: programName, globals: globals, threads: &l.star.threads}}, nil
}

// A codeProgram is a compiled program.
type codeProgram struct{ *program }

// Call runs the program. Errors that Python would not report get a hint.
func (p codeProgram) Call(r *script.Run, entry string) (value.Value, error) {
	v, err := p.program.Call(r, entry)
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != value.Internal || e.Hint != "" {
		return v, err
	}
	text := e.Message()
	if rest, ok := strings.CutPrefix(text, "local variable "); ok && strings.HasSuffix(rest, " referenced before assignment") {
		name, _, _ := strings.Cut(rest, " ")
		return nil, e.WithHint("%s is assigned below, so it is a local variable: rename the variable", name)
	}
	if rest, ok := strings.CutPrefix(text, "dict has no ."); ok {
		name, _, _ := strings.Cut(rest, " ")
		return nil, e.WithHint("write d[%q], or d.get(%q)", name, name)
	}
	if strings.Contains(text, "string") && strings.Contains(text, "iterable") {
		return nil, e.WithHint("write s.elems() for the characters of a string")
	}
	return nil, err
}

// predeclaredOf returns the names that a program can use: the modules, and the
// functions of its library.
func (l *Code) predeclaredOf(texts map[string]string) (starlark.StringDict, error) {
	names := maps.Clone(l.star.predeclared)
	for _, word := range []string{script.ToolWord, "param", "example"} {
		delete(names, word)
	}
	text, ok := texts[toolsLib]
	switch {
	case !ok:
		return names, nil
	case len(text) > script.MaxSource:
		return nil, script.SourceLimit(toolsLib, "the file is longer than %d KB", script.MaxSource>>10)
	}
	libs := l.star.libsOf(texts)
	lib, err := libs.get(toolsLib)
	if err != nil {
		return nil, err
	}
	if _, err := libs.all(lib.file); err != nil {
		return nil, err
	}
	globals, err := libs.load(toolsLib)
	if err != nil {
		return nil, err
	}
	for name := range lib.file.defs {
		if !strings.HasPrefix(name, "_") {
			names[name] = globals[name]
		}
	}
	return names, nil
}

// refuseLoads returns an error if a program has a load.
func refuseLoads(tree *syntax.File) error {
	var err error
	syntax.Walk(tree, func(n syntax.Node) bool {
		if load, ok := n.(*syntax.LoadStmt); ok && err == nil {
			err = errorAt(load.Load, "load is not supported in programs").
				WithHint("delete the line: tools and modules are always available")
		}
		return err == nil
	})
	return err
}

// asFunction makes a program's statements the body of one function that returns the
// program's result. All positions stay those of the text.
func asFunction(tree *syntax.File) {
	start := syntax.MakePosition(&tree.Path, 1, 1)
	body, end := slices.Clone(tree.Stmts), start
	if len(body) > 0 {
		_, end = body[len(body)-1].Span()
	}
	assigned := slices.ContainsFunc(body, scan.AssignsResult)
	if assigned { // it may be in a branch that is not taken
		body = slices.Insert(body, 0, assignment(start, scan.ResultName, nameAt(start, "None")))
	}
	switch {
	case !assigned && scan.OnlyMain(body):
		call := &syntax.CallExpr{Fn: nameAt(end, scan.MainName), Lparen: end, Rparen: end}
		body = append(body, &syntax.ReturnStmt{Return: end, Result: call})
	case assigned:
		body = append(lastValue(body), &syntax.ReturnStmt{Return: end, Result: nameAt(end, scan.ResultName)})
	default:
		body = append(lastValue(body), &syntax.ReturnStmt{Return: end})
	}
	tree.Stmts = []syntax.Stmt{&syntax.DefStmt{
		Def: start, Name: nameAt(start, programName), Lparen: start, Rparen: start, Body: body,
	}}
}

// lastValue makes the last statement, if it is an expression, return its value unless
// that is None.
func lastValue(body []syntax.Stmt) []syntax.Stmt {
	if len(body) == 0 {
		return body
	}
	last, ok := body[len(body)-1].(*syntax.ExprStmt)
	if !ok {
		return body
	}
	at, _ := last.Span()
	notNone := &syntax.BinaryExpr{X: nameAt(at, valueName), OpPos: at, Op: syntax.NEQ, Y: nameAt(at, "None")}
	return append(body[:len(body)-1],
		assignment(at, valueName, last.X),
		&syntax.IfStmt{If: at, Cond: notNone, True: []syntax.Stmt{&syntax.ReturnStmt{Return: at, Result: nameAt(at, valueName)}}})
}

func nameAt(at syntax.Position, name string) *syntax.Ident {
	return &syntax.Ident{NamePos: at, Name: name}
}

func assignment(at syntax.Position, name string, value syntax.Expr) syntax.Stmt {
	return &syntax.AssignStmt{OpPos: at, Op: syntax.EQ, LHS: nameAt(at, name), RHS: value}
}
