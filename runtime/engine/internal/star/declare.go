package star

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// starFile is a Starlark file as it was parsed.
type file struct {
	path      string
	text      string // without annotations
	syntax    *syntax.File
	functions map[scan.Place]signature
	defs      map[string]*syntax.DefStmt // of the top level
	constants map[string]syntax.Expr     // names assigned once at the top level
	nodes     int                        // how many more values the declaration may consist of
}

func parse(path, text string) (*file, error) {
	return parseDialect(fileOptions, path, text)
}

func parseDialect(options *syntax.FileOptions, path, text string) (*file, error) {
	text, err := script.PlainText(path, text)
	if err != nil {
		return nil, err
	}
	stripped, err := stripAnnotations(path, text)
	if err != nil {
		return nil, err
	}
	tree, err := options.Parse(path, stripped.text, 0)
	if err != nil {
		return nil, syntaxError(err, text)
	}
	f := &file{path: path, text: stripped.text, syntax: tree, functions: stripped.functions,
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

// fileOptions is the dialect of tools: Starlark as specified, plus sets.
var fileOptions = &syntax.FileOptions{Set: true}

func syntaxError(err error, text string) error {
	var e syntax.Error
	if !errors.As(err, &e) {
		return value.Errorf(value.Invalid, "%w", err)
	}
	located := errorAt(e.Pos, "%s", e.Msg)
	line, _, _ := strings.Cut(afterLines(text, int(e.Pos.Line)-1), "\n")
	if hint := pythonHint(line); hint != "" {
		return located.WithHint("%s", hint)
	}
	if strings.HasPrefix(e.Msg, "got ':'") || e.Msg == "got '-', want ':'" {
		return located.WithHint("if a type is meant: types are those of a def, as in def f(path: str, n: int = 1) -> list[str]:")
	}
	return located
}

// afterLines returns the text behind its first n lines.
func afterLines(text string, n int) string {
	for range n {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// pythonHints says what to write for what Starlark does not take over from
// Python, by the word that a line begins with.
var pythonHints = map[string]string{
	"import": "scripts have their modules without an import; shared files are loaded with load(\"lib/name.star\", \"function\")",
	"from":   "scripts have their modules without an import; shared files are loaded with load(\"lib/name.star\", \"function\")",
	"try":    "Starlark has no exceptions: check first, and call fail(\"what is wrong\")",
	"except": "Starlark has no exceptions: check first, and call fail(\"what is wrong\")",
	"raise":  "call fail(\"what is wrong\")",
	"with":   "files need not be closed: use fs.read(path) and fs.write(path, content)",
	"class":  "Starlark has no classes: use dicts and functions",
	"while":  "use for i in range(…) with break",
	"assert": "write if not …: fail(\"what is wrong\")",
	"del":    "use pop, or build a new list or dict",
	"global": "values of the file cannot be changed: pass them on and return them",
	"yield":  "build a list and return it",
	"async":  "calls wait for their results: leave async and await out",
	"await":  "calls wait for their results: leave async and await out",
}

func pythonHint(line string) string {
	line = strings.TrimSpace(line)
	word := strings.FieldsFunc(line+" ", func(r rune) bool { return r < 'a' || r > 'z' })
	if len(word) > 0 && strings.HasPrefix(line, word[0]) && pythonHints[word[0]] != "" {
		return pythonHints[word[0]]
	}
	switch {
	case strings.Contains(line, ` f"`) || strings.Contains(line, ` f'`) || strings.Contains(line, `(f"`) || strings.Contains(line, `(f'`):
		return `Starlark has no f-strings: write "%s is %d" % (name, n), or "{} is {}".format(name, n)`
	case strings.Contains(line, " is not ") || strings.Contains(line, " is "):
		return "Starlark has no is: write == or !="
	}
	return ""
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
		e := value.Errorf(value.NotFound, "the file declares no tool").
			WithHint("end the file with tool(%s)", f.likelyHandler())
		e.Pos = value.Position{File: f.path}
		return nil, e
	}
	d := &script.Declaration{Word: word, Fields: &value.Dict{}, At: map[string]value.Position{}, Functions: f.parameters()}
	start, _ := call.Span()
	d.Pos = position(start)
	handler, err := f.readFields(call, d)
	if err == nil && word == script.WorkflowWord {
		err = f.isMain(call, handler)
	}
	if err != nil {
		return nil, err
	}
	return d, f.readHandler(handler, d)
}

// declares finds the one tool(…) or workflow(…) of the file; it is nil where
// there is none.
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
			return "", nil, errorAt(start, "a second %s(…) in one file", is).WithHint("write one %s a file", is)
		}
		word, call = is, c
		for _, name := range []string{word, "param", "example"} {
			if f.defs[name] != nil || f.constants[name] != nil {
				return "", nil, errorAt(start, "%s is the file's own, but it is the word that declares a %s", name, word).
					WithHint("give what the file calls %s another name", name)
			}
		}
	}
	return word, call, nil
}

// callOf returns the call in a statement that is just a call of name.
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

