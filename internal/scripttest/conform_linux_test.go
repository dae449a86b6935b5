package scripttest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// probe is a tool whose effects are the same for real and with fakes. Headers that only a real server has, and
// times, are left out.
const probe = `
"""Probes effects."""

def _response(r):
    return {
        "status": r["status"], "ok": r["ok"], "url": r["url"], "text": r["text"], "json": r["json"],
        "type": r["headers"].get("content-type"), "test": r["headers"].get("x-test"),
    }

def _http(base):
    get = lambda path, **more: attempt(lambda: _response(http.get(base + path, **more)))
    return {
        "text": get("/text"), "json": get("/json"), "empty": get("/empty"), "latin": get("/latin"), "no utf-8": get("/bytes"),
        "not found": get("/missing"), "broken": get("/broken"), "not json": get("/wrong"), "headers": get("/headers"),
        "redirected": get("/redirect"), "not redirected": get("/redirect", allow_redirects = False),
        "query": get("/echo", params = {"a": "b c", "d": [1, 2], "ü": "&"}),
        "post json": attempt(lambda: _response(http.post(base + "/echo", json = {"a": [1, None, "ü"]}))),
        "post form": attempt(lambda: _response(http.post(base + "/echo", form = {"a": "b c", "d": "&="}))),
        "put body": attempt(lambda: _response(http.put(base + "/echo", body = "text ü", headers = {"X-Test": "1"}))),
        "delete": attempt(lambda: _response(http.delete(base + "/echo"))),
        "head": attempt(lambda: _response(http.head(base + "/text"))),
        "away": attempt(lambda: http.get("http://127.0.0.1:1/"))["error_type"],
        "bytes": attempt(lambda: str(http.get(base + "/bytes")["body"])),
    }

def _shell():
    run = lambda *argv, **more: attempt(lambda: {k: v for k, v in shell.run(list(argv), **more).items() if k in ("exit_code", "stdout", "stderr")})
    return {
        "echo": run("echo", "a b", "ü"), "lines": run("printf", "a\\nb\\n"), "fails": run("false"), "code": run("ls", "/nowhere-at-all")["ok"],
        "nothing": run("true"), "bytes": run("printf", "\\377x"),
    }

def _files():
    fs.write("out/a.txt", "one\\ntwo\\n")
    fs.append("out/a.txt", "three")
    return {
        "read": attempt(lambda: fs.read("out/a.txt")), "part": attempt(lambda: fs.read("out/a.txt", offset = 2, limit = 1)),
        "missing": attempt(lambda: fs.read("nowhere.txt")), "outside": attempt(lambda: fs.read("../x")), "folder": attempt(lambda: fs.read("out")),
        "list": attempt(lambda: [f["path"] for f in fs.list("out")]), "exists": [fs.exists("out/a.txt"), fs.exists("out/b.txt")],
        "edit": attempt(lambda: fs.edit("out/a.txt", "two", "2")["replacements"]), "after": attempt(lambda: fs.read("out/a.txt")),
        "no such text": attempt(lambda: fs.edit("out/a.txt", "nothing", "x")), "given": attempt(lambda: fs.read("given.txt")),
        "moved": attempt(lambda: fs.move("out/a.txt", "out/b.txt")), "removed": attempt(lambda: fs.remove("out/b.txt")), "again": attempt(lambda: fs.remove("out/b.txt")),
    }

def _others():
    return {
        "env": [env.get("LANG"), env.get("NOT_SET"), env.get("EMPTY")],
        "answers": [attempt(lambda: human.ask("Which?")), attempt(lambda: human.confirm("Sure?"))],
        "random": [type(random.number()), type(uuid()), len(uuid())],
        "now": len(time.now()) >= len("2026-01-01T00:00:00Z"),
    }

def probe(base: str) -> any:
    """Probe all effects.

    Args:
      base: The address of the server.
    """
    return {"http": _http(base), "shell": _shell(), "files": _files(), "others": _others()}

tool(probe, needs = ["http", "shell", "fs.read", "fs.write", "env", "human"], limits = {"requests": 100})
`

// An answer is what a server returns for a path.
type answer struct {
	status        int
	kind, headers string // as NAME: VALUE
	body          string
}

var answers = map[string]answer{
	"/text":     {200, "text/plain; charset=utf-8", "X-Test: yes", "hello ü"},
	"/json":     {200, "application/json", "", `{"a": [1, 2.5, null, "ü"], "b": {"c": true}}`},
	"/empty":    {204, "", "", ""},
	"/latin":    {200, "text/plain; charset=iso-8859-1", "", "gr\xfc\xdfe"},
	"/bytes":    {200, "application/octet-stream", "", "\xff\x00\xfe"},
	"/missing":  {404, "text/plain", "", "no such thing"},
	"/broken":   {500, "application/json", "", `{"error": "broken"}`},
	"/wrong":    {200, "application/json", "", `{"a": `},
	"/headers":  {200, "text/plain", "X-Test: first", "x"},
	"/redirect": {302, "", "Location: /text", ""},
}

