package star

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/habits"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A callChecker finds calls of a program that certainly fail: of functions of its library, of
// modules and of Starlark, with unknown, missing or too many arguments, or with literals of the
// wrong type. What is not certain is no fault: variables, arguments from *list and **dict,
// functions that the program defines itself, and names that it has given another meaning.
type callChecker struct {
	predeclared starlark.StringDict
	modules     map[string]*tool.Func // the functions of modules, by their full names
	library     map[string]*signature // the functions of the library
	tools       map[string]*signature // by the keys of the tools that they call
	fault       func(at syntax.Position, format string, args ...any)
}

// A signature is what a function accepts.
type signature struct {
	name     string
	params   []callParam
	named    bool // it accepts any named argument
	byName   bool // all arguments must be named
	variadic bool // it accepts any number of arguments by position
}

// A callParam is a parameter of a function.
type callParam struct {
	name     string
	required bool
	param    *tool.Param // its type; nil is any
	omits    bool        // None is the same as no argument
	aliases  []string    // that the function accepts too
	others   []string    // names that it does not accept, but that mean this parameter
}

// typesLib is the library file with the types of the functions in [toolsLib], in JSON: a list of
// [codeFunction]. It is optional.
const typesLib = "tools.json"

// uncheckedLib is a library file whose presence says that the calls of a program are checked only
// as they are made: for programs that have made some of them.
const uncheckedLib = "unchecked"

// A codeFunction describes a function of a library that calls a tool.
type codeFunction struct {
	Function string      `json:"function"`
	Tool     string      `json:"tool"`
	Params   []codeParam `json:"params"`
	More     bool        `json:"more"` // the tool accepts any argument
}

// A codeParam is a parameter of a codeFunction. Name is that of the function.
type codeParam struct {
	Name  string     `json:"name"`
	Param tool.Param `json:"param"`
}

// newCallChecker returns the checker of programs with a library.
func (l *Code) newCallChecker(predeclared starlark.StringDict, libs map[string]string) (*callChecker, error) {
	k := &callChecker{predeclared: predeclared, modules: l.star.functions, library: map[string]*signature{}, tools: map[string]*signature{}}
	if text, ok := libs[typesLib]; ok {
		if err := k.readTypes(text); err != nil {
			return nil, err
		}
	}
	if _, ok := libs[toolsLib]; !ok {
		return k, nil
	}
	lib, err := l.star.libsOf(libs).get(toolsLib)
	if err != nil {
		return nil, err
	}
	for name, def := range lib.file.defs {
		if k.library[name] == nil {
			k.library[name] = signatureOf(def)
		}
	}
	return k, nil
}

// readTypes reads the types of the library.
func (k *callChecker) readTypes(text string) error {
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		return value.Errorf(value.Invalid, "%s: %w", typesLib, err)
	}
	list, err := value.ToGo[[]codeFunction](v)
	if err != nil {
		return value.Errorf(value.Invalid, "%s: %w", typesLib, err)
	}
	for _, f := range list {
		s := &signature{name: f.Function, named: f.More}
		t := &signature{name: "tools." + f.Function, named: f.More, byName: true}
		for i := range f.Params {
			p := &f.Params[i]
			own := callParam{name: p.Name, required: p.Param.Required, param: &p.Param, omits: !p.Param.Required, others: p.Param.Aliases}
			if p.Name != p.Param.Name {
				own.others = append([]string{p.Param.Name}, own.others...)
			}
			s.params = append(s.params, own)
			t.params = append(t.params, callParam{name: p.Param.Name, required: p.Param.Required, param: &p.Param, omits: !p.Param.Required, aliases: p.Param.Aliases})
		}
		k.library[f.Function], k.tools[tool.Key(f.Tool)] = s, t
	}
	return nil
}

