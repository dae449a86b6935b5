// Package stub presents tools as functions for the programs that a model writes.
package stub

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// fewTools is the largest number of tools with long summaries.
	fewTools = 30
	// stubSummary and briefSummary are the limits of long and of short summaries, in
	// characters.
	stubSummary  = 160
	briefSummary = 60
	// stubChoices is the largest number of values of an enumeration that is listed.
	stubChoices = 12
	// maxSignature is the length of a function with its types, in bytes, above which the
	// keys of objects and the items of lists are omitted.
	maxSignature = 500
	// stubDefault is the limit of a default that is shown, in bytes.
	stubDefault = 20
)

// A Function is a tool as a program calls it.
type Function struct {
	Tool   *tool.Tool
	name   string
	params []parameter // the required ones first
	more   bool        // it accepts any named argument
}

// A parameter is a parameter with its name in programs.
type parameter struct {
	*tool.Param
	name string
}

// inPrograms reports whether a program may call a tool. It may not run other programs, start
// agents or end the task.
func inPrograms(t *tool.Tool) bool {
	switch tool.Key(t.Name) {
	case decision.ProgramTool, AgentTool, CompleteTool:
		return false
	}
	return true
}

// BindTools returns the functions of a program for tools.
func BindTools(tools []tool.Tool) []Function {
	var list []Function
	taken := nameSet{}
	for i := range tools {
		t := &tools[i]
		if !inPrograms(t) {
			continue
		}
		f := Function{Tool: t, name: taken.take(tool.Key(t.Name), isReserved), more: t.AllowExtra}
		params, err := t.CallerParams()
		f.more = f.more || err != nil
		inside := nameSet{"tools": true, "args": f.more} // names in its body
		for _, required := range []bool{true, false} {
			for j := range params {
				if params[j].Required == required {
					f.params = append(f.params, parameter{&params[j], inside.take(params[j].Name, prose.IsKeyword)})
				}
			}
		}
		list = append(list, f)
	}
	return list
}

// isReserved reports whether a name has a meaning in every program.
func isReserved(name string) bool {
	return prose.IsKeyword(name) || prose.IsPredeclared(name) || name == "main" || name == "result"
}

// A nameSet is a set of used names.
type nameSet map[string]bool

// take makes a name one that a program can write, which nothing else has.
func (n nameSet) take(name string, reserved func(string) bool) string {
	for name = prose.Identifier(name); n[name] || reserved(name); {
		name += "_"
	}
	n[name] = true
	return name
}

// LibText returns the file with the functions of a program. An optional argument that is None
// is not passed to the tool.
func LibText(list []Function) string {
	var b strings.Builder
	for _, f := range list {
		var heads, required, optional []string
		for _, p := range f.params {
			head, entry := p.name, StarText(p.Name)+": "+p.name
			if p.Required {
				required = append(required, entry)
			} else {
				head += " = None"
				optional = append(optional, entry)
			}
			heads = append(heads, head)
		}
		args := "{" + strings.Join(required, ", ") + "}"
		if len(optional) > 0 {
			args += " | {k: v for k, v in {" + strings.Join(optional, ", ") + "}.items() if v != None}"
		}
		if f.more {
			heads = append(heads, "**args")
			args += " | args"
		}
		b.WriteString("def " + f.name + "(" + strings.Join(heads, ", ") + "):\n")
		b.WriteString("    " + StarText(prose.Clip(prose.OneLine(f.Tool.Summary()), stubSummary)) + "\n")
		b.WriteString("    return tools.call(" + StarText(f.Tool.Name) + ", **(" + args + "))\n\n")
	}
	return b.String()
}

// A described function is one for the engine, which checks the arguments of its calls.
type described struct {
	Function string         `json:"function"`
	Tool     string         `json:"tool"`
	Params   []describedArg `json:"params"`
	More     bool           `json:"more"`
}

type describedArg struct {
	Name  string     `json:"name"`
	Param tool.Param `json:"param"`
}

// TypesText returns the file with the types of the parameters of the functions. The arguments of
// a tool with a JSON Schema are checked by that alone, so their types are left out.
func TypesText(list []Function) (string, error) {
	all := make([]described, len(list))
	for i, f := range list {
		d := described{Function: f.name, Tool: f.Tool.Name, Params: []describedArg{}, More: f.more}
		for _, p := range f.params {
			own := tool.Param{Name: p.Name, Required: p.Required, Aliases: p.Aliases}
			if len(f.Tool.Schema) == 0 {
				own.Type = p.Type
			}
			d.Params = append(d.Params, describedArg{p.name, own})
		}
		all[i] = d
	}
	v, err := value.FromGo(all)
	return value.FormatJSON(compact(v), ""), err
}

// compact removes the fields that are empty, which most fields of a type are.
func compact(v value.Value) value.Value {
	if list, ok := v.(value.List); ok {
		return value.List(value.Map(list, compact))
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return v
	}
	kept := &value.Dict{}
	for k, v := range d.All() {
		if k == "Enum" { // its values are what they are
			kept.Put("Enum", v)
			continue
		}
		v = compact(v)
		items, isList := v.(value.List)
		inner, isDict := v.(*value.Dict)
		name, isText := k.(string)
		if v == nil || v == "" || v == false || isList && len(items) == 0 || isDict && inner.Len() == 0 || !isText {
			continue
		}
		kept.Put(name, v)
	}
	return kept
}

