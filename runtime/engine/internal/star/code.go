package star

import (
	"errors"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/habits"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Code is Starlark as a model writes it in order to act: a program that is
// run from its first line to its last, as a notebook's cell is. Its statements
// are the body of one function, so return ends it, and for and if need no
// function around them. The dialect is that of tools.
//
// Its result is, in this order,
//
//   - what it returns,
//   - the value of its last statement, where that is an expression and not None,
//     as that of print and append is,
//   - what its top level assigned to the name result,
//   - None.
//
// A program of functions, constants and nothing else that has a function main
// without required parameters, and never mentions it, gives what main returns:
// models often write their programs so.
//
// Beside the modules it has the functions of its library file tools.star, all
// that do not begin with _, without a load. It cannot load anything itself.
type Code struct {
	star *Language
}

const (
	// toolsLib is the library whose functions a program has.
	toolsLib = "tools.star"
	// programName is the function that a program's statements become, and
	// valueName the variable for what its last one gives: no program can name them.
	programName = "<program>"
	valueName   = "<value>"
	resultName  = "result"
)

// NewCode returns the programs of a language.
func NewCode(star *Language) *Code { return &Code{star} }

func (l *Code) Declare(src script.Source) (*script.Declaration, error) {
	e := value.Errorf(value.Invalid, "a program declares no tool").WithHint("write a tool in a file that ends in %s",
		strings.Join(tool.ScriptSuffixes(), ", "))
	e.Pos = value.Position{File: src.Path}
	return nil, e
}

func (l *Code) Compile(s tool.Script) (script.Program, error) {
	text, err := script.PlainText(s.Path, s.Source)
	if err != nil {
		return nil, err
	}
	stripped, err := stripAnnotations(s.Path, text)
	if err != nil {
		return nil, err
	}
	given, err := l.given(s.Libs)
	if err != nil {
		return nil, err
	}
	h := habits.Program{Path: s.Path, Text: stripped.text, Given: given}
	tree, err := programDialect().Parse(s.Path, stripped.text, 0)
	if err != nil {
		return nil, h.Unparsed(err)
	}
	if err := refuseLoads(tree); err != nil {
		return nil, err
	}
	asFunction(tree)
	prog, err := starlark.FileProgram(tree, given.Has)
	if err := h.Parsed(tree, err); err != nil {
		return nil, err
	}
	globals, err := prog.Init(&starlark.Thread{Name: s.Path}, given) // it makes the function and no more
	if err != nil {
		return nil, atLoad(scriptError(err, nil))
	}
	globals.Freeze()
	return codeProgram{&program{path: s.Path, handler: programName, globals: globals, threads: &l.star.threads}}, nil
}

// programDialect is that of tools, and has while: who writes programs for once
// writes it, and the steps are bounded.
func programDialect() *syntax.FileOptions { return &syntax.FileOptions{Set: true, While: true} }

// A codeProgram is a program that is ready to run.
type codeProgram struct{ *program }

// Call runs the program. What fails as it would not in Python comes with a hint.
func (p codeProgram) Call(r *script.Run, entry string) (value.Value, error) {
	v, err := p.program.Call(r, entry)
	var e *value.Error
	if !errors.As(err, &e) || e.Kind != value.Internal || e.Hint != "" {
		return v, err
	}
	text := e.Message()
	if rest, ok := strings.CutPrefix(text, "local variable "); ok && strings.HasSuffix(rest, " referenced before assignment") {
		name, _, _ := strings.Cut(rest, " ")
		return nil, e.WithHint("%s is given a value further down, so it means nothing else above: give the variable another name", name)
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

// given is what a program has: the modules, and the functions of its library.
func (l *Code) given(texts map[string]string) (starlark.StringDict, error) {
	given := starlark.StringDict{}
	for name, v := range l.star.predeclared {
		if name != "tool" && name != "param" && name != "example" {
			given[name] = v
		}
	}
	text, ok := texts[toolsLib]
	switch {
	case !ok:
		return given, nil
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
			given[name] = globals[name]
		}
	}
	return given, nil
}

// refuseLoads says that a program cannot load, if it does.
func refuseLoads(tree *syntax.File) error {
	var err error
	syntax.Walk(tree, func(n syntax.Node) bool {
		if load, ok := n.(*syntax.LoadStmt); ok && err == nil {
			err = errorAt(load.Load, "programs cannot load").
				WithHint("delete the line: the tools and the modules are there already")
		}
		return err == nil
	})
	return err
}

// asFunction makes a program's statements the body of one function, which
// returns the program's result. Nothing moves: every position stays that of
// the text.
func asFunction(tree *syntax.File) {
	start := syntax.MakePosition(&tree.Path, 1, 1)
	body, end := slices.Clone(tree.Stmts), start
	if len(body) > 0 {
		_, end = body[len(body)-1].Span()
	}
	assigned := slices.ContainsFunc(body, assignsResult)
	if assigned { // it may do so in a branch that is not taken
		body = slices.Insert(body, 0, assignment(start, resultName, nameAt(start, "None")))
	}
	switch {
	case !assigned && onlyMain(body):
		call := &syntax.CallExpr{Fn: nameAt(end, mainName), Lparen: end, Rparen: end}
		body = append(body, &syntax.ReturnStmt{Return: end, Result: call})
	case assigned:
		body = append(lastValue(body), &syntax.ReturnStmt{Return: end, Result: nameAt(end, resultName)})
	default:
		body = append(lastValue(body), &syntax.ReturnStmt{Return: end})
	}
	tree.Stmts = []syntax.Stmt{&syntax.DefStmt{
		Def: start, Name: nameAt(start, programName), Lparen: start, Rparen: start, Body: body,
	}}
}

// lastValue makes the last statement, where it is an expression, return its
// value unless that is None.
func lastValue(body []syntax.Stmt) []syntax.Stmt {
	if len(body) == 0 {
		return body
	}
	last, ok := body[len(body)-1].(*syntax.ExprStmt)
	if !ok {
		return body
	}
	at, _ := last.Span()
	given := &syntax.BinaryExpr{X: nameAt(at, valueName), OpPos: at, Op: syntax.NEQ, Y: nameAt(at, "None")}
	return append(body[:len(body)-1],
		assignment(at, valueName, last.X),
		&syntax.IfStmt{If: at, Cond: given, True: []syntax.Stmt{&syntax.ReturnStmt{Return: at, Result: nameAt(at, valueName)}}})
}

func nameAt(at syntax.Position, name string) *syntax.Ident {
	return &syntax.Ident{NamePos: at, Name: name}
}

func assignment(at syntax.Position, name string, value syntax.Expr) syntax.Stmt {
	return &syntax.AssignStmt{OpPos: at, Op: syntax.EQ, LHS: nameAt(at, name), RHS: value}
}

// assignsResult reports whether a statement of the top level, or one inside
// it that is not in a function, gives the name result a value.
func assignsResult(stmt syntax.Stmt) bool {
	switch s := stmt.(type) {
	case *syntax.AssignStmt:
		return bindsResult(s.LHS)
	case *syntax.ForStmt:
		return bindsResult(s.Vars) || slices.ContainsFunc(s.Body, assignsResult)
	case *syntax.WhileStmt:
		return slices.ContainsFunc(s.Body, assignsResult)
	case *syntax.IfStmt:
		return slices.ContainsFunc(s.True, assignsResult) || slices.ContainsFunc(s.False, assignsResult)
	}
	return false
}

func bindsResult(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name == resultName
	case *syntax.ParenExpr:
		return bindsResult(x.X)
	case *syntax.TupleExpr:
		return slices.ContainsFunc(x.List, bindsResult)
	case *syntax.ListExpr:
		return slices.ContainsFunc(x.List, bindsResult)
	}
	return false
}

// onlyMain reports whether a program defines functions and constants and does
// nothing, and has a function main that it never mentions and that can be
// called without arguments.
func onlyMain(body []syntax.Stmt) bool {
	var main *syntax.DefStmt
	mentions := 0
	for _, stmt := range body {
		switch s := stmt.(type) {
		case *syntax.DefStmt:
			if s.Name.Name == mainName {
				main = s
			}
		case *syntax.AssignStmt:
		case *syntax.ExprStmt:
			if _, isText := s.X.(*syntax.Literal); !isText {
				return false
			}
		default:
			return false
		}
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if id, ok := n.(*syntax.Ident); ok && id.Name == mainName {
				mentions++
			}
			return true
		})
	}
	return main != nil && mentions == 1 && !slices.ContainsFunc(main.Params, func(p syntax.Expr) bool {
		_, required := p.(*syntax.Ident)
		return required
	})
}
