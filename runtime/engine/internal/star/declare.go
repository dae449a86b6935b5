package star

import (
	"errors"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/habits"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// file is a parsed Starlark file.
type file struct {
	path       string
	text       string // without annotations
	syntax     *syntax.File
	signatures map[scan.Position]scan.Signature
	defs       map[string]*syntax.DefStmt // of the top level
	constants  map[string]syntax.Expr     // names assigned once at the top level
	nodes      int                        // how many more values the declaration may have
}

func (l *Language) parse(path, text string) (*file, error) {
	text, err := script.PlainText(path, text)
	if err != nil {
		return nil, err
	}
	stripped, err := scan.StripAnnotations(path, text)
	if err != nil {
		return nil, err
	}
	tree, err := l.options.Parse(path, stripped.Text, 0)
	if err != nil {
		return nil, l.syntaxError(err, stripped.Text)
	}
	f := &file{path: path, text: stripped.Text, syntax: tree, signatures: stripped.Functions,
		defs: map[string]*syntax.DefStmt{}, constants: map[string]syntax.Expr{}, nodes: value.MaxNodes}
	for _, stmt := range tree.Stmts {
		switch s := stmt.(type) {
		case *syntax.DefStmt:
			f.defs[s.Name.Name] = s
		case *syntax.AssignStmt:
			if id, ok := s.LHS.(*syntax.Ident); ok && s.Op == syntax.EQ {
				f.constants[id.Name] = s.RHS
			}
		}
	}
	return f, nil
}

func (l *Language) syntaxError(err error, text string) error {
	var e syntax.Error
	if !errors.As(err, &e) {
		return value.Errorf(value.Invalid, "%w", err)
	}
	located := errorAt(e.Pos, "%s", e.Msg)
	h := habits.Program{Text: text, Predeclared: l.predeclared}
	located.Hint = h.Hint(int(e.Pos.Line))
	switch {
	case strings.HasPrefix(located.Hint, "import;"):
		located.Hint = "remove the import: modules are always available; load shared files with load(\"lib/name.star\", \"function\")"
	case strings.HasPrefix(located.Hint, "global;"), strings.HasPrefix(located.Hint, "nonlocal;"):
		located.Hint = "global values cannot be changed: use parameters and results"
	case strings.HasPrefix(e.Msg, "got ':'"), e.Msg == "got '-', want ':'":
		located.Hint = "write types only in a def, as in def f(path: str, n: int = 1) -> list[str]:"
	}
	return located
}

func errorAt(pos syntax.Position, format string, args ...any) *value.Error {
	e := value.Errorf(value.Invalid, format, args...)
	e.Pos = position(pos)
	return e
}

func position(pos syntax.Position) value.Position {
	return value.Position{File: pos.Filename(), Line: int(pos.Line), Col: int(pos.Col)}
}

// declaration reads the file's tool(…) or workflow(…).
func (f *file) declaration() (*script.Declaration, error) {
	word, call, err := f.declares()
	if err != nil {
		return nil, err
	}
	if call == nil {
		e := value.Errorf(value.NotFound, "the file does not declare a tool").
			WithHint("end the file with tool(%s)", f.likelyHandler())
		e.Pos = value.Position{File: f.path}
		return nil, e
	}
	start, _ := call.Span()
	d := script.New(word, position(start), f.parameters())
	handler, err := f.readFields(call, d)
	if err == nil && word == script.WorkflowWord {
		err = f.isMain(call, handler)
	}
	if err != nil {
		return nil, err
	}
	return d, f.readHandler(handler, d)
}

// declares finds the one tool(…) or workflow(…) of the file, or returns nil.
func (f *file) declares() (word string, call *syntax.CallExpr, err error) {
	for _, stmt := range f.syntax.Stmts {
		is, c := script.ToolWord, callOf(stmt, script.ToolWord)
		if c == nil {
			is, c = script.WorkflowWord, callOf(stmt, script.WorkflowWord)
		}
		if c == nil {
			continue
		}
		start, _ := c.Span()
		if call != nil {
			return "", nil, errorAt(start, "second declaration in the file: %s(…)", is).WithHint("declare one tool or one workflow per file")
		}
		word, call = is, c
		for _, name := range []string{word, "param", "example"} {
			if f.defs[name] != nil || f.constants[name] != nil {
				return "", nil, errorAt(start, "the file defines %s, which is reserved for declarations", name).
					WithHint("rename %s", name)
			}
		}
	}
	return word, call, nil
}

// callOf returns the call if a statement is just a call of name.
func callOf(stmt syntax.Stmt, name string) *syntax.CallExpr {
	s, ok := stmt.(*syntax.ExprStmt)
	if !ok {
		return nil
	}
	call, ok := s.X.(*syntax.CallExpr)
	if !ok {
		return nil
	}
	if id, ok := call.Fn.(*syntax.Ident); !ok || id.Name != name {
		return nil
	}
	return call
}

// functions lists the functions of the top level.
func (f *file) functions() []string {
	var names []string
	for _, stmt := range f.syntax.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok {
			names = append(names, def.Name.Name)
		}
	}
	return names
}

