package table

import (
	"context"
	"slices"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// salesModule is a module whose only function returns a table.
func salesModule() tool.Module {
	k := &kinds{}
	k.table = tool.ObjectType{Name: "table", Doc: "A table.", Fields: bound(k, tableFields()), Methods: bound(k, slices.Concat(groupRows(), describeRows()))}
	k.groups = tool.ObjectType{Name: "groups", Doc: "Groups.", Methods: bound(k, groupsRows())}
	give := member{tool.Func{Name: "sales", Doc: "Gives a table.", Returns: "a table"}, func(*call) (value.Value, error) { return sales(), nil }}
	return tool.Module{Name: "data", Doc: "Tables.", Funcs: bound(k, []member{give}), Objects: []*tool.ObjectType{&k.table, &k.groups}}
}

// TestGroupScripts checks that both languages have the same results.
func TestGroupScripts(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, star, lua, want string }{
		{"agg", `data.sales().group_by("region").agg(total = ("amount", "sum"), n = "count")`,
			`data.sales():group_by("region"):agg{total = {"amount", "sum"}, n = "count"}`,
			`[{"region":"north","total":110,"n":3},{"region":"south","total":70,"n":2},{"region":null,"total":null,"n":1}]`},
		{"agg of all", `data.sales().agg(top = ("amount", "max"))`, `data.sales():agg{top = {"amount", "max"}}`, `[{"top":70}]`},
		{"two keys", `data.sales().group_by("region", "product").count().columns`, `data.sales():group_by("region", "product"):count().columns`,
			`["region","product","count"]`},
		{"a list of keys", `data.sales().group_by(["region", "product"]).count(name = "n").rows`, `data.sales():group_by({"region", "product"}):count{name = "n"}.rows`, `5`},
		{"pivot", `data.sales().pivot("region", "ok", "amount", agg = "sum")`, `data.sales():pivot({"region"}, "ok", "amount", {agg = "sum"})`,
			`[{"region":"north","true":110,"false":null,"(missing)":null},{"region":"south","true":50,"false":20,"(missing)":null},{"region":null,"true":null,"false":null,"(missing)":null}]`},
		{"unpivot", `data.sales().unpivot(columns = "amount", keep = []).rows`, `data.sales():unpivot("amount", {}).rows`, `6`},
		{"summary", `data.sales().summary(columns = ["ok"])["top"]`, `data.sales():summary({"ok"})["top"]`, `["true"]`},
		{"describe", `data.sales().describe("basic", columns = ["ok"])`, `data.sales():describe("basic", {"ok"})`,
			`"6 rows × 6 columns\n\nname  type  missing  summary\nok    bool        1  true (4), false (1)\n"`},
	}
	e := engine.New(&engine.Options{Modules: []tool.Module{salesModule()}})
	do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		t.Errorf("unexpected effect %s", e.Func)
		return tool.Outcome{}, nil
	}
	for _, test := range tests {
		for _, s := range []tool.Script{
			{Path: "t.star", Source: "def t():\n    \"D.\"\n    return " + test.star + "\n\ntool(t)\n"},
			{Path: "t.lua", Source: "return tool{ description = \"D.\", handler = function() return " + test.lua + " end }"},
		} {
			out, err := e.Run(t.Context(), s, tool.Call{Tool: "t", Args: &value.Dict{}}, do)
			if got := value.FormatJSON(out.Value, ""); err != nil || got != test.want {
				t.Errorf("%s in %s = %s, %v, want %s", test.name, s.Path, got, err, test.want)
			}
		}
	}
}
