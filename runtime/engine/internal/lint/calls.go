package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Signature is what a function accepts.
type Signature struct {
	Name     string
	Params   []Param
	Named    bool // it accepts any named argument
	ByName   bool // all arguments must be named
	Variadic bool // it accepts any number of arguments by position
}

// A Param is a parameter of a function.
type Param struct {
	Name     string
	Required bool
	Type     *tool.Param // its type; nil is any
	Omits    bool        // None is the same as no argument
	Aliases  []string    // that the function accepts too
	Others   []string    // names that it does not accept, but that mean this parameter
}

// RowSignature returns the signature of a function of a module, or nil.
func RowSignature(f *tool.Func, name string) *Signature {
	if f == nil || f.Mode == tool.ModeOther {
		return nil
	}
	s := &Signature{Name: name, Named: f.Rest != "", Variadic: f.Mode == tool.ModeVariadic}
	for i := range f.Params {
		p := &f.Params[i]
		own := Param{Name: p.Name, Required: p.Required, Type: p, Omits: !p.Required, Aliases: p.Aliases}
		if s.Variadic {
			own.Type = nil // the first one gets a list of all arguments
		}
		s.Params = append(s.Params, own)
	}
	return s
}

// ToolSignature returns the signature of tools.NAME for a tool, or nil if nothing is known of its
// arguments.
func ToolSignature(t *tool.Tool, name string) *Signature {
	switch {
	case t == nil:
		return nil
	case len(t.Schema) > 0:
		return schemaSignature(t, name)
	}
	s := &Signature{Name: name, Named: t.AllowExtra, ByName: true}
	for i := range t.Params {
		p := &t.Params[i]
		s.Params = append(s.Params, Param{Name: p.Name, Required: p.Required && !p.FromHost, Type: p, Omits: !p.Required, Aliases: p.Aliases})
	}
	return s
}

// OfUnknownServer reports whether a name has the form of a tool of an attached server, and no tool of that server is
// known. The tools of a server are known after its review.
func OfUnknownServer[T any](name string, tools map[string]T) bool {
	server, _, ok := strings.Cut(tool.Key(name), "__")
	if !ok || server == "" {
		return false
	}
	for key := range tools {
		if strings.HasPrefix(key, server+"__") {
			return false
		}
	}
	return true
}

// schemaSignature returns the signature of a tool whose arguments are described by a JSON Schema, or nil if
// the schema has no list of parameters. Values are checked only by types without further keywords, which
// mean the same here.
func schemaSignature(t *tool.Tool, name string) *Signature {
	schema, err := t.ArgsSchema()
	if err != nil {
		return nil
	}
	params, err := t.CallerParams()
	if err != nil {
		return nil
	}
	more, _ := schema.Get("additionalProperties")
	s := &Signature{Name: name, Named: more != false || schema.Has("patternProperties"), ByName: true}
	for i := range params {
		p := &params[i]
		own := Param{Name: p.Name, Required: p.Required, Omits: !p.Required}
		switch spec := schema.Dict("properties").Dict(p.Name); spec.Text("type") {
		case "string", "integer", "number", "boolean":
			if !spec.Has("anyOf") && !spec.Has("oneOf") && !spec.Has("allOf") && !spec.Has("not") && !spec.Has("$ref") && !spec.Has("pattern") && !spec.Has("format") {
				own.Type = p
			}
		}
		s.Params = append(s.Params, own)
	}
	return s
}

// An Arg is an argument of a call.
type Arg struct {
	At     Range
	Name   string      // "" for an argument by position
	NameAt Range       // of the name
	Value  value.Value // if Known
	Known  bool        // the value is written out
	// Partial returns the value with a mark in place of each part that is not written out. It is nil
	// if nothing is.
	Partial func(mark string) value.Value
	List    bool // *list
	Dict    bool // **dict
}

// A Call is a call whose arguments are checked.
type Call struct {
	At    Range
	Args  []Arg
	Fault func(Fault)
}

// A given is what a call gives: which parameters have an argument, and what is unknown.
type given struct {
	params           map[string]bool
	positional       int
	anyPlace, anyKey bool // *list and **dict are among the arguments
}

