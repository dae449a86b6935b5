package star

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"github.com/cassidy-run/cassidy/internal/scan"
	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint/starlint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A checking is the check of one file.
type checking struct {
	lang   *Language
	report *lint.Report
	src    script.Source
	file   *file
	hidden map[string]bool // the words in the parts that do not parse; nil if all parts parse
	wrong  []starlint.Finding
	names  *starlint.Names
	calls  *starlint.Calls
	libs   map[string]*loadedLib
}

// Check reports the faults of a file.
func (l *Language) Check(src script.Source, r *lint.Report) {
	c := &checking{lang: l, report: r, src: src, libs: map[string]*loadedLib{}}
	if !c.parse() {
		return
	}
	c.code()
	_, call, err := c.file.declares()
	kind := r.Known.Kind
	switch {
	case err != nil:
		r.AddError(err, diagnostic.Declaration)
	case call != nil:
		c.declared(call)
	case kind == lint.KindTool && !c.hidden[script.ToolWord] && !c.hidden[script.WorkflowWord]:
		c.undeclared()
	case kind == lint.KindWorkflow:
		c.workflow()
	case len(r.Known.Entries) > 0:
		c.entries()
	default:
		c.unused(starlint.Role{Roots: c.public()})
		starlint.Flow(r, c.file.syntax, c.result(nil))
	}
	c.calls.Types(c.file.syntax)
	c.docstrings()
}

// workflow reports the faults of a workflow without a declaration. Its main is read as that of workflow(main).
func (c *checking) workflow() {
	needs := lint.Declaration{Name: "the workflow", Free: []string{"model", "human", "tool"},
		Refuses: "which a workflow without needs may not use itself",
		Hint:    "call a tool that has this capability; or run it as a tool, which has the needs that the file declares with workflow(main, needs = […])"}
	main := c.file.defs[scan.MainName]
	if main == nil {
		if !c.hidden[scan.MainName] {
			c.report.AddError(c.file.noMain(), diagnostic.Declaration)
		}
		c.program([]string{scan.MainName}, needs)
		return
	}
	d := script.New(script.WorkflowWord, position(main.Name.NamePos), c.file.parameters())
	c.file.readHandler(main, d)
	c.handled(d, func(*tool.Tool) *lint.Declaration { return &needs })
}

// entries reports the faults of a file whose functions the host calls by their names.
func (c *checking) entries() {
	roots := c.calls.Entries(c.file.syntax, c.names, c.report.Known, c.hidden)
	d := lint.Declaration{Name: "the file", Free: []string{"model"},
		Refuses: "which a policy may not use itself", Hint: "let the model call a tool that has this capability"}
	if c.report.Known.Computes {
		c.calls.Effects(c.file.syntax)
		d = lint.Declaration{}
	}
	c.program(roots, d)
}

// CheckBlock reports the faults of the code block of a Markdown file.
// declared is called with it, or with nil if there is none: it completes the declaration, and returns the
// needs and the tool.
func (l *Language) CheckBlock(src script.Source, r *lint.Report, declared func(*script.Declaration) (*lint.Declaration, *tool.Tool)) {
	c := &checking{lang: l, report: r, src: src, libs: map[string]*loadedLib{}}
	if !c.parse() {
		declared(nil)
		return
	}
	c.code()
	f := c.file
	if word, call, err := f.declares(); err == nil && call != nil {
		r.Add(lint.Fault{At: starlint.RangeOf(call.Fn), Code: diagnostic.Declaration, Message: word + "(…) cannot be combined with front matter", Hint: "remove the call"})
	}
	handler, err := f.handlerOf(script.Stem(src.Path))
	if err != nil {
		if c.hidden == nil {
			r.AddError(err, diagnostic.Declaration)
		}
		declared(nil)
		return
	}
	if c.hidden["def"] && tool.Key(handler.Name.Name) != tool.Key(script.Stem(src.Path)) { // the handler may not parse
		declared(nil)
		return
	}
	d := script.New("", value.Position{}, f.parameters())
	f.readHandler(handler, d)
	for _, err := range f.faults {
		r.AddError(err, diagnostic.Declaration)
	}
	needs, t := declared(d)
	c.tool(d, needs)
	c.typed(d.Handler, t)
	c.calls.Types(f.syntax)
}