// likelyHandler returns the last function that can be the handler, for hints.
func (f *file) likelyHandler() string {
	for _, name := range slices.Backward(f.functions()) {
		if !strings.HasPrefix(name, "_") {
			return name
		}
	}
	return "handler"
}

// readFields reads the arguments of tool(…) and returns its handler.
func (f *file) readFields(call *syntax.CallExpr, d *script.Declaration) (*syntax.DefStmt, error) {
	var handler *syntax.DefStmt
	for i, arg := range call.Args {
		pos, _ := arg.Span()
		name, val := "handler", arg
		if b, ok := arg.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			name, val = b.X.(*syntax.Ident).Name, b.Y
		} else if i > 0 {
			return nil, errorAt(pos, "%s() takes one positional argument, the handler; pass everything else by name", d.Word)
		}
		if name == "handler" {
			if handler != nil {
				return nil, errorAt(pos, "'handler' is given twice")
			}
			id, ok := val.(*syntax.Ident)
			if ok && f.defs[id.Name] == nil && d.Word == script.WorkflowWord && id.Name == scan.MainName {
				return nil, f.noMain()
			}
			if !ok || f.defs[id.Name] == nil {
				return nil, errorAt(pos, "handler must be a function").WithHint("pass a function that this file defines with def")
			}
			handler = f.defs[id.Name]
			continue
		}
		if d.Fields.Has(name) {
			return nil, errorAt(pos, "'%s' is given twice", name)
		}
		v, err := f.literal(val, value.MaxDepth)
		if err != nil {
			return nil, err
		}
		d.Fields.Put(name, v)
		d.At[name] = position(pos)
	}
	if handler == nil {
		return nil, errorAt(call.Lparen, "%s() has no handler", d.Word).WithHint("write %s(%s, …)", d.Word, f.likelyHandler())
	}
	return handler, nil
}

// parameters returns the parameters of the file's functions, by the name of each.
func (f *file) parameters() map[string][]string {
	list := map[string][]string{}
	for name, value := range f.constants {
		if lambda, ok := value.(*syntax.LambdaExpr); ok {
			list[name] = paramNames(lambda.Params)
		}
	}
	for name, def := range f.defs {
		list[name] = paramNames(def.Params)
	}
	return list
}

// paramNames returns the names of parameters, with their * and **.
func paramNames(params []syntax.Expr) []string {
	var names []string
	for _, p := range params {
		prefix := ""
		switch x := p.(type) {
		case *syntax.BinaryExpr:
			p = x.X
		case *syntax.UnaryExpr:
			prefix, p = x.Op.String(), x.X
		}
		name := ""
		if id, ok := p.(*syntax.Ident); ok {
			name = id.Name
		}
		names = append(names, prefix+name)
	}
	return names
}