// signatureOf returns the signature of a function of Starlark.
func signatureOf(def *syntax.DefStmt) *signature {
	s := &signature{name: def.Name.Name}
	onlyNamed := false
	for _, p := range def.Params {
		switch p := p.(type) {
		case *syntax.Ident:
			s.params = append(s.params, callParam{name: p.Name, required: true})
		case *syntax.BinaryExpr:
			if id, ok := p.X.(*syntax.Ident); ok {
				s.params = append(s.params, callParam{name: id.Name})
			}
		case *syntax.UnaryExpr:
			s.named = s.named || p.Op == syntax.STARSTAR
			onlyNamed = onlyNamed || p.Op == syntax.STAR
		}
	}
	if onlyNamed { // *args, or parameters that must be named: how many are by position is not counted
		s.variadic = true
		for i := range s.params {
			s.params[i].required = false
		}
	}
	return s
}

// check finds the faults of a resolved program.
func (k *callChecker) check(tree *syntax.File) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok {
			k.call(call)
		}
		return true
	})
}

// call checks one call.
func (k *callChecker) call(c *syntax.CallExpr) {
	if id, ok := c.Fn.(*syntax.Ident); ok && scopeOf(id) == resolve.Universal {
		k.universal(id.Name, c)
		return
	}
	args := c.Args
	switch {
	case k.isAttempt(c.Fn):
		if len(args) == 0 {
			k.fault(start(c), "attempt needs a function, as in attempt(f, x)")
			return
		}
		if _, ok := constantOf(args[0]); ok {
			k.fault(start(args[0]), "the first argument of attempt should be a function: write attempt(f, x)")
			return
		}
		if s := k.signature(args[0]); s != nil {
			k.arguments(s, start(c), args[1:])
		}
	case k.isToolsCall(c.Fn):
		if s := k.named(args); s != nil {
			k.arguments(s, start(c), args[1:])
		}
	default:
		k.unknownTool(c.Fn)
		k.unknownMethod(c.Fn)
		if s := k.signature(c.Fn); s != nil {
			k.arguments(s, start(c), args)
		}
	}
}

// unknownTool checks a call of tools.NAME. Without a similar name, the refusal of the call says more.
func (k *callChecker) unknownTool(x syntax.Expr) {
	dot, ok := x.(*syntax.DotExpr)
	if !ok || k.module(dot.X) != "tools" || k.modules["tools."+dot.Name.Name] != nil || k.tools[tool.Key(dot.Name.Name)] != nil {
		return
	}
	if did := value.DidYouMean(dot.Name.Name, slices.Sorted(maps.Keys(k.tools))); did != "" {
		k.fault(dot.Name.NamePos, "unknown tool %q%s", dot.Name.Name, did)
	}
}

// unknownMethod checks a call of a method of a value that is written out. Methods of Python that
// have a replacement are found elsewhere.
func (k *callChecker) unknownMethod(x syntax.Expr) {
	dot, ok := x.(*syntax.DotExpr)
	if !ok || habits.Advice(k.predeclared, "."+dot.Name.Name) != "" {
		return
	}
	var of starlark.HasAttrs
	switch x := dot.X.(type) {
	case *syntax.Literal:
		if x.Token == syntax.STRING {
			of = starlark.String("")
		}
	case *syntax.ListExpr:
		of = starlark.NewList(nil)
	case *syntax.DictExpr:
		of = starlark.NewDict(0)
	}
	if of == nil || slices.Contains(of.AttrNames(), dot.Name.Name) {
		return
	}
	k.fault(dot.Name.NamePos, "a %s has no method %s%s", of.Type(), dot.Name.Name, value.DidYouMean(dot.Name.Name, of.AttrNames()))
}

// isAttempt reports whether an expression is the function attempt.
func (k *callChecker) isAttempt(x syntax.Expr) bool {
	id, ok := x.(*syntax.Ident)
	return ok && id.Name == attemptName && scopeOf(id) == resolve.Predeclared
}