// TestFakesAreTrue makes the same effects for real and with fakes: a tool cannot tell them apart.
func TestFakesAreTrue(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/echo" {
			body := make([]byte, max(0, r.ContentLength))
			_, _ = r.Body.Read(body)
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Header.Get("Content-Type"), r.Header.Get("X-Test"), body)
			return
		}
		a := answers[r.URL.Path]
		w.Header()["Content-Type"] = nil // none is guessed
		if a.kind != "" {
			w.Header().Set("Content-Type", a.kind)
		}
		if name, text, ok := strings.Cut(a.headers, ": "); ok {
			w.Header().Set(name, text)
		}
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(a.body))
	}))
	defer server.Close()
	files := map[string]string{"tools/probe.star": probe, "tools/probe_test.star": probeTest(server.URL)}
	dir := newProject(t, files)
	for name, text := range map[string]string{"given.txt": "given\n", "out/other.txt": ""} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	real := probeReal(t, dir, server.URL)
	o := &scripttest.Options{Dir: dir}
	got := runAll(t, o)["test_probe"]
	at := strings.Index(got, "PROBED ")
	if at < 0 {
		t.Fatalf("the test gives %s", got)
	}
	v, err := value.ParseJSON([]byte(strings.SplitN(got[at+len("PROBED "):], "\n", 2)[0]))
	if err != nil {
		t.Fatal(err)
	}
	faked := v.(*value.Dict)
	for k, part := range real.All() {
		area := k.(string)
		for name, want := range part.(*value.Dict).All() {
			if got, _ := faked.Dict(area).Get(name.(string)); !value.EqualJSON(got, want) {
				t.Errorf("%s: %s:\nfor real  %s\nwith fake %s", area, name, value.FormatJSON(want, ""), value.FormatJSON(got, ""))
			}
		}
	}
}

// probeReal runs the probe for real.
func probeReal(t *testing.T, dir, base string) *value.Dict {
	t.Helper()
	r := newRuntime(t)
	env := map[string]string{"LANG": "de", "EMPTY": ""}
	h, err := r.Open(cassidy.Dir(dir), &cassidy.Options{
		Dir: dir, TrustSource: true, Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Approver: cassidy.ApproveAll(),
		Env: func(_ context.Context, name string) (string, error) {
			if v, ok := env[name]; ok {
				return v, nil
			}
			return "", cassidy.ErrNotFound
		},
		Asker: host.AskerFunc(func(_ context.Context, q tool.Question) (tool.Answer, error) {
			if q.Kind == tool.QuestionAsk {
				return tool.Answer{Value: "b"}, nil
			}
			return tool.Answer{Yes: true}, nil
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	result, err := h.Call(t.Context(), cassidy.Call{Tool: "probe", Args: cassidy.NewDict("base", base)})
	if err != nil {
		t.Fatal(err)
	}
	d, _ := result.Value.(*value.Dict)
	return d
}

// probeTest returns a test that runs the probe with fakes, and prints its result.
func probeTest(base string) string {
	var fakes []string
	for path, a := range answers {
		headers := value.NewDict()
		if a.kind != "" {
			headers.Put("Content-Type", a.kind)
		}
		if name, text, ok := strings.Cut(a.headers, ": "); ok {
			headers.Put(name, text)
		}
		fakes = append(fakes, fmt.Sprintf("        %q: {\"status\": %d, \"headers\": %s, \"body\": bytes(%s)},", base+path, a.status, headers, byteList(a.body)))
	}
	return `
def _echo(r):
    return {
        "headers": {"Content-Type": "text/plain"},
        "body": "%s %s %s %s" % (r["method"], r["headers"].get("content-type", ""), r["headers"].get("x-test", ""), r["body"]),
    }

def test_probe(t):
    t.fs({"given.txt": "given\n", "out/other.txt": ""})
    t.http({
` + strings.Join(fakes, "\n") + `
        "` + base + `/echo": _echo, "http://127.0.0.1:1/": {"error": "connection refused"},
    })
    t.shell({
        "echo": lambda r: " ".join(r["argv"][1:]) + "\n",
        "printf": lambda r: {"stdout": "a\nb\n"} if r["argv"][1] == "a\\nb\\n" else {"stdout": "\ufffdx"},
        "false": {"exit_code": 1}, "true": "",
        "ls": {"exit_code": 2, "stderr": "ls: cannot access"},
    })
    t.env({"LANG": "de", "EMPTY": "", "NOT_SET": None})
    t.answer(["b", True])
    t.random(1)
    t.clock("2026-01-01T00:00:00Z")
    print("PROBED " + json.encode(t.call("probe", base = "` + base + `")))
    fail("see what was printed")
`
}

func byteList(text string) string {
	list := make([]string, len(text))
	for i := range len(text) {
		list[i] = fmt.Sprint(text[i])
	}
	return "[" + strings.Join(list, ", ") + "]"
}
