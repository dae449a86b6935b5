package starlint

import (
	"fmt"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
)

// A how says how a name gets its value.
type how uint8

const (
	assigned how = iota // name = value
	looped              // by a loop, or as a part of a tuple
	defined             // def name
	parameter
	loaded
)

// A variable is a name with a binding, and what is done with it.
type variable struct {
	first  *syntax.Ident
	writes []*syntax.Ident
	how    map[how]bool
	reads  int
	called int // how many of the reads call it
	local  bool
	def    *syntax.DefStmt // if it is a function
	value  syntax.Expr     // that was assigned last
	adds   []*syntax.Ident // where it is changed by its own value, as by +=
	tested bool            // type(…) gets it
}

// A Names has the names of a resolved file.
type Names struct {
	vars   map[*syntax.Ident]*variable // by the first binding use
	order  []*variable
	params map[*syntax.DefStmt][]*variable
	loads  map[*syntax.Ident]loadItem
	reads  map[*syntax.DefStmt]map[string]bool // the global names that a function of the top level reads
	top    *syntax.DefStmt                     // the function of the top level that is being walked
}

// A loadItem is a name of a load statement.
type loadItem struct {
	stmt *syntax.LoadStmt
	at   int
}

// NamesOf collects the names of a resolved file.
func NamesOf(tree *syntax.File) *Names {
	n := &Names{vars: map[*syntax.Ident]*variable{}, params: map[*syntax.DefStmt][]*variable{},
		loads: map[*syntax.Ident]loadItem{}, reads: map[*syntax.DefStmt]map[string]bool{}}
	for _, stmt := range tree.Stmts {
		n.top, _ = stmt.(*syntax.DefStmt)
		n.walk(stmt)
	}
	return n
}

// walk collects the names below a node.
func (n *Names) walk(root syntax.Node) {
	writes := map[*syntax.Ident]bool{}
	callees := map[*syntax.Ident]bool{}
	write := func(id *syntax.Ident, h how) *variable {
		writes[id] = true
		v := n.variable(id)
		if v != nil {
			v.writes = append(v.writes, id)
			v.how[h] = true
		}
		return v
	}
	targets := func(x syntax.Expr, h how) {
		eachTarget(x, h, func(id *syntax.Ident, h how) { write(id, h) })
	}
	syntax.Walk(root, func(node syntax.Node) bool {
		switch x := node.(type) {
		case *syntax.AssignStmt:
			id, isName := x.LHS.(*syntax.Ident)
			switch {
			case x.Op == syntax.EQ:
				targets(x.LHS, assigned)
				if v := n.variable(id); isName && v != nil {
					v.value = x.RHS
				}
			case isName && n.variable(id) != nil:
				v := n.variable(id)
				v.adds = append(v.adds, id)
			}
		case *syntax.ForStmt:
			targets(x.Vars, looped)
		case *syntax.ForClause:
			targets(x.Vars, looped)
		case *syntax.DefStmt:
			if v := write(x.Name, defined); v != nil {
				v.def = x
			}
			for _, p := range x.Params {
				if id := paramName(p); id != nil {
					if v := write(id, parameter); v != nil {
						n.params[x] = append(n.params[x], v)
					}
				}
			}
		case *syntax.LambdaExpr:
			for _, p := range x.Params {
				if id := paramName(p); id != nil {
					write(id, parameter)
				}
			}
		case *syntax.LoadStmt:
			for i, to := range x.To {
				write(to, loaded)
				n.loads[to] = loadItem{x, i}
			}
		case *syntax.CallExpr:
			if id, ok := x.Fn.(*syntax.Ident); ok {
				callees[id] = true
				n.test(id, x.Args)
			}
		case *syntax.Ident:
			if !writes[x] {
				n.read(x, callees[x])
			}
		}
		return true
	})
}

// eachTarget calls a function with each name to which an assignment or a loop assigns.
func eachTarget(x syntax.Expr, h how, write func(id *syntax.Ident, h how)) {
	switch x := x.(type) {
	case *syntax.Ident:
		write(x, h)
	case *syntax.ParenExpr:
		eachTarget(x.X, h, write)
	case *syntax.TupleExpr:
		for _, x := range x.List {
			eachTarget(x, looped, write)
		}
	case *syntax.ListExpr:
		for _, x := range x.List {
			eachTarget(x, looped, write)
		}
	}
}