// parse parses the file, and reports the faults of syntax. A part that does not parse is replaced by empty
// lines. It reports whether anything can be checked.
func (c *checking) parse() bool {
	text, err := script.PlainText(c.src.Path, c.src.Text)
	if err != nil {
		c.report.AddError(err, diagnostic.InvalidFile)
		return false
	}
	stripped, err := scan.StripAnnotations(c.src.Path, text)
	if err != nil {
		c.report.AddError(err, diagnostic.InvalidFile)
		return false
	}
	text = stripped.Text
	var features []starlint.Finding
	for range lint.SyntaxFaults(text) {
		tree, err := c.lang.options.Parse(c.src.Path, text, 0)
		if err == nil {
			c.file = newFile(c.src.Path, text, tree, stripped.Functions)
			c.file.hidden = c.hidden
			return true
		}
		fault := c.lang.syntaxFault(err, text)
		if fault.line == 0 {
			c.report.AddError(fault.err, diagnostic.Syntax)
			return false
		}
		begin, end := statementAround(text, fault.line)
		if features == nil {
			h := starlint.Program{Path: c.src.Path, Text: text, Predeclared: c.lang.predeclared}
			features = h.Features()
		}
		c.syntaxFaults(fault, features, begin, end)
		if c.hidden == nil {
			c.hidden = map[string]bool{}
		}
		if text = lint.Hide(text, begin, end, c.hidden); strings.TrimSpace(text) == "" {
			return false
		}
	}
	return false
}

// syntaxFaults reports the faults of a statement: features of Python, or what the parser says.
func (c *checking) syntaxFaults(fault syntaxFault, features []starlint.Finding, begin, end int) {
	found := false
	for _, f := range features {
		if f.At.Line >= begin && f.At.Line < end {
			c.finding(f, diagnostic.Syntax)
			found = found || f.At.Line <= fault.line
		}
	}
	if found {
		return
	}
	d := c.report.Error(fault.err, diagnostic.Syntax)
	switch {
	case fault.insert != "":
		at := c.report.Offset(fault.err.Pos.Line, fault.err.Pos.Col)
		d.Fix = &diagnostic.Fix{Title: "insert " + fault.insert, Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: at, End: at}, Text: fault.insert}}}
	case fault.replace != "":
		d.Fix = &diagnostic.Fix{Title: "write " + fault.replace, Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: d.Span.Start, End: d.Span.Start + 1}, Text: fault.replace}}}
	}
	c.report.AddDiagnostic(d)
}

// statementAround returns the lines of the statement of the top level that has a line: from begin up to end.
func statementAround(text string, line int) (begin, end int) {
	lines := strings.Split(text, "\n")
	line = min(max(line, 1), len(lines))
	for begin = line; begin > 1 && !beginsStatement(lines[begin-1]); begin-- {
	}
	for end = line + 1; end <= len(lines) && !beginsStatement(lines[end-1]); end++ {
	}
	return begin, end
}

// beginsStatement reports whether a statement of the top level begins in a line.
func beginsStatement(line string) bool {
	if line == "" || strings.ContainsRune(" \t#)]}", rune(line[0])) {
		return false
	}
	for _, word := range []string{"else", "elif", "except", "finally"} {
		if strings.HasPrefix(line, word) {
			return false
		}
	}
	return true
}

// finding reports a feature of Python, or a name that is not defined.
func (c *checking) finding(f starlint.Finding, code string) {
	if name, isUndefined := strings.CutPrefix(f.Text, "undefined: "); isUndefined {
		if name, _, _ = strings.Cut(name, ";"); c.hidden[name] {
			return
		}
	}
	c.report.Add(faultOf(f, code))
}

// faultOf returns the fault of a finding. code is that of a finding which has no code of its own.
func faultOf(f starlint.Finding, code string) lint.Fault {
	message, hint := words(f)
	switch {
	case strings.HasPrefix(message, "undefined: "):
		code = diagnostic.UnknownName
	case strings.Contains(message, " has no "), strings.HasPrefix(message, "there is no ."):
		code = diagnostic.UnknownFunction
	case strings.Count(message, ".") == 1 && !strings.ContainsAny(message, " %{"): // as in json.loads
		module, name, _ := strings.Cut(message, ".")
		message, code = module+" has no "+name, diagnostic.UnknownFunction
	}
	if strings.HasPrefix(hint, "it has ") {
		names := strings.TrimPrefix(hint, "it has ")
		hint = "use one of the functions: " + names
		if _, name, ok := strings.Cut(message, " has no "); ok && f.Rename == "" {
			name, _, _ = strings.Cut(name, ";")
			f.Rename = lint.Meant(name, strings.Split(names, ", "))
		}
	}
	if hint == "" {
		hint = resolveHint(message)
	}
	if word := strings.Fields(message); code == diagnostic.Syntax && len(word) <= 3 && hint != "" {
		message = message + " is not supported"
	}
	return lint.Fault{At: lint.Range{Start: lint.Pos{Line: f.At.Line, Col: f.At.Col}}, Code: code, Message: message, Hint: hint, Similar: f.Similar, Rename: f.Rename}
}

