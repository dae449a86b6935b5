package toolfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/toolfile"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestParse(t *testing.T) {
	const params = `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`
	for _, c := range []struct{ name, data string }{
		{"openai", `[{"type":"function","function":{"name":"f","description":"d","parameters":` + params + `}}]`},
		{"anthropic", `[{"name":"f","description":"d","input_schema":` + params + `}]`},
		{"mcp", `{"tools":[{"name":"f","description":"d","inputSchema":` + params + `}]}`},
		{"one", `{"name":"f","description":"d","parameters":` + params + `}`},
		{"lines", "\n" + `{"name":"f","description":"d","parameters":` + params + "}\n" + `{"name":"g"}` + "\n"},
		{"bfcl", `{"id":"x","question":[],"function":[{"name":"f","description":"d","parameters":{"type":"dict","properties":{"a":{"type":"string"}},"required":["a"]}}]}`},
		{"functions", `{"functions":[{"name":"f","description":"d","parameters":` + params + `}]}`},
	} {
		tools, err := toolfile.Parse([]byte(c.data))
		if err != nil || tools[0].Name != "f" || tools[0].Description != "d" || len(tools[0].Params) != 1 || !tools[0].Params[0].Required {
			t.Errorf("%s: got %+v, %v", c.name, tools, err)
		}
	}
	for name, data := range map[string]string{
		"nothing": ``, "a text": `"f"`, "no name": `[{"description":"d"}]`, "empty": `[]`, "a broken line": "{\"name\":\"f\"}\n{", "bad parameters": `[{"name":"f","parameters":[]}]`,
		"bad needs": `[{"name":"f","needs":["nope:x"]}]`,
	} {
		if tools, err := toolfile.Parse([]byte(data)); value.KindOf(err) != value.Invalid {
			t.Errorf("%s: got %+v, %v, want an error of kind Invalid", name, tools, err)
		}
	}
	for data, want := range map[string]string{
		"{\"name\":\"f\"}\n{":    "invalid JSON at line 2, column 2",
		`[{"name":"f"},{"x":1}]`: "definition 2: the name of the tool is missing",
		`[{"name":"f"},1]`:       "definition 2: a tool should be an object but got integer",
	} {
		if _, err := toolfile.Parse([]byte(data)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", data, err, want)
		}
	}
	data, err := os.ReadFile("../../runtime/agent/decision/testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	listed, err := toolfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if !listed[0].Hints.ReadOnly || listed[0].NeedsApproval() || !listed[5].NeedsApproval() {
		t.Errorf("the hints were not read: %+v, %+v", listed[0], listed[5])
	}
}