// isToolsCall reports whether an expression is the function tools.call, which calls a tool by its
// name.
func (k *callChecker) isToolsCall(x syntax.Expr) bool {
	dot, ok := x.(*syntax.DotExpr)
	return ok && dot.Name.Name == "call" && k.module(dot.X) == "tools"
}

// named returns the signature of the tool that tools.call calls, or nil.
func (k *callChecker) named(args []syntax.Expr) *signature {
	if len(args) == 0 {
		return nil
	}
	name, ok := constantOf(args[0])
	text, isText := name.(string)
	if !ok || !isText {
		return nil
	}
	return k.tools[tool.Key(text)]
}

// signature returns the signature of the function that an expression certainly is, or nil.
func (k *callChecker) signature(x syntax.Expr) *signature {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return k.signature(x.X)
	case *syntax.Ident:
		if scopeOf(x) != resolve.Predeclared {
			return nil
		}
		if s := k.library[x.Name]; s != nil {
			return s
		}
		return rowSignature(k.modules[x.Name], x.Name)
	case *syntax.DotExpr:
		module := k.module(x.X)
		if module == "" {
			return nil
		}
		full := module + "." + x.Name.Name
		if row := k.modules[full]; row != nil {
			return rowSignature(row, full)
		}
		if module == "tools" {
			return k.tools[tool.Key(x.Name.Name)]
		}
	}
	return nil
}

// module returns the name of the module that an expression is, or "".
func (k *callChecker) module(x syntax.Expr) string {
	id, ok := x.(*syntax.Ident)
	if !ok || scopeOf(id) != resolve.Predeclared {
		return ""
	}
	if _, ok := k.predeclared[id.Name].(*starModule); !ok {
		return ""
	}
	return id.Name
}

func scopeOf(id *syntax.Ident) resolve.Scope {
	if b, _ := id.Binding.(*resolve.Binding); b != nil {
		return b.Scope
	}
	return resolve.Undefined
}

// rowSignature returns the signature of a function of a module, or nil.
func rowSignature(f *tool.Func, name string) *signature {
	if f == nil || f.Mode == tool.ModeOther {
		return nil
	}
	s := &signature{name: name, named: f.Rest != "", variadic: f.Mode == tool.ModeVariadic}
	for i := range f.Params {
		p := &f.Params[i]
		own := callParam{name: p.Name, required: p.Required, param: p, omits: !p.Required, aliases: p.Aliases}
		if s.variadic {
			own.param = nil // the first one gets a list of all arguments
		}
		s.params = append(s.params, own)
	}
	return s
}

// start returns the position of an expression.
func start(x syntax.Expr) syntax.Position {
	at, _ := x.Span()
	return at
}

// A given is what a call gives: which parameters have an argument, and what is unknown.
type given struct {
	params           map[string]bool
	positional       int
	anyPlace, anyKey bool // *list and **dict are among the arguments
}

// arguments checks the arguments of a call. at is the position of the call.
func (k *callChecker) arguments(s *signature, at syntax.Position, args []syntax.Expr) {
	g := given{params: map[string]bool{}}
	for _, arg := range args {
		switch x := arg.(type) {
		case *syntax.UnaryExpr:
			g.anyPlace, g.anyKey = g.anyPlace || x.Op == syntax.STAR, g.anyKey || x.Op == syntax.STARSTAR
			if x.Op != syntax.STAR && x.Op != syntax.STARSTAR {
				k.positional(s, &g, arg)
			}
		case *syntax.BinaryExpr:
			if id, ok := x.X.(*syntax.Ident); ok && x.Op == syntax.EQ {
				k.keyword(s, &g, id, x.Y)
				continue
			}
			k.positional(s, &g, arg)
		default:
			k.positional(s, &g, arg)
		}
	}
	switch {
	case s.byName && g.positional > 0:
		k.fault(at, "the arguments of %s must be named, as in %s(name = value)", s.name, s.name)
	case g.positional > len(s.params) && !s.variadic:
		k.fault(at, "%s accepts at most %d arguments, but got %d", s.name, len(s.params), g.positional)
	}
	k.missing(s, &g, at)
}

