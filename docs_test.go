package cassidy_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib"
)

var update = flag.Bool("update", false, "rewrite docs/reference.md")

// TestReference keeps docs/reference.md what the rows of stdlib say.
func TestReference(t *testing.T) {
	t.Parallel()
	world, err := stdlib.Open(&stdlib.Options{Root: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	modules := slices.Concat(stdlib.Pure(), world.Modules(), project.Modules(t.TempDir(), func() *trust.Scope { return &trust.Scope{} }), host.Modules(), agent.Modules(), []tool.Module{agent.ModelModule(nil)})
	got := referencePage(modules)
	const file = "docs/reference.md"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is not what the rows say; run go test . -run TestReference -update", file)
	}
}

func referencePage(modules []tool.Module) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	names := []string{}
	for _, m := range modules {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		title := name
		if name == "" {
			title = "Without a module"
		}
		fmt.Fprintf(&b, "\n## %s\n", title)
		if name == "" {
			b.WriteString("\nCall these functions without the name of a module.\n")
		}
		var funcs []tool.Func
		documented := false
		for _, m := range modules {
			if m.Name != name {
				continue
			}
			if m.Doc != "" && name != "" && !documented {
				documented = true
				fmt.Fprintf(&b, "\n%s\n", m.Doc)
			}
			funcs = append(funcs, m.Funcs...)
			for _, c := range m.Consts {
				fmt.Fprintf(&b, "\n**`%s.%s`** %s\n", name, c.Name, c.Doc)
			}
		}
		slices.SortStableFunc(funcs, func(x, y tool.Func) int { return strings.Compare(x.Name, y.Name) })
		for i := range funcs {
			if funcs[i].Mode != tool.ModeInternal {
				b.WriteString(referenceEntry(name, &funcs[i]))
			}
		}
		for _, m := range modules {
			if m.Name == name {
				b.WriteString(referenceObjects(m.Objects))
			}
		}
	}
	return b.String()
}

const referenceHead = `# Functions for scripts

Generated from the descriptions in the code; do not edit.

The functions are the same in Starlark and in Lua. Pass arguments in order or by name:
` + "`fs.glob(\"*.md\", hidden = True)`, and in Lua `fs.glob(\"*.md\", {hidden = true})`" + `.
"Needs ` + "`fs.read`" + `" means that a tool must declare the capability ` + "`fs.read` in its `needs`" + ` to call the function.
The type ` + "`character`" + ` takes a list of strings, or one string. The type ` + "`table`" + ` takes a table,
as the module data returns it, and ` + "`tables`" + ` takes one or several tables. The type ` + "`function`" + ` takes a function
of the script. The type ` + "`names`" + ` takes one or several column names, or a function. In the descriptions, "text" means a string.
`

// referenceObjects writes what scripts can do with the objects of a module.
func referenceObjects(types []*tool.ObjectType) string {
	var b strings.Builder
	for _, t := range types {
		fmt.Fprintf(&b, "\n## %s (an object)\n\n%s\n", t.Name, t.Doc)
		for i := range t.Fields {
			f := &t.Fields[i]
			fmt.Fprintf(&b, "\n**`%s.%s`** %s Its value is %s.\n", t.Name, f.Name, f.Doc, f.Returns)
		}
		for i := range t.Methods {
			b.WriteString(referenceEntry(t.Name, &t.Methods[i]))
		}
	}
	return b.String()
}

func referenceEntry(module string, f *tool.Func) string {
	var b strings.Builder
	name := f.Name
	if module != "" {
		name = module + "." + f.Name
	}
	var params []string
	args := &value.Dict{}
	for _, p := range f.Params {
		text := p.Name
		if p.HasDefault {
			text += " = " + pythonLiteral(p.Default)
		} else if !p.Required {
			text += " = None"
		}
		params = append(params, text)
		args.Put(p.Name, "x")
	}
	fmt.Fprintf(&b, "\n### `%s(%s)`\n\n%s", name, strings.Join(params, ", "), f.Doc)
	if f.Target != nil {
		if needs, err := f.Target(args); err == nil {
			var list []string
			for _, c := range needs {
				if text := "`" + c.Name + "`"; !slices.Contains(list, text) {
					list = append(list, text)
				}
			}
			if len(list) > 0 {
				fmt.Fprintf(&b, " Needs %s.", strings.Join(list, " and "))
			}
		}
	}
	b.WriteString("\n\n")
	for _, p := range f.Params {
		fmt.Fprintf(&b, "- `%s` (%s): %s\n", p.Name, p.Type, p.Description)
	}
	if f.Returns != "" {
		fmt.Fprintf(&b, "- returns %s\n", strings.TrimSuffix(f.Returns, "."))
	}
	return b.String()
}

func pythonLiteral(v value.Value) string {
	switch v {
	case nil:
		return "None"
	case true:
		return "True"
	case false:
		return "False"
	}
	return value.FormatJSON(v, "")
}

// TestReadmeGo checks that the Go of the README is that of examples/embed.
func TestReadmeGo(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("examples/embed/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	code, _, ok := strings.Cut(rest, "```")
	if !ok || !strings.Contains(strings.ReplaceAll(string(program), "\n\t", "\n"), code) {
		t.Errorf("the Go of the README is not in examples/embed/main.go:\n%s", code)
	}
}
