package codemode_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent/codemode"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/value"
)

var scripts = map[string]string{
	"send_mail.star": `
def send_mail(to: str, text: str) -> str:
    """Send a mail to somebody.

    Args:
      to: The address.
      text: What to write.
    """
    return "sent to " + to

tool(send_mail, group = "office", tags = ["mail"], risky = True)
`,
	"list_mails.star": `
def list_mails(folder: str = "inbox") -> list[str]:
    """List the mails in a folder."""
    return [folder + "/1", folder + "/2"]

tool(list_mails, group = "office")
`,
	"add.star": `
def add(a: int, b: int) -> int:
    """Add two numbers, as a letter to a friend would."""
    return a + b

tool(add)
`,
}

func open(t *testing.T, words ...string) *cassidy.Host {
	t.Helper()
	r, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline, Store: journal.Memory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	h, err := r.Open(cassidy.Scripts(scripts), &cassidy.Options{TrustSource: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := codemode.Register(h, words...); err != nil {
		t.Fatal(err)
	}
	return h
}

// call calls one of the tools and returns its result as text, or the error.
func call(t *testing.T, h *cassidy.Host, name string, args ...any) string {
	t.Helper()
	r, err := h.Call(t.Context(), cassidy.Call{Tool: name, Args: cassidy.NewDict(args...)})
	if err != nil {
		return "error: " + value.ErrorOf(err, value.Failed).Message()
	}
	return strings.Join(strings.Fields(r.Text()), " ")
}

func TestSearch(t *testing.T) {
	h := open(t, "send_mail", "list_mails", "add")
	for query, want := range map[string]string{
		"send mail":      `"send_mail", "call": "send_mail(to: str, text: str) -> str"`,
		"list the mails": `"list_mails", "call": "list_mails(folder: str = 'inbox') -> list[str]"`,
		"ADD":            `"add"`,
	} {
		got := call(t, h, codemode.SearchTool, "query", query)
		if first, _, _ := strings.Cut(got, "summary"); !strings.Contains(strings.ReplaceAll(first, `\"`, "'"), want) {
			t.Errorf("%q finds first %s, want %s", query, first, want)
		}
	}
	if got := call(t, h, codemode.SearchTool, "query", "mail", "limit", 1); strings.Count(got, "summary") != 1 || !strings.Contains(got, `"found": 2`) {
		t.Errorf("one of two gives %s", got)
	}
	if got := call(t, h, codemode.SearchTool); got != `{ "groups": {"custom": ["add"], "office": ["list_mails", "send_mail"]}, "found": 3 }` {
		t.Errorf("without a query: %s", got)
	}
	if got := call(t, h, codemode.SearchTool, "query", "zebra"); !strings.Contains(got, `"found": 0`) {
		t.Errorf("a word that no tool has: %s", got)
	}
}

func TestDescribe(t *testing.T) {
	h := open(t)
	got := call(t, h, codemode.DescribeTool, "names", []any{"send_mail", "read-file"})
	for _, want := range []string{`"call": "send_mail(to: str, text: str) -> str"`, "The address.", `"asks": true`, `"read_file"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if got := call(t, h, codemode.DescribeTool, "names", []any{"send_mial"}); !strings.Contains(got, "send_mail") {
		t.Errorf("a misspelled name gives %s", got)
	}
}

func TestExecute(t *testing.T) {
	h := open(t, "add", "send_mail")
	if got := call(t, h, codemode.ExecuteTool, "code", "n = 0\nfor i in range(100):\n    n = add(a = n, b = i)\nn"); got != "4950" {
		t.Errorf("a hundred calls give %s", got)
	}
	for name, code := range map[string]string{
		"a tool that is not selected": `list_mails()`,
		"the same by the module":      `tools.call("list_mails")`,
		"itself":                      `execute_code(code = "1")`,
		"a search":                    `search_tools(query = "x")`,
		"a tool that needs approval":  `send_mail(to = "a", text = "b")`,
	} {
		if got := call(t, h, codemode.ExecuteTool, "code", code); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestExecuteWaits checks a recorded program whose call needs approval: it continues after the
// answer, and makes no call again.
// TestExecuteTooMuch checks that the hint of a program that reaches a limit advises only what a program can do.
func TestExecuteTooMuch(t *testing.T) {
	_, err := open(t).Call(t.Context(), cassidy.Call{Tool: codemode.ExecuteTool, Args: cassidy.NewDict("code", "[x for x in range(100000000) if x < 0]")})
	if e := value.ErrorOf(err, value.Failed); e.Kind != value.Limit || e.Hint != "do less in one call, or replace long loops with builtin functions" {
		t.Errorf("the error is %v, and the hint %q", e, e.Hint)
	}
}

func TestExecuteWaits(t *testing.T) {
	h := open(t)
	made := 0
	if err := cassidy.AddTool(h, cassidy.Tool{Name: "count", Description: "Count."}, func(_ context.Context, _ struct{}) (int, error) { made++; return made, nil }); err != nil {
		t.Fatal(err)
	}
	c := cassidy.Call{Tool: codemode.ExecuteTool, Args: cassidy.NewDict("code", `n = count()
send_mail(to = "a", text = str(n)) + " as number %d" % n`)}
	_, err := h.Call(t.Context(), c, cassidy.Durable("program"))
	if value.KindOf(err) != value.Parked {
		t.Fatalf("the program gave %v", err)
	}
	for q, err := range h.Waiting(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Answer(t.Context(), q.ID, cassidy.Answer{Yes: true}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := h.Resume(t.Context(), "program")
	if err != nil || r.Text() != "sent to a as number 1" || made != 1 {
		t.Errorf("after the answer: %q, %v, %d calls", r.Text(), err, made)
	}
}

// TestExecuteAfterChange changes a tool while a program waits. The program has made a call already, so it is
// not checked again: it continues with the tool with which it began.
func TestExecuteAfterChange(t *testing.T) {
	h := open(t)
	c := cassidy.Call{Tool: codemode.ExecuteTool, Args: cassidy.NewDict("code", `n = add(a = 1, b = 2)
send_mail(to = "a", text = str(n)) + str(add(a = 3, b = 4))`)}
	if _, err := h.Call(t.Context(), c, cassidy.Durable("program")); value.KindOf(err) != value.Parked {
		t.Fatalf("the program gave %v", err)
	}
	changed := maps.Clone(scripts)
	changed["add.star"] = strings.NewReplacer("a: int", "first: int", "a + b", "first + b").Replace(changed["add.star"])
	if err := h.Swap(t.Context(), cassidy.Scripts(changed)); err != nil {
		t.Fatal(err)
	}
	for q, err := range h.Waiting(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Answer(t.Context(), q.ID, cassidy.Answer{Yes: true}); err != nil {
			t.Fatal(err)
		}
	}
	if r, err := h.Resume(t.Context(), "program"); err != nil || r.Text() != "sent to a7" {
		t.Errorf("after the answer: %q, %v", r.Text(), err)
	}
}

// TestRemainingTools removes one of the tools that were selected: the others can still be called.
func TestRemainingTools(t *testing.T) {
	h := open(t, "add", "send_mail")
	if err := h.Swap(t.Context(), cassidy.Scripts(map[string]string{"add.star": scripts["add.star"]})); err != nil {
		t.Fatal(err)
	}
	if got := call(t, h, codemode.SearchTool); got != `{"groups": {"custom": ["add"]}, "found": 1}` {
		t.Errorf("the tools are %s", got)
	}
	if got := call(t, h, codemode.ExecuteTool, "code", "add(a = 1, b = 2)"); got != "3" {
		t.Errorf("a program gives %s", got)
	}
	if err := h.Swap(t.Context(), cassidy.Scripts(map[string]string{"list_mails.star": scripts["list_mails.star"]})); err != nil {
		t.Fatal(err)
	}
	if got := call(t, h, codemode.SearchTool); got != `{"groups": {}, "found": 0}` {
		t.Errorf("without the selected tools there are %s", got)
	}
}
