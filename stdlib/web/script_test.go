package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
	"github.com/cassidy-run/cassidy/stdlib/human"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// TestHTTPFromScripts checks that http and secret are the same from either
// language and through a host, and that no event shows the value of a secret.
func TestHTTPFromScripts(t *testing.T) {
	t.Parallel()
	for path, source := range map[string]string{
		"ask.star": `
def ask():
    "Ask a server."
    token = secret("TOKEN")
    a = http.get("https://example.com/a", headers = {"Authorization": "Bearer " + token}, params = {"n": 1})
    b = http.post("https://example.com/b", json = {"x": [1, None, True]}, auth = ["me", token])
    c = http.request("put", "https://example.com/c", form = {"y": "z"}, body = None)
    log(a)
    return [token, a["json"]["got"], a["ok"], b["json"]["got"], c["status"], c["json"]["got"], a["headers"]["x-echo"]]

tool(ask, needs = ["http:example.com", "secret:TOKEN@example.com"])
`,
		"ask.lua": `
return tool{
  description = "Ask a server.",
  needs = {"http:example.com", "secret:TOKEN@example.com"},
  handler = function()
    local token = secret("TOKEN")
    local a = http.get("https://example.com/a", {headers = {Authorization = "Bearer " .. token}, params = {n = 1}})
    local b = http.post("https://example.com/b", {json = json.decode('{"x": [1, null, true]}'), auth = {"me", token}})
    local c = http.request("put", "https://example.com/c", {form = {y = "z"}})
    log(a)
    return {token, a.json.got, a.ok, b.json.got, c.status, c.json.got, a.headers["x-echo"]}
  end,
}
`,
	} {
		d := newTLSNet(t, &Options{Secrets: secretsOf("TOKEN", aToken)}, func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			user, password, _ := r.BasicAuth()
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			text := fmt.Sprintf("%s %s %s %s %s", r.Method, r.RequestURI, r.Header.Get("Authorization"), user+password, body)
			io.WriteString(w, value.FormatJSON(value.NewDict("got", text), ""))
		})
		effects := append(d.Modules, human.Notices())
		h, err := host.New(&host.Options{Sandbox: sandbox.NewInline(append(effects, encoding.JSON())...), Modules: effects})
		rowtest.NoError(t, err)
		var told strings.Builder
		events := h.Subscribe(t.Context(), host.EventFilter{})
		script := tool.Script{Name: "ask", Path: path, Source: source}
		described, err := h.Describe(t.Context(), script)
		rowtest.NoError(t, err)
		rowtest.NoError(t, h.RegisterScript(toolset.Info{Tool: described.Tool}, func() (tool.Script, error) { return script, nil }))
		r, err := h.Call(t.Context(), tool.Call{Tool: "ask", Args: &value.Dict{}, Caller: tool.ByPerson})
		rowtest.NoError(t, err)
		for len(events) > 0 {
			e := <-events
			fmt.Fprintln(&told, e.Type(), e.Fields())
		}
		want := value.List{
			"{{secret:TOKEN}}", "GET /a?n=1 Bearer {{secret:TOKEN}}  ", true,
			`POST /b Basic {{secret:TOKEN}} me{{secret:TOKEN}} {"x":[1,null,true]}`, int64(200), "PUT /c   y=z", "Bearer {{secret:TOKEN}}",
		}
		if got := value.FormatJSON(r.Value, ""); got != value.FormatJSON(want, "") {
			t.Errorf("%s gives\n%s, want\n%s", path, got, value.FormatJSON(want, ""))
		}
		if !strings.Contains(told.String(), "{{secret:TOKEN}}") || strings.Contains(told.String(), aToken) {
			t.Errorf("%s: the events are\n%s", path, told.String())
		}
	}
}
