// Package starlint finds faults in programs in Starlark.
package starlint

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Calls finds calls of a program that certainly fail: of functions of its library, of
// modules and of Starlark, with unknown, missing or too many arguments, or with literals of the
// wrong type. What is not certain is no fault: variables, arguments from *list and **dict,
// functions that the program defines itself, and names that it has given another meaning.
type Calls struct {
	Predeclared starlark.StringDict
	Modules     map[string]bool            // which names of Predeclared are modules
	Functions   map[string]*tool.Func      // the functions of modules, by their full names
	Library     map[string]*lint.Signature // other functions, by their names
	Tools       map[string]*lint.Signature // by the keys of the tools that they call; nil accepts anything
	Attempt     string                     // the function that calls another one
	AllTools    bool                       // there are no tools besides Tools
	Fault       func(lint.Fault)
	Value       func(id *syntax.Ident) syntax.Expr // the only value of a variable, or nil; or Value is nil
	Tested      func(id *syntax.Ident) bool        // the file tests the type of a variable; or Tested is nil
	Params      map[*syntax.Ident]starlark.Value   // values of the types of parameters whose types the host checks
	own         map[string]*lint.Signature         // functions of the top level of the file
	passed      map[*syntax.Ident]string           // the modules that parameters have
}

// Own adds a function of the top level of the file, which has no other value.
func (k *Calls) Own(name string, s *lint.Signature) {
	if k.own == nil {
		k.own = map[string]*lint.Signature{}
	}
	k.own[name] = s
}

// SignatureOf returns the signature of a function of Starlark.
func SignatureOf(def *syntax.DefStmt) *lint.Signature {
	s := &lint.Signature{Name: def.Name.Name}
	onlyNamed := false
	for _, p := range def.Params {
		switch p := p.(type) {
		case *syntax.Ident:
			s.Params = append(s.Params, lint.Param{Name: p.Name, Required: true})
		case *syntax.BinaryExpr:
			if id, ok := p.X.(*syntax.Ident); ok {
				s.Params = append(s.Params, lint.Param{Name: id.Name})
			}
		case *syntax.UnaryExpr:
			s.Named = s.Named || p.Op == syntax.STARSTAR
			onlyNamed = onlyNamed || p.Op == syntax.STAR
		}
	}
	if onlyNamed { // *args, or parameters that must be named: how many are by position is not counted
		s.Variadic = true
		for i := range s.Params {
			s.Params[i].Required = false
		}
	}
	return s
}

// Check finds the faults of a resolved program.
func (k *Calls) Check(tree syntax.Node) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			k.call(n)
		case *syntax.DotExpr:
			k.ofModule(n)
		}
		return true
	})
}

func (k *Calls) fault(at lint.Range, code, format string, args ...any) {
	k.Fault(lint.Fault{At: at, Code: code, Message: fmt.Sprintf(format, args...)})
}

// RangeOf returns the range of a node.
func RangeOf(n syntax.Node) lint.Range {
	start, end := n.Span()
	return lint.Range{Start: PosOf(start), End: PosOf(end)}
}

// PosOf returns a position.
func PosOf(p syntax.Position) lint.Pos { return lint.Pos{Line: int(p.Line), Col: int(p.Col)} }

// at returns the range of the word at a position.
func at(p syntax.Position) lint.Range { return lint.Range{Start: PosOf(p)} }

// calleeOf returns the range of what a call calls.
func calleeOf(c *syntax.CallExpr) lint.Range { return RangeOf(c.Fn) }

// call checks one call.
func (k *Calls) call(c *syntax.CallExpr) {
	if id, ok := c.Fn.(*syntax.Ident); ok && ScopeOf(id) == resolve.Universal {
		k.universal(id.Name, c)
		return
	}
	args := c.Args
	switch {
	case k.isAttempt(c.Fn):
		if len(args) == 0 {
			k.fault(calleeOf(c), diagnostic.MissingArgument, "attempt needs a function, as in attempt(f, x)")
			return
		}
		if _, ok := ConstantOf(args[0]); ok {
			k.fault(RangeOf(args[0]), diagnostic.ArgumentType, "the first argument of attempt should be a function: write attempt(f, x)")
			return
		}
		if s := k.signature(args[0]); s != nil {
			k.arguments(s, calleeOf(c), args[1:])
		}
	case k.isToolsCall(c.Fn):
		if len(args) > 0 {
			k.named(c, args)
		}
	case k.isToolsCallAll(c.Fn) && len(args) == 1:
		k.listed(args[0])
		fallthrough
	default:
		k.unknownTool(c.Fn)
		if s := k.signature(c.Fn); s != nil {
			k.arguments(s, calleeOf(c), args)
		}
	}
}

