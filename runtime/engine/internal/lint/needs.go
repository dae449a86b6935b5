package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxParts is how many parts of an expression are followed.
const maxParts = 1000

// A Partial is an expression that is evaluated with a mark in place of each part that is not written out.
type Partial struct {
	Mark  string
	parts int
}

// Enough reports whether no more parts are followed. It counts the calls.
func (p *Partial) Enough() bool {
	p.parts++
	return p.parts > maxParts
}

// maxText is how long a text is that is put together.
const maxText = 64 << 10

// Join returns two texts as one, or the mark if that is too long.
func (p *Partial) Join(left, right string) string {
	if len(left)+len(right) > maxText {
		return p.Mark
	}
	return left + right
}

// Text returns the value of a variable if it is a text. Any other value may change.
func (p *Partial) Text(v value.Value) string {
	if text, ok := v.(string); ok {
		return text
	}
	return p.Mark
}

// A Use is a use of a function that may need a capability.
type Use struct {
	At   Range
	Name string     // of the function, such as "fs.read" or "tools.slug"
	Func *tool.Func // nil for a call of a tool by its name
	Args []Arg      // of the call
	Call bool       // it is called here, and not only mentioned
	Tool string     // the name of the tool that is called, if Func is nil
}

// Uses are what a file uses.
type Uses struct {
	List    []Use
	Unknown bool // the file may use more, as it uses a module as a value
}

// A Need is a capability in the needs of a declaration.
type Need struct {
	Capability tool.Capability
	At         Range
	Remove     func() *diagnostic.Fix // or nil if no edit certainly removes it
}

// A Declaration is what declares needs.
type Declaration struct {
	Name  string // of the tool
	Needs []Need
	// Add returns the edit that adds a capability, or nil if that is not certain.
	Add func(capability string) *diagnostic.Fix
	// Free are the capabilities that need not be declared.
	Free []string
	// Refuses is the reason why nothing can be declared, or "".
	Refuses string
	Hint    string // with Refuses
}

// CheckNeeds reports needs that are missing, given twice or not used. If a fault says that their field is misspelled, they
// are unknown.
func CheckNeeds(r *Report, uses Uses, d Declaration) {
	if len(d.Needs) == 0 && r.Meant("needs") {
		return
	}
	c := needsCheck{report: r, decl: &d, used: make([]bool, len(d.Needs)), all: uses.Unknown}
	seen := map[tool.Capability]bool{}
	for i, n := range d.Needs {
		if seen[n.Capability] && !r.full() {
			r.Add(Fault{At: n.At, Warning: true, Code: diagnostic.DuplicateNeed, Message: fmt.Sprintf("%q is given twice in needs", n.Capability), Fix: n.removal()})
		}
		c.used[i] = seen[n.Capability]
		seen[n.Capability] = true
	}
	for i := range uses.List {
		c.use(&uses.List[i])
	}
	for i := range c.lacking {
		c.lacks(&c.lacking[i])
	}
	if d.Refuses == "" {
		c.secrets()
	}
	if c.all || d.Refuses != "" {
		return
	}
	for i, n := range d.Needs {
		if c.used[i] || r.full() {
			continue
		}
		f := Fault{At: n.At, Warning: true, Code: diagnostic.UnusedNeed, Message: fmt.Sprintf("%s never uses %q", d.Name, n.Capability)}
		if c.isLacking(n.Capability) {
			f.Hint = "correct the missing capability first: one of them may be misspelled"
		} else {
			f.Hint, f.Fix = fmt.Sprintf("remove %q from needs", n.Capability), n.removal()
		}
		r.Add(f)
	}
}

