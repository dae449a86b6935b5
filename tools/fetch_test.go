package tools_test

import (
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/testworker"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
	"github.com/cassidy-run/cassidy/tools"
)

// inProcess and inWorkers open the two sandboxes.
func inProcess(t *testing.T, modules ...tool.Module) sandbox.Sandbox {
	return sandbox.NewInline(modules...)
}

func inWorkers(t *testing.T, modules ...tool.Module) sandbox.Sandbox {
	t.Helper()
	p, err := sandbox.New(&sandbox.Options{Workers: sandbox.Workers{Program: testworker.Exec()}, Unconfined: true}, modules...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// fetcher is a host with fetch_url alone, which may reach this machine.
func fetcher(t *testing.T, open func(*testing.T, ...tool.Module) sandbox.Sandbox) *host.Host {
	t.Helper()
	source, err := fs.ReadFile(tools.FS(), "fetch_url.star")
	if err != nil {
		t.Fatal(err)
	}
	world, err := stdlib.Open(&stdlib.Options{Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := host.New(&host.Options{
		Sandbox: open(t, append(stdlib.Pure(), world.Modules()...)...), Modules: world.Modules(), Close: world.Close,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	script := tool.Script{Name: "fetch_url", Path: "fetch_url.star", Source: string(source)}
	described, err := h.Describe(t.Context(), script)
	if err == nil {
		err = h.RegisterScript(toolset.Info{Tool: described.Tool}, func() (tool.Script, error) { return script, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestFetchURL(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, body := "text/html; charset=utf-8", ""
		switch r.URL.Path {
		case "/page":
			body = "<!doctype html><title>A Page</title><script>no()</script><h1>Hello</h1><p>Read <a href='more?x=1'>more</a>.</p><pre>a  b</pre>"
		case "/unnamed":
			kind, body = "", " <HTML><p>a</p><p>b</p>"
		case "/data":
			kind, body = "application/json", `{"a": "<b>"}`
		case "/notes":
			kind, body = "text/markdown", "# Notes\n\n<b>"
		case "/image":
			kind, body = "image/png", "\x89PNG\x00"
		case "/old":
			http.Redirect(w, r, "/data", http.StatusMovedPermanently)
			return
		case "/long":
			kind, body = "text/plain", strings.Repeat("ä", 60_000)
		case "/empty":
		case "/accept":
			kind, body = "text/plain", r.Header.Get("Accept")
		default:
			http.NotFound(w, r)
			return
		}
		w.Header()["Content-Type"] = []string{kind}
		io.WriteString(w, body)
	}))
	defer server.Close()
	p := project{host: fetcher(t, inProcess)}
	p.worker = &project{host: fetcher(t, inWorkers)}
	for _, tt := range []struct {
		path string
		args []value.Value
		want string
	}{
		{"/page", nil, "# A Page\n\n# Hello\n\nRead [more](AT/more?x=1).\n\n```\na  b\n```"},
		{"/page", []value.Value{"raw", true, "limit", 15}, "<!doctype html>\n(characters 0 to 15 of 126; continue with offset=15)"},
		{"/unnamed", nil, "a\n\nb"},
		{"/data", nil, `{"a": "<b>"}`},
		{"/notes", nil, "# Notes\n\n<b>"},
		{"/old", nil, "{\"a\": \"<b>\"}\n(from AT/data)"},
		{"/empty", nil, "(nothing to read)"},
		{"/long", nil, strings.Repeat("ä", 50_000) + "\n(characters 0 to 50000 of 60000; continue with offset=50000)"},
		{"/long", []value.Value{"offset", 50_000}, strings.Repeat("ä", 10_000)},
		{"/long", []value.Value{"offset", 60_000}, "user_error: offset 60000 is past the end: there are 60000 characters"},
		{"/image", nil, "user_error: AT/image is not text: the content type is image/png (5 bytes)"},
		{"/missing", nil, "user_error: the server answers with status 404 for AT/missing"},
		{"/accept", nil, "text/markdown, text/html;q=0.9, text/plain;q=0.9, application/json;q=0.9, */*;q=0.5"},
	} {
		args := value.NewDict(append([]value.Value{"url", " " + server.URL + tt.path}, tt.args...)...)
		r, err := p.do(t, tool.Call{Tool: "fetch_url", Args: args, Caller: tool.ByPerson})
		got := r.Text()
		if err != nil {
			got = r.ErrorType + ": " + r.Error
		}
		got = strings.ReplaceAll(got, server.URL, "AT")
		if !strings.HasSuffix(got, tt.want) || err == nil && got != tt.want {
			t.Errorf("fetch_url(%s): %.300q, want %.300q", args, got, tt.want)
		}
	}
	if _, err := p.do(t, tool.Call{Tool: "fetch_url", Args: value.NewDict("url", server.URL)}); value.KindOf(err) != value.Denied {
		t.Errorf("a model's call without approval: %v, want a denial", err)
	}
}
