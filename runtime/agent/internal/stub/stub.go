// Package stub shows tools as the functions of programs that a model writes.
package stub

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/names"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/prose"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	// fewTools is up to how many tools a stub says all that their summaries do.
	fewTools = 30
	// stubSummary and briefSummary are how long those are, in characters, of few
	// tools and of many.
	stubSummary  = 160
	briefSummary = 60
	// stubChoices is how many values of an enumeration a stub lists.
	stubChoices = 12
	// maxSignature is how long a function with its types may be, in bytes, before
	// the keys of objects and the items of lists are left out.
	maxSignature = 500
	// stubDefault is how long a default may be to be shown, in characters.
	stubDefault = 20
)

// A Function is a tool as a program calls it.
type Function struct {
	Tool   *tool.Tool
	name   string
	params []parameter // the required ones first
	more   bool        // it takes any argument by its name
}

// A parameter has the name by which a program gives it.
type parameter struct {
	*tool.Param
	name string
}

// inPrograms reports whether a program may call a tool. It cannot run others, has
// no agents, and ends no task.
func inPrograms(t *tool.Tool) bool {
	return t.State == tool.Ready && !decision.IsProgramTool(t) && tool.Key(t.Name) != AgentTool && tool.Key(t.Name) != CompleteTool
}

// BindTools makes tools the functions of a program.
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
		inside := nameSet{"tools": true, "args": f.more} // which its body uses
		for _, required := range []bool{true, false} {
			for j := range params {
				if params[j].Required == required {
					f.params = append(f.params, parameter{&params[j], inside.take(params[j].Name, names.IsKeyword)})
				}
			}
		}
		list = append(list, f)
	}
	return list
}

// isReserved reports whether a name means something in every program already.
func isReserved(name string) bool {
	return names.IsKeyword(name) || names.IsPredeclared(name) || name == "main" || name == "result"
}

// names are those that are taken.
type nameSet map[string]bool

// take makes a name one that a program can write, which nothing else has.
func (n nameSet) take(name string, reserved func(string) bool) string {
	name = strings.Map(func(r rune) rune {
		if r < 128 && prose.IsWord(byte(r)) {
			return r
		}
		return '_'
	}, name)
	if name == "" || '0' <= name[0] && name[0] <= '9' {
		name = "_" + name
	}
	for n[name] || reserved(name) {
		name += "_"
	}
	n[name] = true
	return name
}

// LibText returns the file with the functions of a program. An argument that is
// None is not given, unless the tool requires it.
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

// Text returns what a model is told of tools that are functions of its program, a
// line for each, as in
//
//	read_file(filepath: str, start_line: int = None) -> str  # Read a text file.
//
// With more than 30 tools, no line says more of one than 60 characters. Left out
// are those that a program cannot call: execute_code itself, agent, task_complete,
// and what is not ready.
func Text(tools []tool.Tool) string {
	list := BindTools(tools)
	var b strings.Builder
	for _, f := range list {
		line := f.signature(0)
		if len(line) > maxSignature {
			line = f.signature(MaxNesting)
		}
		if about := stubText(f.Tool, len(list)); about != "" {
			line += "  # " + about
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// signature writes the function with its types, as if they began so deep down.
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

// stubText says what a tool does, the shorter the more tools there are.
func stubText(t *tool.Tool, tools int) string {
	text := prose.OneLine(t.Summary())
	if tools <= fewTools {
		return prose.Clip(text, stubSummary)
	}
	return prose.Clip(strings.TrimSpace(prose.FirstSentence(text)), briefSummary)
}

// defaultOf writes what an argument is that is not given: its default, where that
// is short, else None.
func defaultOf(p *tool.Param) string {
	switch p.Default.(type) {
	case bool, int64, float64, string:
		if text := StarText(p.Default); p.HasDefault && len(text) <= stubDefault {
			return text
		}
	}
	return "None"
}

// typeText writes a type as Python does, with the keys of objects and the choices
// of enumerations.
func typeText(t *tool.Type, depth int) string {
	text := plainType(t, depth)
	if t.Nullable {
		text += " | None"
	}
	return text
}

func plainType(t *tool.Type, depth int) string {
	if n := len(t.Enum); n > 0 && n <= stubChoices {
		choices := make([]string, n)
		for i, v := range t.Enum {
			choices[i] = StarText(v)
		}
		return strings.Join(choices, "|")
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

// dictText writes the type of an object; a ? marks a key that may be left out.
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

// StarText writes a value as a program does.
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

// CompleteTool is the tool whose call ends a task.
const CompleteTool = "task_complete"

// AgentTool is the tool with which an agent, or a script, has another agent work.
const AgentTool = "agent"

// MaxNesting is how deep the fields of an object are listed. A check names
// what is wrong deeper down.
const MaxNesting = 3