// unknownTool checks a call of tools.NAME. Without a similar name, the refusal of the call says more.
func (k *Calls) unknownTool(x syntax.Expr) {
	dot, ok := x.(*syntax.DotExpr)
	if !ok || k.module(dot.X) != "tools" || k.Functions["tools."+dot.Name.Name] != nil {
		return
	}
	k.checkTool(at(dot.Name.NamePos), dot.Name.Name, func(meant string) string { return tool.Key(meant) })
}

// checkTool checks the name of a tool that is called.
func (k *Calls) checkTool(at lint.Range, name string, written func(meant string) string) {
	if _, known := k.Tools[tool.Key(name)]; known || lint.OfUnknownServer(name, k.Tools) {
		return
	}
	names := slices.Sorted(maps.Keys(k.Tools))
	similar := value.DidYouMean(tool.Key(name), names)
	if similar == "" && !k.AllTools {
		return
	}
	f := lint.Fault{At: at, Code: diagnostic.UnknownTool, Message: fmt.Sprintf("unknown tool %q%s", name, similar)}
	if meant := lint.Meant(tool.Key(name), names); meant != "" {
		f.Rename = written(meant)
	} else if similar == "" {
		f.Hint = "list the tools: cassidy tool list"
	}
	k.Fault(f)
}

// isAttempt reports whether an expression is the function attempt.
func (k *Calls) isAttempt(x syntax.Expr) bool {
	id, ok := x.(*syntax.Ident)
	return ok && id.Name == k.Attempt && ScopeOf(id) == resolve.Predeclared
}

// isToolsCall reports whether an expression is the function tools.call, which calls a tool by its
// name.
func (k *Calls) isToolsCall(x syntax.Expr) bool { return k.isOfTools(x, "call") }

// isToolsCallAll reports whether an expression is the function tools.call_all, which calls several tools.
func (k *Calls) isToolsCallAll(x syntax.Expr) bool { return k.isOfTools(x, "call_all") }

func (k *Calls) isOfTools(x syntax.Expr, function string) bool {
	dot, ok := x.(*syntax.DotExpr)
	return ok && dot.Name.Name == function && k.module(dot.X) == "tools"
}

// named checks the call that tools.call makes, if its first argument is a name.
func (k *Calls) named(c *syntax.CallExpr, args []syntax.Expr) {
	if s := k.toolNamed(args[0]); s != nil {
		k.arguments(s, calleeOf(c), args[1:])
	}
}

// toolNamed checks an expression that is the name of a tool. It returns what the tool accepts, or nil.
func (k *Calls) toolNamed(x syntax.Expr) *lint.Signature {
	name, _ := ConstantOf(x)
	text, ok := name.(string)
	if !ok {
		return nil
	}
	if k.AllTools {
		k.checkTool(RangeOf(x), text, func(meant string) string { return fmt.Sprintf("%q", meant) })
	}
	return k.Tools[tool.Key(text)]
}

// listed checks the calls that tools.call_all makes: pairs of a name and arguments, in a list or a
// comprehension.
func (k *Calls) listed(calls syntax.Expr) {
	var pairs []syntax.Expr
	switch x := calls.(type) {
	case *syntax.ListExpr:
		pairs = x.List
	case *syntax.Comprehension:
		pairs = []syntax.Expr{x.Body}
	}
	for _, x := range pairs {
		pair := partsOf(x)
		if len(pair) == 0 || len(pair) > 2 {
			continue
		}
		s := k.toolNamed(pair[0])
		if s == nil {
			continue
		}
		call := lint.Call{At: RangeOf(pair[0]), Fault: k.Fault}
		if len(pair) == 2 {
			d, ok := pair[1].(*syntax.DictExpr)
			if !ok {
				continue
			}
			call.Args = entriesOf(d)
		}
		s.Check(call)
	}
}

// partsOf returns the elements of a tuple or a list.
func partsOf(x syntax.Expr) []syntax.Expr {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return partsOf(x.X)
	case *syntax.TupleExpr:
		return x.List
	case *syntax.ListExpr:
		return x.List
	}
	return nil
}

// entriesOf returns the entries of a dict as named arguments.
func entriesOf(d *syntax.DictExpr) []lint.Arg {
	args := make([]lint.Arg, 0, len(d.List))
	seen := map[string]bool{} // a key that is given twice is reported as such
	for _, x := range d.List {
		entry := x.(*syntax.DictEntry)
		a := lint.Arg{At: RangeOf(entry.Value)}
		a.Value, a.Known = ConstantOf(entry.Value)
		if key, ok := entry.Key.(*syntax.Literal); ok && isPlainText(key) {
			a.Name, a.NameAt = key.Value.(string), lint.Range{Start: PosOf(key.TokenPos)}
			a.NameAt.Start.Col++ // the text in the quotes
			a.NameAt.End = lint.Pos{Line: a.NameAt.Start.Line, Col: a.NameAt.Start.Col + utf8.RuneCountInString(a.Name)}
		} else {
			a = lint.Arg{At: RangeOf(entry), Dict: true}
		}
		if a.Dict || !seen[a.Name] {
			args = append(args, a)
		}
		seen[a.Name] = true
	}
	return args
}

