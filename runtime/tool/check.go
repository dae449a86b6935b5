package tool

import (
	"fmt"
	"strings"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Check checks arguments against the parameters of the tool, or against its Schema. It
// returns them complete: aliases are resolved, null for an optional parameter is dropped,
// absent arguments have their defaults, and values their one form (3.0 for an integer
// is 3, a single string for a character is a list). One error of kind Invalid lists all
// problems, up to 50. The arguments are not changed.
func (t *Tool) Check(args *value.Dict) (*value.Dict, error) {
	if len(t.Schema) > 0 {
		return t.checkRaw(args)
	}
	c := checker{}
	checked, missing := c.params(t.Params, args, t.AllowExtra)
	if c.ok() {
		return checked, nil
	}
	err := value.Errorf(value.Invalid, "%s", c.report(t))
	if missing {
		return nil, err.WithHint("Example: %s", t.CallText(t.ExampleArgs()))
	}
	return nil, err
}

// CheckResult checks a result against the tool's Returns. It returns the result in its one
// form, as [Tool.Check] does; unlike an argument, an integer may be of any size. A result
// that does not fit is an error of kind Failed.
func (t *Tool) CheckResult(v value.Value) (value.Value, error) {
	if t.Returns == nil {
		return v, nil
	}
	c := checker{bigInts: true}
	v = c.value(t.Returns, v)
	c.in(0, "Result")
	if c.ok() {
		return v, nil
	}
	return nil, value.Errorf(value.Failed, "the result of '%s' does not have its declared type:%s", t.Name, c.bullets()).
		WithHint("fix the return type or the handler of the tool")
}

// problemText words a problem of arguments as those of declared parameters are worded.
func problemText(p jsonschema.Problem, params []Param) string {
	switch {
	case len(p.Path) > 0:
		first, rest := p.Path[0], jsonschema.Problem{Path: p.Path[1:], Missing: p.Missing, Unknown: p.Unknown, Text: p.Text}.String()
		if len(p.Path) > 1 && p.Path[1][0] != '[' {
			rest = "." + rest
		} else if len(p.Path) == 1 {
			rest = " " + rest
		}
		return "Parameter '" + first + "'" + rest
	case p.Missing != "":
		return "Missing required parameter: " + p.Missing
	case p.Unknown != "":
		return unknownParam(p.Unknown, params)
	}
	return "The arguments: " + p.Text
}

// report is the text that a model gets about a call.
func (c *checker) report(t *Tool) string {
	return "Tool input validation failed for '" + t.Name + "':" + c.bullets()
}

func (c *checker) bullets() string {
	var b strings.Builder
	for _, p := range c.problems {
		b.WriteString("\n  - " + p)
	}
	if c.more > 0 {
		fmt.Fprintf(&b, "\n  - … and %d more", c.more)
	}
	return b.String()
}

// ExampleArgs returns the required arguments of a call of the tool, with those of its
// first example; what that does not have are stand-ins of the right type.
func (t *Tool) ExampleArgs() *value.Dict {
	args := &value.Dict{}
	var example *value.Dict
	if len(t.Examples) > 0 {
		example = t.Examples[0].Args
	}
	for _, p := range t.Params {
		v, ok := example.Get(p.Name)
		if p.FromHost || (!ok && !p.Required) {
			continue
		}
		if !ok {
			v = standIn(p.Type)
		}
		args.Put(p.Name, v)
	}
	return args
}

// standIn returns a value of a type, to show in an example.
func standIn(t Type) value.Value {
	if len(t.Enum) > 0 {
		return t.Enum[0]
	}
	switch t.Name {
	case TypeString, TypeAny, "":
		return "…"
	case TypeNumber, TypeInteger:
		if t.Min != nil {
			return t.Min
		}
		return int64(1)
	case TypeBoolean, TypeLogical:
		return true
	case TypeCharacter:
		return value.List{"…"}
	case TypeArray, TypeList:
		return value.List{}
	}
	return value.NewDict()
}

// params checks the arguments of a call against the parameters.
func (c *checker) params(params []Param, args *value.Dict, allowExtra bool) (checked *value.Dict, missing bool) {
	c.names(params, args, allowExtra)
	checked = value.MakeDict(len(params))
	for i := range params {
		p := &params[i]
		if p.FromHost {
			continue
		}
		given, has := args.Lookup(givenAs(args, p))
		switch {
		case given.Value != nil, p.Type.Nullable && p.Required && has:
			before := len(c.problems)
			given.Value = c.value(&p.Type, given.Value)
			if given.Key != p.Name {
				given.Key = p.Name
			}
			checked.PutEntry(given)
			c.in(before, "Parameter '", p.Name, "'")
		case p.Required:
			missing = true
			c.add("Missing required parameter: " + p.Name)
		case p.HasDefault:
			checked.Put(p.Name, p.Default)
		}
	}
	return checked, missing
}

// names checks that every argument is one of the parameters, and only once.
func (c *checker) names(params []Param, args *value.Dict, allowExtra bool) {
	for k := range args.All() {
		name, ok := k.(string)
		p, known := findParam(params, name)
		switch {
		case !ok:
			c.add("Parameter names must be strings, got " + gotType(k))
		case known && p.FromHost: // the host's own value takes its place
		case known:
			if name != givenAs(args, p) {
				c.add(fmt.Sprintf("Duplicate parameter '%s': '%s' is an alias of the same parameter", p.Name, name))
			}
		case known || !allowExtra:
			c.add(unknownParam(name, params))
		}
	}
}

// givenAs returns the name under which a parameter is given: its own or the
// first of its aliases; "" if it is not.
func givenAs(args *value.Dict, p *Param) string {
	if args.Has(p.Name) {
		return p.Name
	}
	for _, a := range p.Aliases {
		if args.Has(a) {
			return a
		}
	}
	return ""
}

func unknownParam(name string, params []Param) string {
	valid := paramNames(params)
	if len(valid) == 0 {
		return fmt.Sprintf("Unknown parameter: %s (there are no parameters)", name)
	}
	return fmt.Sprintf("Unknown parameter: %s%s (valid: %s)", name, value.DidYouMean(name, valid), strings.Join(valid, ", "))
}

func (t *Tool) checkRaw(args *value.Dict) (*value.Dict, error) {
	schema := t.compiled
	if schema == nil || !schema.Of(t.Schema) {
		var err error
		if schema, err = jsonschema.New(t.Schema, nil); err != nil {
			return nil, err
		}
	}
	if args == nil {
		args = &value.Dict{}
	}
	err := schema.Check(args)
	if err == nil {
		return args, nil
	}
	c := checker{}
	if value.KindOf(err) == value.Invalid {
		params, _ := t.CallerParams() // a schema that is no such list has no names to choose from
		for _, p := range schema.Problems(args, maxProblems) {
			c.add(problemText(p, params))
		}
	}
	if c.ok() { // a keyword that is not explained
		c.add(err.Error())
	}
	return nil, value.Errorf(value.KindOf(err), "%s", c.report(t)).WithHint("see the schema: cassidy tool schema %s", t.Name)
}
