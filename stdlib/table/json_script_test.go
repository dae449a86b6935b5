package table

import (
	"context"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// Scripts of both languages read JSON and write it again.
func TestJSONScripts(t *testing.T) {
	t.Parallel()
	e := engine.New(&engine.Options{Modules: []tool.Module{Module()}})
	const star, lua = "def f():\n    return ", "return tool{description = 'd', handler = function() return "
	for _, test := range []struct{ star, lua, want string }{
		{`data.parse('[{"a":1}]').to_json()`, `data.parse('[{"a":1}]'):to_json()`, `[{"a":1}]`},
		{`data.parse('[{"a":1}]').to_json(indent = 2)`, `data.parse('[{"a":1}]'):to_json({indent = 2})`, "[\n  {\n    \"a\": 1\n  }\n]"},
		{`data.parse('{"a":1}\n{"a":null}').to_jsonl()`, `data.parse('{"a":1}\n{"a":null}'):to_jsonl()`, "{\"a\":1}\n{\"a\":null}\n"},
		{`str(data.parse('[{"a":"x"}]').to_records()[0]["a"])`, `data.parse('[{"a":"x"}]'):to_records()[1].a`, "x"},
		{`data.parse('[1', format = "json")`, `data.parse('[1', {format = "json"})`, "text: invalid JSON at line 1, column 3: expected a comma or ] but got the end of the text"},
	} {
		for path, source := range map[string]string{"f.star": star + test.star + "\n", "f.lua": lua + test.lua + " end}\n"} {
			out, err := e.Run(context.Background(), tool.Script{Path: path, Source: source}, tool.Call{Entry: map[string]string{"f.star": "f"}[path]}, nil)
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
