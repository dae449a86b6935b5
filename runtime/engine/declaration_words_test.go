package engine

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/engine/diagnostic"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A declaration that cannot be read has one error, and running the file reports it in the words of the check.
func TestDeclarationErrorIsThatOfTheCheck(t *testing.T) {
	t.Parallel()
	const def = "def rates(a: str) -> str:\n    \"\"\"Say a.\"\"\"\n    return http.get(a)\n\n"
	for _, c := range []struct{ name, path, text, want, hint string }{
		{"the word", "x.star", def + "tol(rates, needs = [\"http.get:a\"])", `x.star:5:1: undefined: tol; did you mean "tool"?`, ""},
		{"the other word", "x.star", def + "worklow(rates)", `x.star:5:1: undefined: worklow; did you mean "workflow"?`, ""},
		{"the handler", "x.star", def + "tool(rate, needs = [\"http.get\"])", `x.star:5:6: undefined: rate; did you mean "rates"?`, ""},
		{"a constant of JSON", "x.star", def + "tool(rates, needs = [\"http.get\"], hints = {\"read_only\": true})", `x.star:5:57: undefined: true`, "write True"},
		{"a name for the needs", "x.star", "NEEDS = [\"http.get\"]\n" + def + "tool(rates, needs = NEDS)", `x.star:6:21: undefined: NEDS; did you mean "NEEDS"?`, ""},
		{"the field of the needs", "x.star", def + "tool(rates, need = [\"http.get\"])", `x.star:5:13: tool() has no field 'need'; did you mean "needs"?`, "the fields are"},
		{"the field of the needs in Lua", "x.lua", "return tool{\n  need = {\"http.get\"},\n  description = \"Say a.\",\n  params = {a = param(\"string\", \"a\")},\n  handler = function(p) return http.get(p.a) end,\n}", `x.lua:2: tool() has no field 'need'; did you mean "needs"?`, "the fields are"},
		{"a name without a similar one", "x.star", def + "tool(rates, needs = [\"http.get\"], title = TITLE)", `x.star:5:43: undefined: TITLE`, "write the value"},
		{"a name in a function", "x.star", "def f():\n    \"Say it.\"\n    return htp.get(\"a\")\n\ntool(f)\n", `x.star:3:12: undefined: htp; did you mean "http"?`, ""},
		{"a function of a module", "x.star", "def f():\n    \"Say it.\"\n    return http.gett(\"a\")\n\ntool(f)\n", `x.star:3:17: http has no gett; did you mean "get"?`, "use one of the functions: get"},
		{"a handler that is a value", "x.star", "R = 1\ntool(R)", `x.star:2:6: handler must be a function`, "pass a function"},
		{"no declaration", "x.star", "def _f():\n    pass\n\ndef g():\n    return _f()\n", `x.star: the file does not declare a tool`, "end the file with tool(g)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := New(&Options{Modules: []tool.Module{{Name: "http", Funcs: []tool.Func{{
				Name: "get", Doc: "Get.", Kind: tool.Read, Params: []tool.Param{{Name: "url", Type: tool.Type{Name: tool.TypeString}, Required: true}},
				Target: func(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "http.get"}}, nil },
			}}}}})
			s := tool.Script{Path: c.path, Source: c.text}
			_, err := e.Describe(s)
			got := value.ErrorOf(err, value.Failed)
			if got == nil || got.Error() != c.want || len(got.Hint) < len(c.hint) || got.Hint[:len(c.hint)] != c.hint || c.hint == "" && got.Hint != "" {
				t.Fatalf("Describe: %v, hint %q; want %s, hint %q", err, got.Hint, c.want, c.hint)
			}
			var errs []diagnostic.Diagnostic
			for _, d := range e.Check(s, &Known{Kind: KindTool}) {
				if d.Severity == diagnostic.Error {
					errs = append(errs, d)
				}
			}
			if len(errs) != 1 || errs[0].Message != got.Message() || errs[0].Hint != got.Hint || got.Pos.Line != 0 && errs[0].Pos.Line != got.Pos.Line ||
				got.Pos.Col != 0 && errs[0].Pos.Col != got.Pos.Col {
				t.Errorf("Check: %+v; want only %v, hint %q", errs, got, got.Hint)
			}
		})
	}
}