// secrets reports needs of secrets for a server to which no declared request goes: a secret is sent only to
// the host and port that its need names.
func (c *needsCheck) secrets() {
	isHTTP := func(n Need) bool { return family(n.Capability.Name) == "http" }
	if !slices.ContainsFunc(c.decl.Needs, isHTTP) {
		return // the missing request is a fault of its own
	}
	for _, n := range c.decl.Needs {
		secret, host, _ := strings.Cut(n.Capability.Target, "@")
		if n.Capability.Name != "secret" || host == "" || c.report.full() {
			continue
		}
		to := tool.Capability{Name: "http", Target: host}
		meant, reaches := "HOST", false
		for _, other := range c.decl.Needs {
			if !isHTTP(other) {
				continue
			}
			reaches = reaches || mayOverlap(other.Capability, to)
			if name, _, _ := strings.Cut(other.Capability.Target, ":"); name == strings.Split(host, ":")[0] {
				meant = other.Capability.Target
			}
		}
		if !reaches {
			c.report.Add(Fault{
				At: n.At, Code: diagnostic.MissingNeed, Message: fmt.Sprintf("%q is for a server to which needs allow no request", n.Capability),
				Hint: fmt.Sprintf("write the server as in the need of the request, with its port: \"secret:%s@%s\"", secret, meant),
			})
		}
	}
}

// isLacking reports whether a capability with another target, or another method of HTTP, is missing.
func (c *needsCheck) isLacking(has tool.Capability) bool {
	return has.Target != "" && slices.ContainsFunc(c.lacking, func(l lack) bool { return family(l.wanted.Name) == family(has.Name) })
}

// family returns the name that a capability shares with those that differ only in the method of HTTP.
func family(name string) string {
	if strings.HasPrefix(name, "http.") {
		return "http"
	}
	return name
}

func (n *Need) removal() *diagnostic.Fix {
	if n.Remove == nil {
		return nil
	}
	return n.Remove()
}

type needsCheck struct {
	report  *Report
	decl    *Declaration
	lacking []lack // what is missing, each once
	used    []bool
	all     bool // anything may be used
}

// use checks one use.
func (c *needsCheck) use(u *Use) {
	if u.Func == nil {
		c.tool(u, u.Tool)
		return
	}
	if u.Func.Target == nil {
		for _, name := range u.Func.Requests {
			c.takes(lack{use: u}, name, "", false)
		}
		return
	}
	first, ok := targets(u, "x1")
	second, also := targets(u, "y2")
	numbers, isNumber := targets(u, "1")
	if !ok || !also || len(first) == 0 {
		// The arguments are wrong, or not the full ones: only the names are known.
		bare := &Use{Name: u.Name, Func: u.Func}
		if first, ok = targets(bare, "x1"); !ok {
			first, ok = targets(bare, "https://any.example/") // it expects a URL
		}
		second, isNumber = nil, false
	}
	if !ok || len(first) == 0 {
		c.all = true // what it takes is unknown
		return
	}
	// If the first capability is unknown, such as a program, the others say nothing either.
	exactly := len(first) == len(second) && first[0] == second[0]
	for i, one := range first {
		exact := exactly && one == second[i]
		l := lack{use: u, unnamed: i > 0 && !exactly || !u.names(one.Target)}
		l.maybe = l.unnamed && (i > 0 && !exactly || exact && u.isComputed())
		switch {
		case exactly && isNumber && !slices.Contains(numbers, one):
			c.declared(one.Name, one.Target, exact) // other arguments do not need it
		case one.Name == "tool" && exact:
			c.tool(u, one.Target)
		case one.Name == "tool":
			c.all = true // any tool, with all its needs
		default:
			c.takes(l, one.Name, one.Target, exact)
		}
	}
	if u.Name == "tools.call_all" && !slices.ContainsFunc(first, func(c tool.Capability) bool { return c.Name == "tool" }) {
		c.all = true
	}
}