// words returns the message and the hint of a finding.
func words(f starlint.Finding) (message, hint string) {
	for _, cut := range []string{"; write ", "; it has ", "; "} {
		before, after, ok := strings.Cut(f.Text, cut)
		if ok && !strings.HasPrefix(after, "did you mean") {
			return before, strings.TrimPrefix(cut, "; ") + after
		}
	}
	return f.Text, ""
}

// failures returns what certainly fails in a file, such as the use of a name that is not defined. unsure are loaded names
// that may not exist.
func (l *Language) failures(f *file, unsure map[string]bool) []starlint.Finding {
	var list resolve.ErrorList
	errors.As(l.resolve(f.syntax), &list)
	h := starlint.Program{Path: f.path, Text: f.text, Predeclared: l.predeclared, Unsure: unsure}
	return h.Failures(f.syntax, list)
}

// undefinedIn returns the finding of the name that is not defined where an error of the declaration is: the error follows from
// it. If the file has no declaration, the name is that of a statement such as tol(handler). It also returns the hint for both.
func (f *file) undefinedIn(err error, found []starlint.Finding) (finding starlint.Finding, hint string, ok bool) {
	e := value.ErrorOf(err, value.Invalid)
	for _, finding := range found {
		_, hint := words(finding)
		switch {
		case !strings.HasPrefix(finding.Text, "undefined: "):
		case e.Pos.Line == 0 && f.isMisspelled(finding):
			return finding, hint, true
		case finding.At.Line == e.Pos.Line && finding.At.Col == e.Pos.Col:
			if len(finding.Similar) == 0 {
				hint = cmp.Or(hint, e.Hint)
			}
			return finding, hint, true
		}
	}
	return starlint.Finding{}, "", false
}

// isMisspelled reports whether a finding is of a statement such as tol(handler).
func (f *file) isMisspelled(finding starlint.Finding) bool {
	return slices.ContainsFunc(finding.Similar, func(name string) bool { return name == script.ToolWord || name == script.WorkflowWord }) &&
		slices.ContainsFunc(f.syntax.Stmts, func(stmt syntax.Stmt) bool {
			at, _ := stmt.Span()
			_, isStmt := stmt.(*syntax.ExprStmt)
			return isStmt && int(at.Line) == finding.At.Line && int(at.Col) == finding.At.Col
		})
}

// code reports the faults of names, calls and values.
func (c *checking) code() {
	l, f := c.lang, c.file
	if _, err := l.libsOf(c.src.Libs).all(f); err != nil {
		c.report.AddError(err, diagnostic.Load)
	}
	c.wrong = l.failures(f, c.loaded())
	for _, finding := range c.wrong {
		code := diagnostic.InvalidCode
		if strings.HasPrefix(finding.Text, "cannot reassign") || strings.HasPrefix(finding.Text, "duplicate parameter") {
			code = diagnostic.DuplicateName
			finding.Text, _, _ = strings.Cut(finding.Text, " declared at")
		}
		c.finding(finding, code)
	}
	calls := l.calls(l.predeclared)
	calls.Fault = c.report.Add
	if c.report.Known.Tools != nil {
		calls.AllTools = true
		for key, t := range c.report.Known.Tools {
			calls.Tools[key] = lint.ToolSignature(t, "tools."+key)
		}
	}
	for name, def := range f.defs {
		if v := f.constants[name]; v == nil {
			calls.Own(name, starlint.SignatureOf(def))
		}
	}
	c.names = starlint.NamesOf(f.syntax)
	calls.Value, calls.Tested = c.valueOf, c.names.Tested
	calls.PassModules(f.syntax, c.names, c.report.Known)
	calls.Check(f.syntax)
	c.calls = calls
	c.names.Recursion(c.report, f.syntax)
	c.names.Unset(c.report, c.hidden)
	calls.TopLevel(f.syntax)
	if known := c.report.Known; known.Kind == lint.KindTest && len(known.Test) > 0 {
		calls.AllTools = false // a tool of another folder may be tested
		methods := map[string]*tool.Func{}
		for i := range known.Test {
			methods[known.Test[i].Name] = &known.Test[i]
		}
		calls.Tests(f.syntax, c.names, methods)
	}
	starlint.DuplicateKeys(c.report, f.syntax)
}