// isPlainText reports whether a literal is a text in quotes, which are one character each.
func isPlainText(x *syntax.Literal) bool {
	text, ok := x.Value.(string)
	return ok && text != "" && x.Token == syntax.STRING && len(x.Raw) == len(text)+2
}

// signature returns the signature of the function that an expression certainly is, or nil.
func (k *Calls) signature(x syntax.Expr) *lint.Signature {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return k.signature(x.X)
	case *syntax.Ident:
		switch ScopeOf(x) {
		case resolve.Global:
			return k.own[x.Name]
		case resolve.Predeclared:
			if s := k.Library[x.Name]; s != nil {
				return s
			}
			return lint.RowSignature(k.Functions[x.Name], x.Name)
		}
	case *syntax.DotExpr:
		module := k.module(x.X)
		if module == "" {
			return nil
		}
		full := module + "." + x.Name.Name
		if row := k.Functions[full]; row != nil {
			return lint.RowSignature(row, full)
		}
		if module == "tools" {
			return k.Tools[tool.Key(x.Name.Name)]
		}
	}
	return nil
}

// module returns the name of the module that an expression is, or "".
func (k *Calls) module(x syntax.Expr) string {
	id, ok := x.(*syntax.Ident)
	if !ok {
		return ""
	}
	if ScopeOf(id) == resolve.Predeclared && k.Modules[id.Name] {
		return id.Name
	}
	return k.passed[bindingOf(id)]
}

// ScopeOf returns the scope of a name in a resolved program.
func ScopeOf(id *syntax.Ident) resolve.Scope {
	if b, _ := id.Binding.(*resolve.Binding); b != nil {
		return b.Scope
	}
	return resolve.Undefined
}

// arguments checks the arguments of a call.
func (k *Calls) arguments(s *lint.Signature, at lint.Range, args []syntax.Expr) {
	s.Check(lint.Call{At: at, Args: Args(args), Fault: k.Fault})
}

// Args returns the arguments of a call.
func Args(list []syntax.Expr) []lint.Arg {
	args := make([]lint.Arg, len(list))
	for i, x := range list {
		a := &args[i]
		a.At = RangeOf(x)
		switch b := x.(type) {
		case *syntax.UnaryExpr:
			a.List, a.Dict = b.Op == syntax.STAR, b.Op == syntax.STARSTAR
		case *syntax.BinaryExpr:
			if id, ok := b.X.(*syntax.Ident); ok && b.Op == syntax.EQ {
				a.Name, a.NameAt, a.At = id.Name, RangeOf(id), RangeOf(b.Y)
				x = b.Y
			}
		}
		if !a.List && !a.Dict {
			a.Value, a.Known = ConstantOf(x)
		}
	}
	return args
}

// ConstantOf returns the value of an expression that is written out in full.
func ConstantOf(x syntax.Expr) (v value.Value, ok bool) {
	switch x := x.(type) {
	case *syntax.ParenExpr:
		return ConstantOf(x.X)
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
	if ScopeOf(id) != resolve.Universal {
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
	v, ok := ConstantOf(x.X)
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
		v, ok := ConstantOf(x)
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
		key, ok := ConstantOf(entry.Key)
		v, also := ConstantOf(entry.Value)
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
func (k *Calls) universal(name string, c *syntax.CallExpr) {
	unknown := false
	for _, arg := range c.Args {
		if x, ok := arg.(*syntax.UnaryExpr); ok && (x.Op == syntax.STAR || x.Op == syntax.STARSTAR) {
			unknown = true
		}
		if x, ok := arg.(*syntax.BinaryExpr); ok && x.Op == syntax.EQ {
			id, _ := x.X.(*syntax.Ident)
			if names, known := universalNames[name]; known && id != nil && !slices.Contains(names, id.Name) {
				k.fault(at(id.NamePos), diagnostic.UnknownArgument, "%s has no parameter %q%s", name, id.Name, value.DidYouMean(id.Name, names))
			}
		}
	}
	bounds, known := universalArgs[name]
	switch n := len(c.Args); {
	case !known || unknown:
	case n < bounds[0]:
		k.fault(calleeOf(c), diagnostic.MissingArgument, "%s needs %s, but got %d", name, arguments("at least", bounds[0], bounds[0] == bounds[1]), n)
	case n > bounds[1]:
		k.fault(calleeOf(c), diagnostic.ManyArguments, "%s accepts %s, but got %d", name, arguments("at most", bounds[1], bounds[0] == bounds[1]), n)
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
