package cassidy_test

import (
	"go/ast"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"go/types"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
)

// withLists point to the types whose aliases list their exported fields and methods, by the folders of the aliases.
var withLists = map[string][]any{".": {
	(*cassidy.Host)(nil), (*cassidy.Workers)(nil), (*cassidy.Source)(nil), (*cassidy.Tool)(nil), (*cassidy.Param)(nil), (*cassidy.Type)(nil),
	(*cassidy.Call)(nil), (*cassidy.Result)(nil), (*cassidy.Error)(nil), (*cassidy.CallFunc)(nil), (*cassidy.Middleware)(nil), (*cassidy.Executor)(nil),
	(*cassidy.Dict)(nil), (*cassidy.List)(nil), (*cassidy.Media)(nil), (*cassidy.Rule)(nil), (*cassidy.Capability)(nil), (*cassidy.Limits)(nil),
	(*cassidy.Approver)(nil), (*cassidy.ApproverFunc)(nil), (*cassidy.Asker)(nil), (*cassidy.AskerFunc)(nil), (*cassidy.CommandRule)(nil),
	(*cassidy.Question)(nil), (*cassidy.Answer)(nil), (*cassidy.Change)(nil), (*cassidy.ParkedError)(nil), (*cassidy.Run)(nil), (*cassidy.RunFilter)(nil),
	(*cassidy.Module)(nil), (*cassidy.Func)(nil), (*cassidy.Effect)(nil), (*cassidy.Outcome)(nil), (*cassidy.Event)(nil), (*cassidy.EventFilter)(nil),
	(*cassidy.ToolCallStart)(nil), (*cassidy.ToolCallEnd)(nil), (*cassidy.Progress)(nil),
}, "runtime/agent": {
	(*agent.Budget)(nil), (*agent.Ceilings)(nil), (*agent.OverheadReport)(nil), (*agent.Seen)(nil), (*agent.Skill)(nil),
}}

// TestAliasLists checks that the list in the comment of an alias has all exported fields and methods of the type, and
// nothing else. Without it, go doc shows none of them.
func TestAliasLists(t *testing.T) {
	t.Parallel()
	for folder, pointers := range withLists {
		names, lists := aliasLists(t, folder)
		names[reflect.TypeFor[cassidy.RunState]().String()] = "RunState" // an alias of an alias
		for _, pointer := range pointers {
			typ := reflect.TypeOf(pointer).Elem()
			name := names[typ.String()]
			want, got := membersOf(typ, names), lists[name]
			for member, form := range want {
				if got[member] != form {
					t.Errorf("%s: the comment of %s has %q for %s, want %q", folder, name, got[member], member, form)
				}
			}
			for member := range got {
				if _, ok := want[member]; !ok {
					t.Errorf("%s: the comment of %s lists %s, which it does not have", folder, name, member)
				}
			}
			delete(lists, name)
		}
		for name := range lists {
			t.Errorf("%s: the list in the comment of %s is not checked: add it to withLists", folder, name)
		}
	}
}

// aliasLists returns the names of the aliases of the package in a folder by the types that they stand for, and the lists
// in their comments.
func aliasLists(t *testing.T, folder string) (names map[string]string, lists map[string]map[string]string) {
	t.Helper()
	names, lists = map[string]string{}, map[string]map[string]string{}
	for _, f := range goFiles(t) {
		if f.Dir != folder || f.Test {
			continue
		}
		for _, decl := range f.AST.Decls {
			group, ok := decl.(*ast.GenDecl)
			for i := 0; ok && i < len(group.Specs); i++ {
				spec, ok := group.Specs[i].(*ast.TypeSpec)
				if !ok || !spec.Assign.IsValid() {
					continue
				}
				text := spec.Doc
				if text == nil {
					text = group.Doc
				}
				names[types.ExprString(spec.Type)] = spec.Name.Name
				if list := readList(t, spec.Name.Name, text.Text()); len(list) > 0 {
					lists[spec.Name.Name] = list
				}
			}
		}
	}
	return names, lists
}

// readList returns the types of the fields and methods in the indented lines of a comment, by their names. A method is
// written as in an interface. A line with a type alone, which a function or a slice has, is under "".
func readList(t *testing.T, name, text string) map[string]string {
	t.Helper()
	list := map[string]string{}
	for _, block := range new(comment.Parser).Parse(text).Content {
		code, ok := block.(*comment.Code)
		if !ok {
			continue
		}
		for line := range strings.Lines(code.Text) {
			line, _, _ = strings.Cut(line, "//")
			line = strings.TrimSpace(line)
			source := "func(" + line + ")" // fields are written as parameters are
			switch before, _, _ := strings.Cut(line, "("); {
			case line == "":
				continue
			case before == "func" || strings.HasPrefix(line, "[]"):
				source = "func(_ " + line + ")"
			case token.IsIdentifier(before):
				source = "func(" + before + " func" + strings.TrimPrefix(line, before) + ")"
			}
			expr, err := parser.ParseExpr(source)
			if err != nil {
				t.Errorf("the comment of %s has the line %q: %v", name, line, err)
				continue
			}
			for _, field := range expr.(*ast.FuncType).Params.List {
				ast.Inspect(field.Type, removeNames)
				for _, member := range field.Names {
					list[strings.TrimPrefix(member.Name, "_")] = spell(types.ExprString(field.Type), nil)
				}
			}
		}
	}
	return list
}

// removeNames removes the names of parameters and results.
func removeNames(n ast.Node) bool {
	if list, ok := n.(*ast.FieldList); ok {
		var all []*ast.Field
		for _, f := range list.List {
			for range max(1, len(f.Names)) {
				all = append(all, &ast.Field{Type: f.Type})
			}
		}
		list.List = all
	}
	return true
}

// membersOf returns the exported fields and methods of a type as readList does.
func membersOf(typ reflect.Type, names map[string]string) map[string]string {
	members := map[string]string{}
	switch typ.Kind() {
	case reflect.Struct:
		for f := range typ.Fields() {
			if f.IsExported() {
				members[f.Name] = spell(f.Type.String(), names)
			}
		}
	case reflect.Slice:
		members[""] = spell("[]"+typ.Elem().String(), names)
	case reflect.Func:
		members[""] = spell(withoutReceiver(typ, 0).String(), names)
	}
	receivers := 0
	if typ.Kind() != reflect.Interface {
		typ, receivers = reflect.PointerTo(typ), 1
	}
	for m := range typ.Methods() {
		if m.IsExported() {
			members[m.Name] = spell(withoutReceiver(m.Type, receivers).String(), names)
		}
	}
	return members
}

func withoutReceiver(f reflect.Type, receivers int) reflect.Type {
	var in, out []reflect.Type
	for p := range f.Ins() {
		in = append(in, p)
	}
	for r := range f.Outs() {
		out = append(out, r)
	}
	return reflect.FuncOf(in[receivers:], out, f.IsVariadic())
}

var (
	pathOfPackage = regexp.MustCompile(`[\w.-]+/`)
	qualifiedName = regexp.MustCompile(`\w+\.\w+`)
	sameTypes     = strings.NewReplacer(" ", "", "interface {}", "any", "Value", "any", "uint8", "byte")
)

// spell writes a type with the names of this package, in one of the ways in which it can be written.
func spell(typ string, names map[string]string) string {
	typ = qualifiedName.ReplaceAllStringFunc(pathOfPackage.ReplaceAllString(typ, ""), func(name string) string {
		if alias, ok := names[name]; ok {
			return alias
		}
		return name
	})
	return sameTypes.Replace(typ)
}