// loaded checks that the files that are loaded have the names. It returns the names that may not exist.
func (c *checking) loaded() map[string]bool {
	unsure := map[string]bool{}
	for _, load := range c.file.loads() {
		lib := c.lib(load.ModuleName())
		for i, id := range load.From {
			if lib == nil {
				unsure[load.To[i].Name] = true
				continue
			}
			names := lib.file.exported()
			if slices.Contains(names, id.Name) {
				continue
			}
			unsure[load.To[i].Name] = true
			f := lint.Fault{At: starlint.RangeOf(id), Code: diagnostic.Load, Message: fmt.Sprintf("%s has no name %s%s", load.ModuleName(), id.Name, value.DidYouMean(id.Name, names)),
				Rename: lint.Meant(id.Name, names)}
			if f.Rename == "" {
				f.Hint = "it has " + strings.Join(names, ", ")
			}
			c.report.Add(f)
		}
	}
	return unsure
}

// exported returns the names of the top level that other files can load, sorted.
func (f *file) exported() []string {
	var names []string
	for _, stmt := range f.syntax.Stmts {
		switch s := stmt.(type) {
		case *syntax.DefStmt:
			names = append(names, s.Name.Name)
		case *syntax.AssignStmt:
			syntax.Walk(s.LHS, func(n syntax.Node) bool {
				if id, ok := n.(*syntax.Ident); ok {
					names = append(names, id.Name)
				}
				return true
			})
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "_") })
	slices.Sort(names)
	return slices.Compact(names)
}

// public returns all functions of the top level.
func (c *checking) public() map[string]bool {
	roots := map[string]bool{}
	for name := range c.file.defs {
		roots[name] = true
	}
	return roots
}

// unused reports unused names. Words in parts that do not parse may use them.
func (c *checking) unused(role starlint.Role) {
	role.Hidden = c.hidden
	c.names.Unused(c.report, role)
}

// undeclared reports that a file declares no tool.
func (c *checking) undeclared() {
	if slices.ContainsFunc(c.wrong, c.file.isMisspelled) {
		return
	}
	handler := c.file.likelyHandler()
	f := lint.Fault{Code: diagnostic.Declaration, Message: "the file does not declare a tool", Hint: "end the file with tool(" + handler + ")"}
	if def := c.file.defs[handler]; def != nil {
		f.At = starlint.RangeOf(def.Name)
		if len(c.file.defs) == 1 && c.hidden == nil {
			end := len(c.report.Source)
			f.Fix = &diagnostic.Fix{Title: f.Hint, Edits: []diagnostic.Edit{{Span: diagnostic.Span{Start: end, End: end}, Text: "\ntool(" + handler + ")\n"}}}
		}
	} else {
		f.At = lint.Range{Start: lint.Pos{Line: 1, Col: 1}, End: lint.Pos{Line: 1, Col: 1}}
	}
	c.report.Add(f)
	c.unused(starlint.Role{Roots: c.public()})
	starlint.Flow(c.report, c.file.syntax, c.result(nil))
}

// declared reports the faults of tool(…) or workflow(…), and of the functions that it names.
func (c *checking) declared(call *syntax.CallExpr) {
	d, _ := c.file.declaration()
	c.handled(d, func(t *tool.Tool) *lint.Declaration {
		needs := c.needsOf(call, t)
		if needs != nil && d.Word == script.WorkflowWord {
			needs.Name = "the workflow"
		}
		return needs
	})
}

// handled reports the faults of a declaration, which may be nil, and of the functions that it names. needsOf
// returns what its code may use, or nil.
func (c *checking) handled(d *script.Declaration, needsOf func(*tool.Tool) *lint.Declaration) {
	f := c.file
	for _, err := range f.faults {
		if found, hint, ok := f.undefinedIn(err, c.wrong); ok {
			c.report.SetHint(lint.Pos{Line: found.At.Line, Col: found.At.Col}, diagnostic.UnknownName, hint)
		} else {
			c.report.AddError(err, diagnostic.Declaration)
		}
	}
	if d == nil {
		return
	}
	t := c.report.Declaration(d, script.Stem(c.src.Path), len(f.faults) == 0 && d.Handler != "")
	c.report.Undescribed(d, &t, "the docstring", "add a line to Args: %s: what it is")
	needs := needsOf(&t)
	if d.Handler != "" {
		c.tool(d, needs)
		c.typed(d.Handler, &t)
	}
}