// Check checks the arguments of a call. What is not certain is no fault.
func (s *Signature) Check(c Call) {
	g := given{params: map[string]bool{}}
	for i := range c.Args {
		switch arg := &c.Args[i]; {
		case arg.List:
			g.anyPlace = true
		case arg.Dict:
			g.anyKey = true
		case arg.Name != "":
			s.keyword(&c, &g, arg)
		default:
			s.positional(&c, &g, arg)
		}
	}
	switch {
	case s.ByName && g.positional > 0:
		c.fault(c.At, diagnostic.ManyArguments, "the arguments of %s must be named, as in %s(name = value)", s.Name, s.Name)
	case g.positional > len(s.Params) && !s.Variadic:
		c.fault(c.At, diagnostic.ManyArguments, "%s accepts at most %d arguments, but got %d", s.Name, len(s.Params), g.positional)
	}
	s.missing(&c, &g)
}

func (c *Call) fault(at Range, code, format string, args ...any) {
	c.Fault(Fault{At: at, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (s *Signature) positional(c *Call, g *given, arg *Arg) {
	i := g.positional
	g.positional++
	if i >= len(s.Params) || s.ByName || s.Variadic {
		return
	}
	g.params[s.Params[i].Name] = true
	s.literal(c, &s.Params[i], arg)
}

func (s *Signature) keyword(c *Call, g *given, arg *Arg) {
	i := slices.IndexFunc(s.Params, func(p Param) bool { return p.Name == arg.Name })
	if i < 0 {
		i = slices.IndexFunc(s.Params, func(p Param) bool { return slices.Contains(p.Aliases, arg.Name) })
	}
	switch {
	case i < 0 && s.Named:
	case i < 0:
		meant, text := s.suggestion(arg.Name)
		rename := ""
		if len(value.Similar(arg.Name, s.names())) <= 1 && meant != "" && !g.params[meant] && !slices.ContainsFunc(c.Args, func(a Arg) bool { return a.Name == meant }) {
			rename = meant
		}
		g.params[meant] = true // one slip is one fault
		c.Fault(Fault{At: arg.NameAt, Code: diagnostic.UnknownArgument, Message: fmt.Sprintf("%s has no parameter %q%s", s.Name, arg.Name, text), Rename: rename})
	case g.params[s.Params[i].Name] && s.Named && !s.ByName: // further arguments may have the name
	case g.params[s.Params[i].Name]:
		c.fault(arg.NameAt, diagnostic.TwiceArgument, "%s gets the argument %q twice", s.Name, s.Params[i].Name)
	default:
		g.params[s.Params[i].Name] = true
		s.literal(c, &s.Params[i], arg)
	}
}

// suggestion suggests a parameter for a name that is none. meant is the parameter, or "".
func (s *Signature) suggestion(name string) (meant, text string) {
	names := s.names()
	for _, p := range s.Params {
		if slices.Contains(p.Others, name) {
			return p.Name, "; write " + p.Name
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

func (s *Signature) names() []string {
	return value.Map(s.Params, func(p Param) string { return p.Name })
}

// missing checks that the required arguments are given.
func (s *Signature) missing(c *Call, g *given) {
	if g.anyPlace || g.anyKey || s.Variadic && g.positional > 0 || s.ByName && g.positional > 0 {
		return
	}
	var names []string
	for _, p := range s.Params {
		if p.Required && !g.params[p.Name] {
			names = append(names, p.Name)
		}
	}
	if len(names) > 0 {
		c.fault(c.At, diagnostic.MissingArgument, "%s lacks the required argument%s %s", s.Name, map[bool]string{true: "s"}[len(names) > 1], strings.Join(names, ", "))
	}
}

// literal checks an argument that is a literal.
func (s *Signature) literal(c *Call, p *Param, arg *Arg) {
	if !arg.Known || p.Type == nil || arg.Value == nil && p.Omits {
		return
	}
	own := *p.Type
	own.Name = p.Name
	_, err := (&tool.Func{Params: []tool.Param{own}}).Bind([]value.Value{arg.Value}, nil)
	if err != nil {
		c.fault(arg.At, diagnostic.ArgumentType, "%s: %s", s.Name, value.ErrorOf(err, value.Invalid).Message())
	}
}