// readHandler reads signature and docstring of the handler.
func (f *file) readHandler(def *syntax.DefStmt, d *script.Declaration) error {
	d.Handler, d.Signed = def.Name.Name, true
	sig := f.signatures[scan.Position{Line: int(def.Def.Line), Col: int(def.Def.Col)}]
	for _, p := range def.Params {
		if star, ok := p.(*syntax.UnaryExpr); ok && star.X == nil {
			continue // the * before keyword-only parameters: all are passed by name
		}
		param, err := f.param(p, sig)
		if err != nil {
			return err
		}
		d.Signature = append(d.Signature, param)
	}
	if sig.Returns.Text != "" && sig.Returns.Text != "None" {
		t, err := f.annotated(sig.Returns)
		if err != nil {
			return err
		}
		d.Returns = &t
	}
	d.Doc = script.ParseDocstring(docOf(def.Body))
	return nil
}

// annotated reads the type of an annotation.
func (f *file) annotated(a scan.Annotation) (tool.Type, error) {
	t, err := tool.ParseAnnotation(a.Text)
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		e.Pos = value.Position{File: f.path, Line: a.At.Line, Col: a.At.Col}
		return t, &e
	}
	return t, nil
}

func (f *file) param(p syntax.Expr, sig scan.Signature) (script.SigParam, error) {
	var param script.SigParam
	pos, _ := p.Span()
	param.Pos = position(pos)
	switch p := p.(type) {
	case *syntax.Ident:
		param.Name = p.Name
	case *syntax.BinaryExpr:
		param.Name = p.X.(*syntax.Ident).Name
		v, err := f.literal(p.Y, value.MaxDepth)
		if err != nil {
			return param, err
		}
		param.Value, param.HasDefault = v, true
	default:
		return param, errorAt(pos, "*args and **kwargs are not supported in a handler: name each parameter")
	}
	if a := sig.Params[param.Name]; a.Text != "" {
		t, err := f.annotated(a)
		if err != nil {
			return param, err
		}
		param.Annotated = &t
	}
	return param, nil
}

// docOf returns the docstring of a function or file, or "".
func docOf(body []syntax.Stmt) string {
	if len(body) == 0 {
		return ""
	}
	s, ok := body[0].(*syntax.ExprStmt)
	if !ok {
		return ""
	}
	lit, ok := s.X.(*syntax.Literal)
	if !ok || lit.Token != syntax.STRING {
		return ""
	}
	return lit.Value.(string)
}

// literal evaluates an expression of a declaration: a literal, the name of a literal
// constant or a function of the file, or param(…) and example(…) of these. Nothing is
// run.
func (f *file) literal(x syntax.Expr, depth int) (value.Value, error) {
	pos, _ := x.Span()
	if depth == 0 {
		return nil, errorAt(pos, "the declaration is nested more than %d levels deep", value.MaxDepth)
	}
	if f.nodes--; f.nodes < 0 { // constants that contain each other have exponential size
		return nil, errorAt(pos, "the declaration has more than %d values", value.MaxNodes)
	}
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return f.literal(x.X, depth-1)
	case *syntax.Literal:
		return literal(x)
	case *syntax.UnaryExpr:
		return f.negative(x, depth)
	case *syntax.Ident:
		return f.name(x, depth)
	case *syntax.ListExpr:
		items, err := f.literals(x.List, depth)
		return value.List(items), err
	case *syntax.TupleExpr:
		items, err := f.literals(x.List, depth)
		return value.Tuple(items), err
	case *syntax.DictExpr:
		return f.dict(x, depth)
	case *syntax.CallExpr:
		if id, ok := x.Fn.(*syntax.Ident); ok {
			if id.Name == "param" || id.Name == "example" {
				return f.declared(id.Name, x, depth)
			}
		}
	}
	return nil, script.Computed(position(pos))
}

