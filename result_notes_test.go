package cassidy_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/testhost"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/model/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestNotesOnResults checks that a guess in a table is told with each result that is made of it, and is
// never a part of the CSV or JSON: to programs, in a later process too, and to models.
func TestNotesOnResults(t *testing.T) {
	t.Parallel()
	dir, journal := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"prices.csv": "city,amount\nK\xf6ln,\"1.234,5\"\nBonn,\"2.000,1\"\n",
		".cassidy/tools/total.star": `def total() -> str:
    """Query the prices, alone and twice at a time."""
    args = {"query": "SELECT city FROM data", "filepath": "prices.csv", "output": "csv"}
    tools.call_all([("query_data", args)] * 2)
    return tools.query_data(**args)

tool(total, needs = ["tool:query_data", "fs.read"])
`,
		".cassidy/tools/shown.lua": `local function shown()
  show(data.parse("n\n1\n2\n"))
  show({n = 3})
  return "text"
end

return tool{description = "Return a text, and show something else.", handler = shown}
`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	open := func() *cassidy.Host {
		h, err := testhost.Open(t, testhost.On{Sandbox: cassidy.Process, Journal: journal}, dir, &cassidy.Options{TrustSource: true, Approver: cassidy.ApproveAll()})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	const encoding, column = "note: encoding windows-1252 (guessed)", "note: numbers are read with"
	noted := func(text string, each int) bool {
		return strings.Count(text, encoding) == each && strings.Count(text, column) == each
	}
	query := func(output string) cassidy.Call {
		return cassidy.Call{Tool: "query_data", Args: value.NewDict("query", "SELECT city FROM data", "filepath", "prices.csv", "output", output)}
	}
	h := open()
	for output, want := range map[string]string{"json": `[{"city":"Köln"},{"city":"Bonn"}]`, "csv": "city\nKöln\nBonn\n"} {
		r, err := h.Call(t.Context(), query(output), cassidy.Durable(output))
		if err != nil || r.Value != want || !noted(r.Notes, 1) {
			t.Errorf("%s: the result is %q with the notes %q, %v", output, r.Value, r.Notes, err)
		}
		if text, err := r.MarshalJSON(); err != nil || !strings.Contains(string(text), `"notes":"note: encoding`) {
			t.Errorf("%s: the result as JSON is %s, %v", output, text, err)
		}
	}
	shown, err := h.Call(t.Context(), query("table"))
	parts, _ := shown.Display.(value.List)
	if err != nil || len(parts) < 3 || value.FormatJSON(parts[0], "") != `[{"city":"Köln"},{"city":"Bonn"}]` || !strings.HasPrefix(value.FormatJSON(parts[1], ""), `"`+encoding) {
		t.Errorf("a terminal shows %v of the table, %v", shown.Display, err)
	}
	for _, again := range []bool{false, true} { // what is shown is not recorded
		r, err := h.Call(t.Context(), cassidy.Call{Tool: "shown"}, cassidy.Durable("shown"))
		want := `[[{"n":1},{"n":2}],{"n":3}]`
		if again {
			want = "null"
		}
		if got := value.FormatJSON(r.Display, ""); err != nil || r.Value != "text" || got != want {
			t.Errorf("a call from Lua, made before: %v: the result is %v, and a terminal shows %s, %v", again, r.Value, got, err)
		}
	}
	r, err := h.Call(t.Context(), cassidy.Call{Tool: "total"})
	if err != nil || !noted(r.Notes, 3) {
		t.Errorf("a tool that calls it has the notes %q, %v", r.Notes, err)
	}

	if err := agent.RegisterCode(h); err != nil {
		t.Fatal(err)
	}
	said := ""
	m := script.New("noting", true, func(_ context.Context, messages value.List, turn int) (value.Value, error) {
		last := messages[len(messages)-1].(*value.Dict)
		said += value.FormatJSON(last, "")
		calls := []value.Value{
			value.NewDict("tool_calls", value.List{value.NewDict("name", "query_data", "arguments", query("json").Args)}),
			value.NewDict("tool_calls", value.List{value.NewDict("name", "execute_code", "arguments", value.NewDict("code", `len(query_data(query = "SELECT city FROM data", filepath = "prices.csv", output = "csv"))`))}),
			"done",
		}
		return calls[turn], nil
	})
	a, err := agent.New(h, &agent.Options{Model: m, Tools: []string{"query_data", "execute_code"}})
	if err != nil {
		t.Fatal(err)
	}
	if reply, err := a.Run(t.Context(), "query the prices"); err != nil || len(reply.Calls) != 2 || strings.Count(said, encoding) != 2 {
		t.Errorf("the model was told %s after %v, %v", said, reply.Calls, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}

	if r, err := open().Resume(t.Context(), "json"); err != nil || !noted(r.Notes, 1) {
		t.Errorf("the recorded result has the notes %q, %v", r.Notes, err)
	}
}
