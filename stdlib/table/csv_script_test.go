package table

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Scripts of both languages read a file and write it again, with the same errors.
func TestCSVScripts(t *testing.T) {
	t.Parallel()
	file := []byte("id;name\n1;\"x\"\n2;\n")
	do := func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
		if e.Func == "fs.stat" {
			return tool.Outcome{Value: value.NewDict("kind", "file", "size", int64(len(file)))}, nil
		}
		return tool.Outcome{Value: file}, nil
	}
	fs := tool.Module{Name: "fs"}
	for _, name := range []string{"stat", "read_bytes"} {
		fs.Funcs = append(fs.Funcs, tool.Func{Name: name, Kind: tool.Read, Params: []tool.Param{tool.Required("path", tool.TypeString, "The file.")}})
	}
	e := engine.New(&engine.Options{Modules: []tool.Module{Module(), fs}})
	const star, lua = "def f():\n    return ", "return tool{description = 'd', handler = function() return "
	for _, test := range []struct{ star, lua, want string }{
		{`data.read("a.csv").to_csv()`, `data.read("a.csv"):to_csv()`, "id,name\n1,x\n2,\n"},
		{`data.read("a.csv", types = {"id": "text"}).to_csv(delimiter = ";", header = False)`, `data.read("a.csv", {types = {id = "text"}}):to_csv({delimiter = ";", header = false})`, "\"1\";x\n\"2\";\n"},
		{`str(data.read("a.csv").types)`, `tostring(data.read("a.csv").types.id)`, "integer"},
		{`data.read("a.csv").notes[0]`, `data.read("a.csv").notes[1]`, `delimiter ";" (detected)`},
		{`data.read("a.csv", missing = ["x"]).to_csv()`, `data.read("a.csv", {missing = {"x"}}):to_csv()`, "id,name\n1,\n2,\n"},
		{`data.read("a.csv", encoding = "klingon")`, `data.read("a.csv", {encoding = "klingon"})`, `unknown encoding "klingon"`},
		{`data.parse("a,b\n1\n")`, `data.parse("a,b\n1\n")`, "text, line 2: the row has 1 cell, but the header has 2"},
		{`data.parse("a,b\n1\n", fill = True).to_csv()`, `data.parse("a,b\n1\n", {fill = true}):to_csv()`, "a,b\n1,\n"},
	} {
		for path, source := range map[string]string{"f.star": star + test.star + "\n", "f.lua": lua + test.lua + " end}\n"} {
			out, err := e.Run(context.Background(), tool.Script{Path: path, Source: source}, tool.Call{Entry: map[string]string{"f.star": "f"}[path]}, do)
			got, _ := out.Value.(string)
			if err != nil {
				got = err.Error()
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("%s: %s\n got %q\nwant %q", path, source, got, test.want)
			}
		}
	}
}