// test notes the variable in a call of type, whose value may have another type than its declaration.
func (n *Names) test(callee *syntax.Ident, args []syntax.Expr) {
	if callee.Name != "type" || ScopeOf(callee) != resolve.Universal || len(args) != 1 {
		return
	}
	if v := n.variable(variableOf(args[0])); v != nil {
		v.tested = true
	}
}

// read notes that a name is read, or called.
func (n *Names) read(x *syntax.Ident, called bool) {
	v := n.variable(x)
	if v == nil {
		return
	}
	v.reads++
	if called {
		v.called++
	}
	if n.reads[n.top] == nil {
		n.reads[n.top] = map[string]bool{}
	}
	n.reads[n.top][x.Name] = true
}

// paramName returns the name of a parameter, or nil for a *.
func paramName(p syntax.Expr) *syntax.Ident {
	switch x := p.(type) {
	case *syntax.Ident:
		return x
	case *syntax.BinaryExpr:
		id, _ := x.X.(*syntax.Ident)
		return id
	case *syntax.UnaryExpr:
		id, _ := x.X.(*syntax.Ident)
		return id
	}
	return nil
}

// variable returns the variable of a name, or nil if that is predeclared, undefined or no variable.
func (n *Names) variable(id *syntax.Ident) *variable {
	if id == nil {
		return nil
	}
	b, _ := id.Binding.(*resolve.Binding)
	if b == nil || b.First == nil || b.Scope == resolve.Undefined || b.Scope == resolve.Predeclared || b.Scope == resolve.Universal {
		return nil
	}
	v := n.vars[b.First]
	if v == nil {
		v = &variable{first: b.First, how: map[how]bool{}, local: b.Scope != resolve.Global}
		n.vars[b.First] = v
		n.order = append(n.order, v)
	}
	return v
}

// ValueOf returns the value of a variable of the file that is assigned once, or nil.
func (n *Names) ValueOf(id *syntax.Ident) syntax.Expr {
	v := n.known(id)
	if v == nil || len(v.writes) != 1 || !v.how[assigned] || len(v.adds) > 0 {
		return nil
	}
	return v.value
}

// LoadOf returns the file and the name there of a variable that is loaded. They are "" for another one.
func (n *Names) LoadOf(id *syntax.Ident) (file, name string) {
	v := n.known(id)
	if v == nil || len(v.writes) != 1 || !v.how[loaded] {
		return "", ""
	}
	item := n.loads[v.first]
	return item.stmt.ModuleName(), item.stmt.From[item.at].Name
}

// Global returns the variable of the top level with a name, or nil.
func (n *Names) Global(name string) *syntax.Ident {
	for _, v := range n.order {
		if !v.local && v.first.Name == name {
			return v.first
		}
	}
	return nil
}

// Once reports whether a variable of the file gets a value in one place only.
func (n *Names) Once(id *syntax.Ident) bool {
	v := n.known(id)
	return v != nil && len(v.writes) == 1 && len(v.adds) == 0
}

// Tested reports whether the file tests the type of a variable, which may be another one than its value has.
func (n *Names) Tested(id *syntax.Ident) bool {
	v := n.known(id)
	return v != nil && v.tested
}

// Called reports whether the file calls a function itself.
func (n *Names) Called(id *syntax.Ident) bool {
	v := n.known(id)
	return v == nil || v.called > 0
}

// onlyCalled reports whether a function is defined once, and used by the file only to call it.
func (n *Names) onlyCalled(id *syntax.Ident) bool {
	v := n.known(id)
	return v != nil && n.Once(id) && v.called == v.reads
}

// Recursion reports functions that call themselves, which Starlark refuses.
func (n *Names) Recursion(r *lint.Report, tree *syntax.File) {
	syntax.Walk(tree, func(node syntax.Node) bool {
		def, ok := node.(*syntax.DefStmt)
		if !ok || !n.Once(def.Name) {
			return true
		}
		for _, stmt := range def.Body {
			syntax.Walk(stmt, func(node syntax.Node) bool {
				switch x := node.(type) {
				case *syntax.DefStmt, *syntax.LambdaExpr:
					return false // it may be called later
				case *syntax.CallExpr:
					if id, ok := x.Fn.(*syntax.Ident); ok && bindingOf(id) == bindingOf(def.Name) {
						r.Add(lint.Fault{At: RangeOf(id), Code: diagnostic.InvalidCode, Message: id.Name + " calls itself: recursion is not supported", Hint: "use a loop over a list of what is left to do"})
					}
				}
				return true
			})
		}
		return true
	})
}