func (f *file) likelyHandler() string {
	name := "handler"
	for _, stmt := range f.syntax.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && !strings.HasPrefix(def.Name.Name, "_") {
			name = def.Name.Name
		}
	}
	return name
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
			return nil, errorAt(pos, "%s() takes its handler first and everything else by name", d.Word)
		}
		if name == "handler" {
			if handler != nil {
				return nil, errorAt(pos, "'handler' is given twice")
			}
			id, ok := val.(*syntax.Ident)
			if ok && f.defs[id.Name] == nil && d.Word == script.WorkflowWord && id.Name == mainName {
				return nil, f.noMain()
			}
			if !ok || f.defs[id.Name] == nil {
				return nil, errorAt(pos, "handler must be a function").WithHint("name a function that this file defines with def")
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

// paramNames returns the names of parameters, * and ** with those that have them.
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
	sig := f.functions[scan.Place{Line: int(def.Def.Line), Col: int(def.Def.Col)}]
	for _, p := range def.Params {
		if star, ok := p.(*syntax.UnaryExpr); ok && star.X == nil {
			continue // the * after which parameters are given by name, as all are
		}
		param, err := f.param(p, sig)
		if err != nil {
			return err
		}
		d.Signature = append(d.Signature, param)
	}
	if sig.returns.text != "" && sig.returns.text != "None" {
		t, err := f.annotated(sig.returns)
		if err != nil {
			return err
		}
		d.Returns = &t
	}
	d.Doc = script.ParseDocstring(docOf(def.Body))
	return nil
}

// annotated reads the type that an annotation gives.
func (f *file) annotated(a annotation) (tool.Type, error) {
	t, err := tool.ParseAnnotation(a.text)
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		e.Pos = value.Position{File: f.path, Line: a.at.Line, Col: a.at.Col}
		return t, &e
	}
	return t, nil
}

func (f *file) param(p syntax.Expr, sig signature) (script.SigParam, error) {
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
		return param, errorAt(pos, "a handler names each of its parameters: *args and **kwargs are not possible")
	}
	if a := sig.params[param.Name]; a.text != "" {
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

// literal evaluates an expression of a declaration: a literal, a name of a
// literal constant or a function of the file, or param(…) and example(…) of
// such. Nothing is run.
func (f *file) literal(x syntax.Expr, depth int) (value.Value, error) {
	pos, _ := x.Span()
	if depth == 0 {
		return nil, errorAt(pos, "nested more than %d deep", value.MaxDepth)
	}
	if f.nodes--; f.nodes < 0 { // a few constants that hold each other make a value without end
		return nil, errorAt(pos, "a declaration of more than %d values", value.MaxNodes)
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
			switch id.Name {
			case "param":
				return f.declared("param", x, script.ParamFields, depth)
			case "example":
				return f.declared("example", x, script.ExampleFields, depth)
			}
		}
	}
	return nil, errorAt(pos, "a declaration is read without running it, so this cannot be computed").
		WithHint("write the value out, or name a constant or function of this file")
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
	return nil, errorAt(x.OpPos, "a declaration is read without running it, so this cannot be computed").
		WithHint("write the value out")
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
		WithHint("a declaration is read without running it: write the value out")
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
func (f *file) declared(kind string, call *syntax.CallExpr, names []string, depth int) (value.Value, error) {
	start, _ := call.Span()
	d := script.Declared{Kind: kind, Fields: &value.Dict{}, Pos: position(start), At: map[string]value.Position{}}
	for i, arg := range call.Args {
		pos, _ := arg.Span()
		var name string
		val := arg
		switch b, ok := arg.(*syntax.BinaryExpr); {
		case ok && b.Op == syntax.EQ:
			name, val = b.X.(*syntax.Ident).Name, b.Y
		case i < len(names):
			name = names[i]
		default:
			return nil, errorAt(pos, "%s() takes at most %d arguments", kind, len(names))
		}
		if !slices.Contains(names, name) {
			return nil, errorAt(pos, "%s() has no field '%s'%s", kind, name, value.DidYouMean(name, names))
		}
		if d.Fields.Has(name) {
			return nil, errorAt(pos, "'%s' is given twice", name)
		}
		v, err := f.literal(val, depth-1)
		if err != nil {
			return nil, err
		}
		d.Fields.Put(name, v)
		d.At[name] = position(pos)
	}
	return d, nil
}

// handlerOf finds the handler in a file that has no tool(…), as the code of a
// Markdown file: its only function, or the one that is named like the tool or
// "handler".
func (f *file) handlerOf(stem string) (*syntax.DefStmt, error) {
	var names []string
	for _, stmt := range f.syntax.Stmts {
		if def, ok := stmt.(*syntax.DefStmt); ok && !strings.HasPrefix(def.Name.Name, "_") {
			names = append(names, def.Name.Name)
		}
	}
	for _, name := range []string{tool.Key(stem), "handler"} {
		if f.defs[name] != nil {
			return f.defs[name], nil
		}
	}
	if len(names) == 1 {
		return f.defs[names[0]], nil
	}
	e := value.Errorf(value.Invalid, "Code block must define a function")
	if len(names) > 1 {
		e = value.Errorf(value.Invalid, "the code defines %d functions (%s), and none is the handler by its name", len(names), strings.Join(names, ", ")).
			WithHint("name the handler %s, and begin the names of helpers with _", fmt.Sprintf("%q", tool.Key(stem)))
	}
	e.Pos = value.Position{File: f.path}
	if len(f.syntax.Stmts) > 0 {
		start, _ := f.syntax.Stmts[0].Span()
		e.Pos = position(start)
	}
	return nil, e
}