func (k *callChecker) positional(s *signature, g *given, arg syntax.Expr) {
	i := g.positional
	g.positional++
	if i >= len(s.params) || s.byName || s.variadic {
		return
	}
	g.params[s.params[i].name] = true
	k.literal(s, &s.params[i], arg)
}

func (k *callChecker) keyword(s *signature, g *given, id *syntax.Ident, arg syntax.Expr) {
	i := slices.IndexFunc(s.params, func(p callParam) bool { return p.name == id.Name })
	if i < 0 {
		i = slices.IndexFunc(s.params, func(p callParam) bool { return slices.Contains(p.aliases, id.Name) })
	}
	switch {
	case i < 0 && s.named:
	case i < 0:
		meant, text := s.suggestion(id.Name)
		g.params[meant] = true // one slip is one fault
		k.fault(id.NamePos, "%s has no parameter %q%s", s.name, id.Name, text)
	case g.params[s.params[i].name] && s.named && !s.byName: // further arguments may have the name
	case g.params[s.params[i].name]:
		k.fault(id.NamePos, "%s gets the argument %q twice", s.name, s.params[i].name)
	default:
		g.params[s.params[i].name] = true
		k.literal(s, &s.params[i], arg)
	}
}

// suggestion suggests a parameter for a name that is none. meant is the parameter, or "".
func (s *signature) suggestion(name string) (meant, text string) {
	names := make([]string, len(s.params))
	for i, p := range s.params {
		names[i] = p.name
		if slices.Contains(p.others, name) {
			return p.name, "; write " + p.name
		}
	}
	if len(names) == 0 {
		return "", ": it has no parameters"
	}
	if meant = value.Nearest(name, names); meant != "" {
		return meant, value.DidYouMean(name, names)
	}
	return "", ": it has " + strings.Join(names, ", ")
}

// missing checks that the required arguments are given.
func (k *callChecker) missing(s *signature, g *given, at syntax.Position) {
	if g.anyPlace || g.anyKey || s.variadic && g.positional > 0 || s.byName && g.positional > 0 {
		return
	}
	var names []string
	for _, p := range s.params {
		if p.required && !g.params[p.name] {
			names = append(names, p.name)
		}
	}
	if len(names) > 0 {
		k.fault(at, "%s lacks the required argument%s %s", s.name, map[bool]string{true: "s"}[len(names) > 1], strings.Join(names, ", "))
	}
}

// literal checks an argument that is a literal.
func (k *callChecker) literal(s *signature, p *callParam, arg syntax.Expr) {
	v, ok := constantOf(arg)
	if !ok || p.param == nil || v == nil && p.omits {
		return
	}
	own := *p.param
	own.Name = p.name
	_, err := (&tool.Func{Params: []tool.Param{own}}).Bind([]value.Value{v}, nil)
	if err != nil {
		k.fault(start(arg), "%s: %s", s.name, value.ErrorOf(err, value.Invalid).Message())
	}
}

// constantOf returns the value of an expression that is written out in full.
func constantOf(x syntax.Expr) (v value.Value, ok bool) {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return constantOf(x.X)
	case *syntax.Literal:
		switch v := x.Value.(type) {
		case *big.Int:
			return value.Integer(v), true
		case int64, float64:
			return v, true
		case string:
			return v, x.Token == syntax.STRING
		}
	case *syntax.Ident:
		return constant(x)
	case *syntax.UnaryExpr:
		return negative(x)
	case *syntax.ListExpr:
		return elements(x.List)
	case *syntax.DictExpr:
		return dict(x)
	}
	return nil, false
}

func constant(id *syntax.Ident) (value.Value, bool) {
	if scopeOf(id) != resolve.Universal {
		return nil, false
	}
	switch id.Name {
	case "None":
		return nil, true
	case "True", "False":
		return id.Name == "True", true
	}
	return nil, false
}