// Unset reports variables that are changed by their own value, as by +=, but never get a first one.
func (n *Names) Unset(r *lint.Report, hidden map[string]bool) {
	for _, v := range n.order {
		if len(v.adds) == 0 || len(v.writes) > 0 || !v.local && hidden[v.first.Name] {
			continue
		}
		name := v.first.Name
		f := lint.Fault{At: RangeOf(v.adds[0]), Code: diagnostic.InvalidCode, Message: fmt.Sprintf("the variable %s is changed, but it has no value", name), Hint: fmt.Sprintf("assign a first value: %s = …", name)}
		if v.local && n.Global(name) != nil {
			f.Message = fmt.Sprintf("a function cannot change the global variable %s", name)
			f.Hint = "return the new value, or change an element of a list or a dict"
		}
		r.Add(f)
	}
}

// bindingOf returns the name that gives a variable its first value, or nil.
func bindingOf(id *syntax.Ident) *syntax.Ident {
	if b, _ := id.Binding.(*resolve.Binding); b != nil {
		return b.First
	}
	return nil
}

// known returns the variable of a name, or nil if it is not one of the file.
func (n *Names) known(id *syntax.Ident) *variable {
	return n.vars[bindingOf(id)]
}

// Reachable returns the functions of the top level that functions with these names use, directly
// or not, with these names themselves. Code outside of functions counts as used.
func (n *Names) Reachable(roots ...string) map[string]bool {
	reached := map[string]bool{}
	var queue []string
	add := func(name string) {
		if !reached[name] {
			reached[name] = true
			queue = append(queue, name)
		}
	}
	for _, name := range roots {
		add(name)
	}
	byName := map[string][]*syntax.DefStmt{}
	for def := range n.reads {
		if def != nil {
			byName[def.Name.Name] = append(byName[def.Name.Name], def)
		}
	}
	for name := range n.reads[nil] {
		add(name)
	}
	for len(queue) > 0 {
		name := queue[0]
		queue = queue[1:]
		for _, def := range byName[name] {
			for used := range n.reads[def] {
				add(used)
			}
		}
	}
	return reached
}

// A Role says who calls the functions of a file.
type Role struct {
	Handler  string                  // whose parameters are declared, or ""
	HostOnly func(param string) bool // reports a parameter of the handler that the host sets
	Roots    map[string]bool
	Private  bool            // nobody else uses the functions of the file
	Hidden   map[string]bool // names that parts of the file use which do not parse
}

// Unused reports names that nothing uses.
func (n *Names) Unused(r *lint.Report, role Role) {
	for _, v := range n.order {
		name := v.first.Name
		if v.reads > 0 || role.Hidden[name] || r.Meant(name) || strings.HasPrefix(name, "_") && v.def == nil {
			continue
		}
		switch {
		case v.how[loaded]:
			n.unusedLoad(r, v)
		case v.local && v.def != nil:
			n.warn(r, v, diagnostic.UnusedFunction, "the function %s is not used", "")
		case !v.local && v.def != nil:
			if role.Private && !role.Roots[name] {
				n.warn(r, v, diagnostic.UnusedFunction, "the function %s is not used", "")
			}
		case v.local && len(v.how) == 1 && v.how[assigned]:
			n.unusedVariable(r, v)
		}
	}
	for def, params := range n.params {
		if role.Hidden != nil || n.mayIgnore(def, role) {
			continue
		}
		for _, p := range params {
			if name := p.first.Name; p.reads == 0 && !r.Meant(name) && !strings.HasPrefix(name, "_") && !(def.Name.Name == role.Handler && role.HostOnly(name)) {
				n.warn(r, p, diagnostic.UnusedParameter, "the parameter %s is not used", "use the parameter, or remove it")
			}
		}
	}
}

// mayIgnore reports whether a function may have parameters that it does not use: its callers
// decide on them, or it is not written yet.
func (n *Names) mayIgnore(def *syntax.DefStmt, role Role) bool {
	if isStub(def.Body) {
		return true
	}
	if def.Name.Name == role.Handler {
		return false
	}
	v := n.variable(def.Name)
	return v == nil || role.Roots[def.Name.Name] || v.reads != v.called || v.called == 0
}

