package decision

import (
	"path"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/loose"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// offered are the tools that a model may call.
type offered struct {
	list  []tool.Tool
	byKey map[string]*tool.Tool
}

// offeredTools returns the tools of a list, which must not change.
func offeredTools(list []tool.Tool) offered {
	s := offered{list, make(map[string]*tool.Tool, len(list))}
	for i := range list {
		s.byKey[tool.Key(list[i].Name)] = &list[i]
	}
	return s
}

// Find returns the tool with a name, or nil. "-" and "_" are equal in names. Some prefixes and
// suffixes that models add are ignored.
func (s offered) Find(name string) *tool.Tool {
	if t := s.byKey[tool.Key(name)]; t != nil {
		return t
	}
	name = strings.TrimSuffix(name, ".call")
	for _, prefix := range []string{"", "functions.", "tools.", "default_api."} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && s.byKey[tool.Key(rest)] != nil {
			return s.byKey[tool.Key(rest)]
		}
	}
	return nil
}

// FindFold is Find that also ignores case, quotes and brackets. It is for formats in which
// the position of the name is certain.
func (s offered) FindFold(name string) *tool.Tool {
	name = plainName(name)
	if t := s.Find(name); t != nil {
		return t
	}
	for i := range s.list {
		if strings.EqualFold(tool.Key(s.list[i].Name), tool.Key(name)) {
			return &s.list[i]
		}
	}
	return nil
}

// plainName removes quotes, emphasis and brackets around the name of a tool.
func plainName(name string) string {
	return strings.TrimSpace(strings.TrimSuffix(strings.Trim(name, "`\"'* \t\r\n"), "()"))
}

// required returns the parameters for which a call needs arguments.
func required(t *tool.Tool) []tool.Param {
	return slices.DeleteFunc(slices.Clone(t.Params), func(p tool.Param) bool { return !p.Required || p.FromHost || p.HasDefault })
}

// missing returns the first required parameter without an argument, or "".
func missing(t *tool.Tool, args *value.Dict) string {
	for _, p := range required(t) {
		if !args.Has(p.Name) && !slices.ContainsFunc(p.Aliases, args.Has) {
			return p.Name
		}
	}
	return ""
}

// fits reports whether a tool accepts the arguments: all required ones and no unknown ones.
func fits(t *tool.Tool, args *value.Dict) bool {
	for k := range args.All() {
		name, _ := k.(string)
		if _, ok := t.Param(name); !ok {
			return false
		}
	}
	return missing(t, args) == ""
}

// onlyArg returns a text as the argument of a tool whose only required parameter is a text.
func onlyArg(t *tool.Tool, text string) (*value.Dict, bool) {
	required := required(t)
	if len(required) != 1 || required[0].Type.Name != tool.TypeString || strings.HasPrefix(text, "{") {
		return nil, false
	}
	return value.NewDict(required[0].Name, text), true
}

// isStandInFor reports whether an argument is a placeholder for a parameter, as in <path>, or
// PATH_TO_FILE for a path.
func isStandInFor(name string, v value.Value) bool {
	text, _ := v.(string)
	return isStandIn(text) || text == strings.ToUpper(text) && strings.Contains(text, strings.ToUpper(name)+"_")
}

// isStandIn reports whether a text is a placeholder: "...", <path>, {path}, your_path_here,
// /path/to/it.
func isStandIn(text string) bool {
	low := strings.ToLower(strings.TrimSpace(text))
	switch {
	case low == "..." || low == "…", strings.HasPrefix(low, "your") && strings.HasSuffix(low, "here"), strings.HasPrefix(low, "/path/to"):
		return true
	case low == "" || low[:1]+low[len(low)-1:] != "<>" && low[:1]+low[len(low)-1:] != "{}":
		return false
	}
	inner := strings.Trim(low, "<>{}")
	return inner != "" && strings.Trim(inner, "abcdefghijklmnopqrstuvwxyz0123456789_- ") == ""
}

// OnlyNamed returns the tool that a text names and its position, or nil if it does not name exactly
// one.
func (s offered) OnlyNamed(text string) (named *tool.Tool, at int) {
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && prose.IsName(text[i]) {
			i++
		}
		t := s.Find(strings.Trim(text[start:i], ".-"))
		if t != nil && named != nil && t != named {
			return nil, 0
		}
		if t != nil && named == nil {
			named, at = t, start
		}
	}
	return named, at
}

// argsFromText returns the only quoted text as the required argument of a tool, or as its path. A
// path must have an extension.
func argsFromText(t *tool.Tool, text string) (*value.Dict, bool) {
	quoted := slices.DeleteFunc(prose.Quoted(text), func(v string) bool {
		return tool.Key(strings.TrimSuffix(v, "()")) == tool.Key(t.Name)
	})
	required := required(t)
	if len(quoted) == 0 && len(required) == 0 {
		return &value.Dict{}, true
	}
	if len(quoted) != 1 || len(required) > 1 {
		return nil, false
	}
	for _, p := range append(required, t.Params...) {
		isPath := strings.HasSuffix(p.Name, "path") || strings.HasSuffix(p.Name, "file")
		if p.Type.Name == tool.TypeString && (isPath && path.Ext(quoted[0]) != "" || !isPath && len(required) == 1) {
			return value.NewDict(p.Name, quoted[0]), true
		}
		if len(required) == 1 {
			break
		}
	}
	return nil, false
}

// bracketArgs reads arguments for a tool up to a round bracket: by name, by position, or as one
// object. They must be literals. It returns the end of the bracket.
func bracketArgs(t *tool.Tool, p *loose.Reader) (*value.Dict, int, *loose.Fault) {
	args, place := &value.Dict{}, 0
	for {
		p.Space()
		if p.Peek() == ')' {
			return args, p.At + 1, nil
		}
		name := argName(p)
		v, err := p.Value()
		if err != nil {
			return nil, 0, err
		}
		if object, ok := v.(*value.Dict); ok && name == "" && args.Len() == 0 && fits(t, object) {
			args = object
		} else {
			for ; name == "" && place < len(t.Params); place++ {
				if !t.Params[place].FromHost {
					name = t.Params[place].Name
				}
			}
			if name == "" || args.Has(name) {
				return nil, 0, p.Fail("another argument name or the end of the arguments")
			}
			args.Put(name, v)
		}
		if p.Space(); p.Peek() == ',' {
			p.At++
		} else if p.Peek() != ')' {
			return nil, 0, p.Fail("a comma or )")
		}
	}
}

// argName reads "name =" and returns the name, or "" if something else is next.
func argName(p *loose.Reader) string {
	i := p.At
	for i < len(p.Text) && i < p.At+128 && prose.IsWord(p.Text[i]) {
		i++
	}
	j := prose.SkipBlank(p.Text, i)
	if i == p.At || j >= len(p.Text) || p.Text[j] != '=' || strings.HasPrefix(p.Text[j:], "==") {
		return ""
	}
	name := p.Text[p.At:i]
	p.At = j + 1
	p.Space()
	return name
}

// Names returns the names of the tools that the model may call.
func (s offered) Names() []string {
	return value.Map(s.list, func(t tool.Tool) string { return t.Name })
}