// targets returns the capabilities that a use takes, with a mark in place of each argument that is
// unknown.
func targets(u *Use, mark string) (takes []tool.Capability, ok bool) {
	defer func() {
		if recover() != nil { // a Target expects arguments of the right types
			takes, ok = nil, false
		}
	}()
	args := &value.Dict{}
	place := 0
	for i := range u.Args {
		a := &u.Args[i]
		v, known := a.value(mark)
		if text, isText := v.(string); a.List || a.Dict && (!isText || text == mark) {
			continue // a text does not have named arguments
		}
		name := a.Name
		if name == "" && place < len(u.Func.Params) {
			name = u.Func.Params[place].Name
			place++
		}
		if known && name != "" {
			args.Put(name, v)
		}
	}
	bound := &value.Dict{}
	for _, p := range u.Func.Params {
		v, given := args.Get(p.Name)
		for _, alias := range p.Aliases {
			if !given {
				v, given = args.Get(alias)
			}
		}
		isGiven := given || slices.ContainsFunc(u.Args, func(a Arg) bool { return a.Name == p.Name || a.List || a.Dict }) || place > slices.IndexFunc(u.Func.Params, func(o tool.Param) bool { return o.Name == p.Name })
		switch {
		case given:
			bound.Put(p.Name, v)
		case isGiven || !u.Call || p.Required:
			if v := placeholder(&p.Type, mark); v != nil {
				bound.Put(p.Name, v)
			}
		case p.HasDefault:
			bound.Put(p.Name, p.Default)
		}
	}
	takes, err := u.Func.Target(bound)
	return takes, err == nil
}

// placeholder returns a value of a type, or nil.
func placeholder(t *tool.Type, mark string) value.Value {
	switch t.Name {
	case tool.TypeString, "", tool.TypeAny, tool.TypeCharacter:
		return mark
	case tool.TypeArray:
		return value.List{mark}
	}
	return nil
}

// value returns the value of an argument, with a mark in place of each unknown part.
func (a *Arg) value(mark string) (value.Value, bool) {
	if a.Known {
		return a.Value, true
	}
	if a.Partial != nil {
		return a.Partial(mark), true
	}
	return nil, false
}

// covers reports whether a declared capability may cover a use: certainly if exact, else by its name.
func covers(has tool.Capability, name, target string, exact bool) bool {
	if has.Name != name && !(has.Name == "http" && strings.HasPrefix(name, "http.")) {
		return false
	}
	// A path is relative to the working directory, and a capability to the project.
	if !exact || strings.HasPrefix(name, "fs.") || has.Target == "" {
		return true
	}
	if name == "secret" && strings.HasSuffix(target, "@") { // the host is known only when it is sent
		return strings.HasPrefix(has.Target, target)
	}
	return has.Allows(tool.Capability{Name: name, Target: target})
}

// declared reports whether a capability may be declared, and records that it is used.
func (c *needsCheck) declared(name, target string, exact bool) bool {
	found := slices.Contains(c.decl.Free, name)
	for i, n := range c.decl.Needs {
		if covers(n.Capability, name, target, exact) {
			found, c.used[i] = true, true
		}
	}
	return found
}

// takes checks that a capability is declared.
func (c *needsCheck) takes(l lack, name, target string, exact bool) {
	if c.declared(name, target, exact) || l.maybe && !exact {
		return
	}
	l.wanted = tool.Capability{Name: name}
	if exact && !strings.HasPrefix(name, "fs.") {
		l.wanted.Target = target
	}
	verb := "needs"
	if l.maybe {
		verb = "may need"
	}
	l.message = fmt.Sprintf("%s %s the capability %q", l.use.Name, verb, strings.TrimSuffix(l.wanted.String(), "@"))
	c.lack(l)
}

// names reports whether the code of a use names a target: as an argument or an item of one, or as a
// word in a text, such as a host in a URL.
func (u *Use) names(target string) bool {
	named := func(v value.Value) bool {
		text, _ := v.(string)
		text, target := strings.ToLower(text), strings.ToLower(strings.TrimSuffix(target, "@"))
		for from := 0; from <= len(text); from++ {
			i := strings.Index(text[from:], target)
			if i < 0 {
				break
			}
			from += i
			before, after := text[:from], text[from+len(target):]
			if !strings.ContainsFunc(before[max(0, len(before)-1):], isTargetRune) && !strings.ContainsFunc(after[:min(1, len(after))], isTargetRune) {
				return true
			}
		}
		return false
	}
	return target == "" || slices.ContainsFunc(u.Args, func(a Arg) bool {
		v, _ := a.value(" ")
		list, isList := v.(value.List)
		return named(v) || isList && slices.ContainsFunc(list, func(item value.Value) bool { return item == value.Value(target) })
	})
}