// isStub reports whether a function does nothing but return a constant or fail.
func isStub(body []syntax.Stmt) bool {
	for _, stmt := range body {
		switch s := stmt.(type) {
		case *syntax.BranchStmt:
		case *syntax.ReturnStmt:
			if s.Result != nil {
				if _, ok := ConstantOf(s.Result); !ok {
					return false
				}
			}
		case *syntax.ExprStmt:
			if _, isText := s.X.(*syntax.Literal); !isText && !isFail(s) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func (n *Names) warn(r *lint.Report, v *variable, code, format, hint string) {
	r.Add(lint.Fault{At: RangeOf(v.first), Warning: true, Code: code, Message: fmt.Sprintf(format, v.first.Name), Hint: hint})
}

// unusedVariable reports a variable that is only assigned. A name that begins with _ is not
// reported, so the fix is to rename the variable.
func (n *Names) unusedVariable(r *lint.Report, v *variable) {
	name := v.first.Name
	fix := &diagnostic.Fix{Title: "rename the variable to _" + name}
	for _, id := range v.writes {
		fix.Edits = append(fix.Edits, diagnostic.Edit{Span: r.Span(RangeOf(id)), Text: "_" + name})
	}
	r.Add(lint.Fault{At: RangeOf(v.first), Warning: true, Code: diagnostic.UnusedVariable, Message: fmt.Sprintf("the variable %s is not used", name),
		Hint: "use the variable, remove it, or begin its name with _", Fix: fix})
}

// unusedLoad reports a loaded name, and removes it from its statement.
func (n *Names) unusedLoad(r *lint.Report, v *variable) {
	item, ok := n.loads[v.first]
	if !ok || r.HasErrorAt(int(item.stmt.Load.Line)) { // the load itself may be misspelled
		return
	}
	name, load := v.first.Name, item.stmt
	f := lint.Fault{At: RangeOf(v.first), Warning: true, Code: diagnostic.UnusedLoad, Message: fmt.Sprintf("the loaded name %s is not used", name)}
	_, end := load.Span()
	line := int(load.Load.Line)
	unused := 0
	for _, to := range load.To {
		if u := n.variable(to); u != nil && u.reads == 0 {
			unused++
		}
	}
	switch start, last := r.Offset(line, 1), r.Offset(int(end.Line)+1, 1); {
	case unused == len(load.To): // the full statement, once
		text := r.Source[r.Offset(int(end.Line), int(end.Col)):last]
		if item.at == 0 && strings.Trim(text, ") \t\r\n") == "" && load.Load.Col == 1 {
			f.Fix = &diagnostic.Fix{Title: "remove the load", Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: start, End: last}}}}
		}
	default:
		from := r.Offset(int(load.From[item.at].NamePos.Line), int(load.From[item.at].NamePos.Col))
		at := min(from, r.Offset(int(v.first.NamePos.Line), int(v.first.NamePos.Col)))
		f.Fix = removeItem(r, at, name)
	}
	r.Add(f)
}

// removeItem returns the edit that removes an item of a load, with the comma before it.
func removeItem(r *lint.Report, at int, name string) *diagnostic.Fix {
	begin := strings.LastIndexByte(r.Source[:at], ',')
	close := strings.IndexAny(r.Source[at:], ",)")
	if begin < 0 || close < 0 || strings.ContainsAny(r.Source[begin:at+close], "#()") {
		return nil
	}
	return &diagnostic.Fix{Title: "remove " + name + " from the load", Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: begin, End: at + close}}}}
}

// DuplicateKeys reports keys that a dict has twice: making it fails.
func DuplicateKeys(r *lint.Report, tree syntax.Node) {
	syntax.Walk(tree, func(n syntax.Node) bool {
		d, ok := n.(*syntax.DictExpr)
		if !ok {
			return true
		}
		seen := map[any]bool{}
		for _, x := range d.List {
			entry, ok := x.(*syntax.DictEntry)
			if !ok {
				continue
			}
			lit, ok := entry.Key.(*syntax.Literal)
			if !ok {
				continue
			}
			switch key := lit.Value.(type) {
			case string, int64:
				if seen[key] {
					r.Add(lint.Fault{At: RangeOf(lit), Code: diagnostic.DuplicateKey, Message: fmt.Sprintf("the key %s is given twice", lit.Raw)})
				}
				seen[key] = true
			}
		}
		return true
	})
}
