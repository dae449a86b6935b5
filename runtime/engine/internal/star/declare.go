package star

import (
	"errors"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
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
	faults     []error                    // of the declaration
	hidden     map[string]bool            // the words in parts that do not parse and were left out
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
	return newFile(path, stripped.Text, tree, stripped.Functions), nil
}

// newFile returns a file with its functions and constants.
func newFile(path, text string, tree *syntax.File, signatures map[scan.Position]scan.Signature) *file {
	f := &file{path: path, text: text, syntax: tree, signatures: signatures,
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
	return f
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
	d.DocHint = `describe in the first line of the handler what the tool does and when to use it: """TEXT"""`
	handler := f.readFields(call, d)
	if handler != nil {
		if word == script.WorkflowWord {
			f.fault(f.isMain(call, handler))
		}
		f.readHandler(handler, d)
	}
	if len(f.faults) > 0 {
		return d, f.faults[0]
	}
	return d, nil
}

// errHidden means that a name may be defined in a part of the file that does not parse.
var errHidden = errors.New("the name may be in a part that does not parse")

// fault records a fault of the declaration, unless err is nil or follows from a part that does not parse.
func (f *file) fault(err error) {
	if err != nil && !errors.Is(err, errHidden) {
		f.faults = append(f.faults, err)
	}
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

// readFields reads the arguments of tool(…) and returns its handler, or nil.
func (f *file) readFields(call *syntax.CallExpr, d *script.Declaration) *syntax.DefStmt {
	var handler *syntax.DefStmt
	wrong := false // whether a handler is given that is not a function
	for i, arg := range call.Args {
		pos, _ := arg.Span()
		name, val := "handler", arg
		if b, ok := arg.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			name, val = b.X.(*syntax.Ident).Name, b.Y
		} else if i > 0 {
			f.fault(errorAt(pos, "%s() takes one positional argument, the handler; pass everything else by name", d.Word))
			continue
		}
		if name == "handler" {
			if handler != nil {
				f.fault(errorAt(pos, "'handler' is given twice"))
				continue
			}
			id, ok := val.(*syntax.Ident)
			if ok && f.defs[id.Name] == nil && d.Word == script.WorkflowWord && id.Name == scan.MainName {
				wrong = true
				f.fault(f.noMain())
				continue
			}
			if ok && f.defs[id.Name] == nil && f.hidden[id.Name] {
				wrong = true
				continue
			}
			if !ok || f.defs[id.Name] == nil {
				wrong = true
				f.fault(errorAt(pos, "handler must be a function").WithHint("pass a function that this file defines with def"))
				continue
			}
			handler = f.defs[id.Name]
			continue
		}
		if d.Fields.Has(name) {
			f.fault(errorAt(pos, "'%s' is given twice", name))
			continue
		}
		v, err := f.literal(val, value.MaxDepth)
		if err != nil {
			f.fault(err)
			continue
		}
		d.Fields.Put(name, v)
		d.At[name] = position(pos)
		if id, ok := val.(*syntax.Ident); ok {
			val = f.constants[id.Name]
		}
		if list, ok := val.(*syntax.ListExpr); ok {
			for _, x := range list.List {
				start, _ := x.Span()
				d.Elements[name] = append(d.Elements[name], position(start))
			}
		}
	}
	if handler == nil && !wrong {
		f.fault(errorAt(call.Lparen, "%s() has no handler", d.Word).WithHint("write %s(%s, …)", d.Word, f.likelyHandler()))
	}
	return handler
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
func (f *file) readHandler(def *syntax.DefStmt, d *script.Declaration) {
	d.Handler, d.Signed = def.Name.Name, true
	sig := f.signatureOf(def)
	for _, p := range def.Params {
		if star, ok := p.(*syntax.UnaryExpr); ok && star.X == nil {
			continue // the * before keyword-only parameters: all are passed by name
		}
		param, err := f.param(p, sig)
		f.fault(err)
		if param.Name != "" {
			d.Signature = append(d.Signature, param)
		}
	}
	if sig.Returns.Text != "" && sig.Returns.Text != "None" {
		t, err := f.annotated(sig.Returns)
		f.fault(err)
		if err == nil {
			d.Returns = &t
		}
	}
	d.Doc = script.ParseDocstring(docOf(def.Body))
}

// signatureOf returns the annotations of a function.
func (f *file) signatureOf(def *syntax.DefStmt) scan.Signature {
	return f.signatures[scan.Position{Line: int(def.Def.Line), Col: int(def.Def.Col)}]
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
	if f.hidden[x.Name] {
		return nil, errHidden
	}
	err := errorAt(x.NamePos, "%s is not a constant or function of this file", x.Name)
	if slices.Contains([]string{"int", "str", "float", "bool", "list", "dict"}, x.Name) {
		return nil, err.WithHint("write the type as a text: %q", x.Name)
	}
	return nil, err.WithHint("write the value: the declaration is read without running the file")
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