func isTargetRune(r rune) bool {
	return r == '.' || r == '-' || r == '@' || isNameRune(r)
}

// isComputed reports whether a part of the arguments of a use is not written out.
func (u *Use) isComputed() bool {
	return slices.ContainsFunc(u.Args, func(a Arg) bool {
		one, ok := a.value("x1")
		other, _ := a.value("y2")
		return !ok || a.List || a.Dict || !value.Equal(one, other)
	})
}

// A lack is a use of a capability that is not declared.
type lack struct {
	use     *Use
	message string
	wanted  tool.Capability
	called  bool // a called tool uses it
	unnamed bool // the code does not name its target, as in shell:sh for ["rm", "a"]
	maybe   bool // some arguments do not need it
}

// lack records a capability that is not declared, where it is certain.
func (c *needsCheck) lack(l lack) {
	i := slices.IndexFunc(c.lacking, func(o lack) bool { return o.wanted == l.wanted })
	switch {
	case i < 0:
		c.lacking = append(c.lacking, l)
	case c.lacking[i].maybe && !l.maybe:
		c.lacking[i] = l
	}
}

// lacks reports a capability that is not declared.
func (c *needsCheck) lacks(l *lack) {
	text := l.wanted.String()
	f := Fault{At: l.use.At, Code: diagnostic.MissingNeed, Message: l.message + ", which is not in needs", Hint: fmt.Sprintf("add %q to needs", text)}
	meant := ""
	if !l.called {
		meant = c.meant(l.wanted)
	}
	switch {
	case c.decl.Refuses != "":
		f.Message, f.Hint = l.message+", "+c.decl.Refuses, c.decl.Hint
	case meant != "":
		f.Message += fmt.Sprintf("; did you mean %q?", meant)
		if strings.HasSuffix(text, "@") {
			text += "HOST"
		}
		f.Hint = fmt.Sprintf("write the same name in the code and in needs, or add %q to needs", text)
	case l.wanted.Name == "secret" && strings.HasSuffix(l.wanted.Target, "@"):
		f.Hint = fmt.Sprintf("add \"%sHOST\" to needs: HOST is the server to which the secret is sent, such as api.example.com", text)
	case l.maybe:
		f.Warning = true
		f.Hint = fmt.Sprintf("it depends on arguments that are computed: if a call is denied without it, add %q to needs", text)
	default:
		f.Fix = c.addition(l)
	}
	c.report.Add(f)
}

// meant returns the declared capability that differs from a missing one only by a few letters, or "". Either
// of them may be misspelled. The names of tools are compared with those of the tools that exist.
func (c *needsCheck) meant(wanted tool.Capability) string {
	if wanted.Target == "" || wanted.Name == "tool" {
		return ""
	}
	name, _, _ := strings.Cut(wanted.Target, "@")
	for _, n := range c.decl.Needs {
		has := n.Capability
		declared, _, _ := strings.Cut(has.Target, "@")
		if has.Name == wanted.Name && declared != "" && declared != name && value.Nearest(name, []string{declared}) != "" {
			return has.String()
		}
	}
	return ""
}

// addition returns the edit that adds a capability, or nil. It never adds a capability without a target beside
// one that is limited to a target. It is a person's choice if the capability is wider than what the code
// names, or if it may replace one that is not used.
func (c *needsCheck) addition(l *lack) *diagnostic.Fix {
	wanted := l.wanted
	if _, err := tool.ParseCapability(wanted.String()); err != nil || c.decl.Add == nil {
		return nil
	}
	unused := false
	for i, n := range c.decl.Needs {
		if has := n.Capability; family(has.Name) == family(wanted.Name) && has.Target != "" {
			if wanted.Target == "" {
				return nil
			}
			unused = unused || !c.used[i]
		}
	}
	fix := c.decl.Add(wanted.String())
	if fix != nil {
		_, isGlob := beforeGlob(wanted.Target)
		isWide := l.unnamed || isGlob || strings.HasPrefix(wanted.Target, "@") || wanted.Name == "shell" && l.called && wanted.Target == "sh"
		fix.Choice = unused || isWide || wanted.Target == "" && wanted.TakesTarget()
	}
	return fix
}

