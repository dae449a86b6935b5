package web_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib/secret"
	"github.com/cassidy-run/cassidy/stdlib/web"
)

// Give scripts the network, with a token that they never see. The transport here answers
// itself, as in a test of a tool; it sees the placeholder, as only base puts the value in.
func ExampleNew() {
	secrets := secret.NewBox(func(context.Context, string) (string, error) { return "8f14e45fceea", nil })
	network, err := web.New(&web.Options{
		Secrets: secrets,
		HTTP:    func(http.RoundTripper) http.RoundTripper { return echo{} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	modules := []tool.Module{network.Module(), secrets.Module()}
	h, err := host.New(&host.Options{Sandbox: sandbox.NewInline(modules...), Modules: modules, Approver: host.ApproveAll()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.Close()

	ctx := context.Background()
	script := tool.Script{Name: "issues", Path: "issues.star", Source: `
def issues() -> str:
    """Fetch the open issues."""
    token = "Bearer " + secret("TOKEN")
    return http.get("https://api.example.com/issues", headers = {"Authorization": token})["text"]

tool(issues, needs = ["http.get:api.example.com", "secret:TOKEN@api.example.com"])
`}
	described, err := h.Describe(ctx, script)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := h.RegisterScript(toolset.Info{Tool: described.Tool}, func() (tool.Script, error) { return script, nil }); err != nil {
		fmt.Println(err)
		return
	}
	result, err := h.Call(ctx, tool.Call{Tool: "issues", Args: value.NewDict()})
	fmt.Println(result.Value, err)
	// Output: GET /issues with Bearer {{secret:TOKEN}} <nil>
}

// An echo answers requests with what they ask for.
type echo struct{}

func (echo) RoundTrip(r *http.Request) (*http.Response, error) {
	text := fmt.Sprintf("%s %s with %s", r.Method, r.URL.Path, r.Header.Get("Authorization"))
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Request: r}, nil
}