func negative(x *syntax.UnaryExpr) (value.Value, bool) {
	v, ok := constantOf(x.X)
	if !ok || x.Op != syntax.MINUS {
		return nil, false
	}
	switch v := v.(type) {
	case int64:
		return -v, true
	case float64:
		return -v, true
	}
	return nil, false
}

func elements(list []syntax.Expr) (value.Value, bool) {
	values := make(value.List, len(list))
	for i, x := range list {
		v, ok := constantOf(x)
		if !ok {
			return nil, false
		}
		values[i] = v
	}
	return values, true
}

func dict(x *syntax.DictExpr) (value.Value, bool) {
	d := &value.Dict{}
	for _, x := range x.List {
		entry, isEntry := x.(*syntax.DictEntry)
		if !isEntry {
			return nil, false
		}
		key, ok := constantOf(entry.Key)
		v, also := constantOf(entry.Value)
		text, isText := key.(string)
		if !ok || !also || !isText || d.Has(text) {
			return nil, false
		}
		d.Put(text, v)
	}
	return d, true
}

// universalArgs are the fewest and the most arguments of the functions of Starlark that have
// bounds, of https://github.com/bazelbuild/starlark/blob/master/spec.md#built-in-constants-and-functions.
var universalArgs = map[string][2]int{
	"abs": {1, 1}, "all": {1, 1}, "any": {1, 1}, "bool": {0, 1}, "bytes": {1, 1}, "chr": {1, 1}, "dir": {1, 1},
	"enumerate": {1, 2}, "float": {0, 1}, "getattr": {2, 3}, "hasattr": {2, 2}, "hash": {1, 1}, "int": {1, 2}, "len": {1, 1},
	"list": {0, 1}, "ord": {1, 1}, "range": {1, 3}, "repr": {1, 1}, "reversed": {1, 1}, "set": {0, 1}, "sorted": {1, 3},
	"str": {1, 1}, "tuple": {0, 1}, "type": {1, 1},
}

// universalNames are the arguments that may be named, of functions that accept no others.
var universalNames = map[string][]string{"int": {"x", "base"}, "sorted": {"iterable", "key", "reverse"}, "max": {"key"}, "min": {"key"}}

// universal checks a call of a function of Starlark.
func (k *callChecker) universal(name string, c *syntax.CallExpr) {
	unknown := false
	for _, arg := range c.Args {
		if x, ok := arg.(*syntax.UnaryExpr); ok && (x.Op == syntax.STAR || x.Op == syntax.STARSTAR) {
			unknown = true
		}
		if x, ok := arg.(*syntax.BinaryExpr); ok && x.Op == syntax.EQ {
			id, _ := x.X.(*syntax.Ident)
			if names, known := universalNames[name]; known && id != nil && !slices.Contains(names, id.Name) {
				k.fault(id.NamePos, "%s has no parameter %q%s", name, id.Name, value.DidYouMean(id.Name, names))
			}
		}
	}
	bounds, known := universalArgs[name]
	switch n := len(c.Args); {
	case !known || unknown:
	case n < bounds[0]:
		k.fault(start(c), "%s needs %s, but got %d", name, arguments("at least", bounds[0], bounds[0] == bounds[1]), n)
	case n > bounds[1]:
		k.fault(start(c), "%s accepts %s, but got %d", name, arguments("at most", bounds[1], bounds[0] == bounds[1]), n)
	}
}

// arguments describes a number of arguments.
func arguments(bound string, n int, exactly bool) string {
	if exactly {
		bound = "exactly"
	}
	if n == 1 {
		return bound + " 1 argument"
	}
	return fmt.Sprintf("%s %d arguments", bound, n)
}

// functionsOf returns the functions of modules by their full names.
func functionsOf(modules []script.Module) map[string]*tool.Func {
	functions := map[string]*tool.Func{}
	for _, m := range modules {
		for _, f := range m.Funcs {
			functions[f.DisplayName()] = f.Func
		}
	}
	return functions
}