// tool checks the call of a tool: the tool itself, and what it needs, must be declared.
func (c *needsCheck) tool(u *Use, name string) {
	if c.report.Known.Tools == nil {
		c.all = true
		return
	}
	called, known := c.report.Known.Tools[tool.Key(name)]
	if called == nil {
		c.all = true // what it needs is unknown
	}
	found := slices.Contains(c.decl.Free, "tool")
	for i, n := range c.decl.Needs {
		if c.namesTool(n.Capability, name) {
			found, c.used[i] = true, true
		}
	}
	if !found && known {
		c.lack(lack{use: u, message: fmt.Sprintf("%s needs the capability \"tool:%s\"", u.Name, name), wanted: tool.Capability{Name: "tool", Target: name}})
	}
	if called == nil || c.decl.Refuses != "" {
		return
	}
	for _, need := range called.Needs {
		c.through(u, called, need)
	}
}

// namesTool reports whether a capability may cover calls of a tool: by its name in either spelling, or by its group.
func (c *needsCheck) namesTool(has tool.Capability, name string) bool {
	if has.Name != "tool" {
		return false
	}
	t := c.report.Known.Tools[tool.Key(name)]
	isGroup := strings.HasPrefix(has.Target, "@") && (t == nil || has.Target == "@"+t.DisplayGroup())
	return has.Target == "" || tool.Key(has.Target) == tool.Key(name) || isGroup
}

// through checks a need of a called tool: its effects must be allowed to the caller too.
func (c *needsCheck) through(u *Use, called *tool.Tool, need tool.Capability) {
	if slices.Contains(c.decl.Free, need.Name) {
		return
	}
	found := false
	for i, n := range c.decl.Needs {
		if has := n.Capability; mayOverlap(has, need) || need.Name == "tool" && c.namesTool(has, need.Target) || has.Name == "tool" && c.namesTool(need, has.Target) {
			found, c.used[i] = true, true
		}
	}
	if !found {
		c.lack(lack{use: u, message: fmt.Sprintf("the tool '%s' needs the capability %q", called.Name, need), wanted: need, called: true})
	}
}

// mayOverlap reports whether two capabilities may both allow something. [tool.Capability.Allows], which decides in a
// run, is asked about one target of each. Two globs do not overlap if they begin differently.
func mayOverlap(a, b tool.Capability) bool {
	switch {
	case a.Name == "http":
		a.Name = b.Name
	case b.Name == "http":
		b.Name = a.Name
	}
	if a.Name != b.Name || a.Target == "" || b.Target == "" {
		return a.Name == b.Name
	}
	if strings.HasPrefix(a.Name, "fs.") || a.Name == "use" {
		one, isGlob := beforeGlob(a.Target)
		other, also := beforeGlob(b.Target)
		if isGlob && also {
			return strings.HasPrefix(one, other) || strings.HasPrefix(other, one)
		}
	}
	return a.Allows(concrete(b)) || b.Allows(concrete(a))
}

// beforeGlob returns the part of a glob before its first wildcard.
func beforeGlob(target string) (literal string, isGlob bool) {
	i := strings.IndexAny(target, "*?[{\\")
	if i < 0 {
		return target, false
	}
	return target[:i], true
}

// concrete returns a capability with a target that a wildcard for subdomains covers.
func concrete(c tool.Capability) tool.Capability {
	if c.Name == "secret" || strings.HasPrefix(c.Name, "http") {
		c.Target = strings.Replace(c.Target, "*.", "any.", 1)
	}
	return c
}