func literal(x *syntax.Literal) (value.Value, error) {
	switch v := x.Value.(type) {
	case string:
		if x.Token == syntax.BYTES {
			return []byte(v), nil
		}
		return v, nil
	case *big.Int:
		return value.Integer(v), nil
	}
	return value.Value(x.Value), nil // int64 or float64
}

func (f *file) negative(x *syntax.UnaryExpr, depth int) (value.Value, error) {
	if x.X != nil && (x.Op == syntax.MINUS || x.Op == syntax.PLUS) {
		v, err := f.literal(x.X, depth-1)
		if err != nil {
			return nil, err
		}
		if x.Op == syntax.PLUS {
			return v, nil
		}
		switch n := v.(type) {
		case int64:
			return value.Integer(new(big.Int).Neg(big.NewInt(n))), nil
		case *big.Int:
			return value.Integer(new(big.Int).Neg(n)), nil
		case float64:
			return -n, nil
		}
	}
	return nil, script.Computed(position(x.OpPos))
}

func (f *file) name(x *syntax.Ident, depth int) (value.Value, error) {
	switch x.Name {
	case "None":
		return nil, nil
	case "True":
		return true, nil
	case "False":
		return false, nil
	}
	if f.defs[x.Name] != nil {
		return script.FuncName(x.Name), nil
	}
	if value, ok := f.constants[x.Name]; ok {
		return f.literal(value, depth-1)
	}
	return nil, errorAt(x.NamePos, "%s is not a constant or function of this file", x.Name).
		WithHint("write the value: the declaration is read without running the file")
}

func (f *file) literals(list []syntax.Expr, depth int) ([]value.Value, error) {
	values := make([]value.Value, len(list))
	for i, x := range list {
		v, err := f.literal(x, depth-1)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func (f *file) dict(x *syntax.DictExpr, depth int) (value.Value, error) {
	d := &value.Dict{}
	for _, item := range x.List {
		entry := item.(*syntax.DictEntry)
		key, err := f.literal(entry.Key, depth-1)
		if err != nil {
			return nil, err
		}
		val, err := f.literal(entry.Value, depth-1)
		if err != nil {
			return nil, err
		}
		before := d.Len()
		if err := d.Set(key, val); err != nil {
			return nil, errorAt(entry.Colon, "%s", err)
		}
		if d.Len() == before {
			return nil, errorAt(entry.Colon, "the key %s is given twice", value.FormatJSON(key, ""))
		}
	}
	return d, nil
}

// declared reads param(…) or example(…).
func (f *file) declared(kind string, call *syntax.CallExpr, depth int) (value.Value, error) {
	start, _ := call.Span()
	d := script.NewDeclared(kind, position(start))
	names := d.Names()
	for i, arg := range call.Args {
		pos, _ := arg.Span()
		name, val := "", arg
		switch b, ok := arg.(*syntax.BinaryExpr); {
		case ok && b.Op == syntax.EQ:
			name, val = b.X.(*syntax.Ident).Name, b.Y
		case i < len(names):
			name = names[i]
		default:
			return nil, errorAt(pos, "%s() takes at most %d arguments", kind, len(names))
		}
		v, err := f.literal(val, depth-1)
		if err == nil {
			err = d.Put(name, v, position(pos))
		}
		if err != nil {
			return nil, err
		}
	}
	return d, nil
}

// handlerOf finds the handler in a file without tool(…), such as the code of a Markdown
// file.
func (f *file) handlerOf(stem string) (*syntax.DefStmt, error) {
	name, err := script.HandlerName(f.functions(), stem)
	if err != nil {
		e := value.ErrorOf(err, value.Invalid)
		e.Pos = value.Position{File: f.path}
		if len(f.syntax.Stmts) > 0 {
			start, _ := f.syntax.Stmts[0].Span()
			e.Pos = position(start)
		}
		return nil, e
	}
	return f.defs[name], nil
}