// Text returns the description of the functions for a model, with a line for each, as in
//
//	read_file(filepath: str, start_line: int = None) -> str  # Read a text file.
//
// With more than 30 tools the summaries are cut to 60 characters. Tools that a program may not
// call are omitted: execute_code itself, agent and task_complete.
func Text(tools []tool.Tool) string {
	list := BindTools(tools)
	var b strings.Builder
	for _, f := range list {
		line := f.short()
		if about := stubText(f.Tool, len(list)); about != "" {
			line += "  # " + about
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Signature returns a tool with the types of its parameters and of its result, by the name that it
// has in programs. Parameters have their own names.
// An optional parameter has its default, or None.
func Signature(t *tool.Tool) string {
	f := Function{Tool: t, name: prose.OneLine(tool.Key(t.Name))}
	params, err := t.CallerParams()
	f.more = t.AllowExtra || err != nil
	for _, required := range []bool{true, false} {
		for i := range params {
			if params[i].Required == required {
				f.params = append(f.params, parameter{&params[i], prose.OneLine(params[i].Name)})
			}
		}
	}
	return f.short()
}

// short returns the function with its types, without the inner ones if it is long.
func (f *Function) short() string {
	if line := f.signature(0); len(line) <= maxSignature {
		return line
	}
	return f.signature(MaxNesting)
}

// signature returns the function with its types, nested from depth on.
func (f *Function) signature(depth int) string {
	var params []string
	for _, p := range f.params {
		text := p.name + ": " + typeText(&p.Type, depth)
		if !p.Required {
			text += " = " + defaultOf(p.Param)
		}
		params = append(params, text)
	}
	if f.more {
		params = append(params, "**args")
	}
	text := f.name + "(" + strings.Join(params, ", ") + ")"
	if f.Tool.Returns != nil {
		text += " -> " + typeText(f.Tool.Returns, depth)
	}
	return text
}

// stubText returns the summary of a tool. It is shorter if there are many tools.
func stubText(t *tool.Tool, tools int) string {
	text := prose.OneLine(t.Summary())
	if tools <= fewTools {
		return prose.Clip(text, stubSummary)
	}
	return prose.Clip(strings.TrimSpace(prose.FirstSentence(text)), briefSummary)
}

// defaultOf returns the default of an argument if it is short, else None.
func defaultOf(p *tool.Param) string {
	switch p.Default.(type) {
	case bool, int64, float64, string:
		if text := StarText(p.Default); p.HasDefault && len(text) <= stubDefault {
			return text
		}
	}
	return "None"
}

// typeText returns a type in the notation of Python, with the keys of objects and the values of
// enumerations.
func typeText(t *tool.Type, depth int) string {
	text := plainType(t, depth)
	if t.Nullable {
		text += " | None"
	}
	return text
}

func plainType(t *tool.Type, depth int) string {
	if n := len(t.Enum); n > 0 && n <= stubChoices {
		return strings.Join(value.Map(t.Enum, StarText), "|")
	}
	switch t.Name {
	case tool.TypeString:
		return "str"
	case tool.TypeInteger:
		return "int"
	case tool.TypeNumber:
		return "float"
	case tool.TypeBoolean, tool.TypeLogical:
		return "bool"
	case tool.TypeMedia:
		return "media"
	case tool.TypeCharacter:
		return "list[str]"
	case tool.TypeList:
		return "list|dict"
	case tool.TypeArray:
		if t.Items == nil || depth == MaxNesting {
			return "list"
		}
		return "list[" + typeText(t.Items, depth+1) + "]"
	case tool.TypeObject:
		return dictText(t, depth)
	}
	return "any"
}

// dictText returns the type of an object. A ? marks an optional key.
func dictText(t *tool.Type, depth int) string {
	switch {
	case len(t.Fields) > 0 && depth < MaxNesting:
		keys := make([]string, len(t.Fields))
		for i := range t.Fields {
			f := &t.Fields[i]
			keys[i] = StarText(f.Name) + ": " + typeText(&f.Type, depth+1)
			if !f.Required {
				keys[i] = StarText(f.Name) + "?: " + typeText(&f.Type, depth+1)
			}
		}
		return "{" + strings.Join(keys, ", ") + "}"
	case t.Values != nil && depth < MaxNesting:
		return "dict[str, " + typeText(t.Values, depth+1) + "]"
	}
	return "dict"
}

// StarText returns a value as a literal of Starlark.
func StarText(v value.Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	}
	return value.FormatJSON(v, "")
}

// CompleteTool is the name of the tool that ends a task.
const CompleteTool = "task_complete"

// AgentTool is the name of the tool that starts a sub-agent.
const AgentTool = "agent"

// MaxNesting is how deep the fields of an object are listed. Fields at deeper levels are only
// checked.
const MaxNesting = 3