// typed records the types of the arguments of the handler, which the host checks.
func (c *checking) typed(handler string, t *tool.Tool) {
	def := c.file.defs[handler]
	if def == nil || t == nil || c.names.Called(def.Name) {
		return
	}
	c.calls.Params = map[*syntax.Ident]starlark.Value{}
	for _, p := range def.Params {
		id, ok := p.(*syntax.Ident)
		if !ok || !c.names.Once(id) {
			continue
		}
		i := slices.IndexFunc(t.Params, func(p tool.Param) bool { return p.Name == id.Name && p.Required })
		if i < 0 {
			continue
		}
		c.calls.Params[id] = starlint.ExampleOf(&t.Params[i].Type)
	}
}

// tool checks the functions of a declared tool or workflow. needs is nil if the needs are unknown.
func (c *checking) tool(d *script.Declaration, needs *lint.Declaration) {
	roots := []string{d.Handler}
	for _, field := range []string{"available", "undo", "preview"} {
		if v, _ := d.Fields.Get(field); v != nil {
			if name, ok := v.(script.FuncName); ok {
				roots = append(roots, string(name))
			}
		}
	}
	role := starlint.Role{Handler: d.Handler, HostOnly: d.SetsItself, Roots: map[string]bool{}, Private: true}
	for _, name := range roots {
		role.Roots[name] = true
	}
	c.unused(role)
	starlint.Flow(c.report, c.file.syntax, c.result(d))
	c.results(d)
	if needs != nil {
		c.needs(roots, *needs)
	}
}

// program checks a file without a declaration whose functions are called by name.
func (c *checking) program(roots []string, needs lint.Declaration) {
	role := starlint.Role{Roots: map[string]bool{}, Private: true}
	for _, name := range roots {
		role.Roots[name] = true
	}
	c.unused(role)
	starlint.Flow(c.report, c.file.syntax, c.result(nil))
	if needs.Name != "" {
		c.needs(roots, needs)
	}
}

// result returns what functions declare of their results. That of the handler of d is checked by the host; d may be nil.
func (c *checking) result(d *script.Declaration) func(*syntax.DefStmt) starlint.Result {
	return func(def *syntax.DefStmt) starlint.Result {
		for _, e := range c.report.Known.Entries {
			if e.Name == def.Name.Name {
				null := slices.Contains(e.Types, starlark.None.Type())
				return starlint.Result{Null: null, Open: null, Checks: true, Must: map[bool]string{false: e.Result}[null], Return: e.Return}
			}
		}
		handler := d != nil && def.Name.Name == d.Handler
		if handler {
			if t, err := d.Result(); err == nil && t != nil {
				return starlint.Result{Type: t.String(), Null: lint.WrongResult(d.Handler, t, nil) == "", Checks: true}
			}
		}
		text := c.file.signatureOf(def).Returns.Text
		t, err := tool.ParseAnnotation(text)
		switch kind := c.report.Known.Kind; {
		case text == "" && (kind == lint.KindHooks || kind == lint.KindScript):
			return starlint.Result{Null: true, Open: true} // who calls it may accept None
		case text == "" || text == "None" || err != nil || t.Name == tool.TypeAny:
			return starlint.Result{Type: text, Null: true}
		}
		return starlint.Result{Type: text, Null: t.Nullable, Checks: handler}
	}
}

// results checks the values that the handler returns and that are written out.
func (c *checking) results(d *script.Declaration) {
	def := c.file.defs[d.Handler]
	returns, err := d.Result()
	if def == nil || err != nil || returns == nil {
		return
	}
	starlint.Returns(def, func(x syntax.Expr) {
		v, ok := starlint.ConstantOf(x)
		if !ok || v == nil {
			return
		}
		if why := lint.WrongResult(cmp.Or(d.Fields.Text("name"), script.Stem(c.src.Path)), returns, v); why != "" {
			c.report.Add(lint.Fault{At: starlint.RangeOf(x), Code: diagnostic.ResultType, Message: why})
		}
	})
}

// docstrings warns of functions for others without a docstring.
func (c *checking) docstrings() {
	for _, stmt := range c.file.syntax.Stmts {
		def, ok := stmt.(*syntax.DefStmt)
		if !ok || strings.HasPrefix(def.Name.Name, "_") || docOf(def.Body) != "" {
			continue
		}
		switch kind := c.report.Known.Kind; {
		case kind == lint.KindLibrary, kind == lint.KindWorkflow && def.Name.Name == scan.MainName:
			c.report.Add(lint.Fault{At: starlint.RangeOf(def.Name), Warning: true, Code: diagnostic.MissingDoc, Message: def.Name.Name + " has no docstring",
				Hint: `describe it in the first line of the function: """…"""`})
		}
	}
}
