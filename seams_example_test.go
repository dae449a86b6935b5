package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/cassidy-run/cassidy"
)

// withTool calls a tool that is the only one.
func withTool(name, script string, o *cassidy.Options, call func(*cassidy.Host)) error {
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline}) // the script is the program's own
	if err != nil {
		return err
	}
	defer shared.Close()
	o.TrustSource = true
	host, err := shared.Open(cassidy.Scripts(map[string]string{name + ".star": script}), o)
	if err != nil {
		return err
	}
	call(host)
	return nil
}

// A fakeServer answers in place of the network.
type fakeServer map[string]string

func (f fakeServer) RoundTrip(r *http.Request) (*http.Response, error) {
	body, ok := f[r.Method+" "+r.URL.String()]
	if !ok {
		return &http.Response{StatusCode: http.StatusNotFound}, nil
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(body))}, nil
}

// Test a tool that asks a server, without one. The needs of the tool are checked as
// always.
func ExampleOptions_http() {
	const script = `
def price(item: str) -> float:
    """Return the price of an item."""
    return http.get("https://shop.example.com/" + item)["json"]["price"]

tool(price, needs = ["http.get:shop.example.com"])
`
	o := &cassidy.Options{
		HTTP: func(http.RoundTripper) http.RoundTripper {
			return fakeServer{"GET https://shop.example.com/bolt": `{"price": 0.25}`}
		},
		Rules: []cassidy.Rule{{Verdict: cassidy.Allow, Capability: cassidy.Capability{Name: "http.get"}}},
	}
	err := withTool("price", script, o, func(host *cassidy.Host) {
		r, err := host.Call(context.Background(), cassidy.Call{Tool: "price", Args: cassidy.NewDict("item", "bolt")})
		fmt.Println(r.Value, err)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: 0.25 <nil>
}

// Look up secrets where the program keeps them. A script gets a placeholder; only the
// host that the secret is granted for gets the value.
func ExampleOptions_secrets() {
	const script = `
def token() -> str:
    """Return what the script sees of the token."""
    return secret("SHOP_TOKEN")

tool(token, needs = ["secret:SHOP_TOKEN@shop.example.com"])
`
	vault := map[string]string{"tenant-7/SHOP_TOKEN": "s3cr3t-value"}
	o := &cassidy.Options{
		Secrets: func(ctx context.Context, name string) (string, error) {
			value, ok := vault["tenant-7/"+name] // a vault would take ctx
			if !ok {
				return "", cassidy.ErrNotFound
			}
			return value, nil
		},
		Rules: []cassidy.Rule{{Verdict: cassidy.Allow, Capability: cassidy.Capability{Name: "secret"}}},
	}
	err := withTool("token", script, o, func(host *cassidy.Host) {
		r, err := host.Call(context.Background(), cassidy.Call{Tool: "token"})
		fmt.Println(r.Value, err)
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: {{secret:SHOP_TOKEN}} <nil>
}

// Register a module with a function that is safe and one that asks. Nobody is there
// to approve it, so what acts is denied when it is used.
func ExampleModule() {
	const script = `
def order(item: str, count: int = 0) -> str:
    """Return how many of an item there are, and order more of it."""
    left = stock.count(item)
    if count > 0:
        stock.order(item, count)
    return "%d left" % left

tool(order, needs = ["use:stock/*"])
`
	item := cassidy.Param{Name: "item", Type: cassidy.Type{Name: cassidy.TypeString}, Required: true}
	count := cassidy.Param{Name: "count", Type: cassidy.Type{Name: cassidy.TypeInteger}, Required: true}
	target := func(name string) func(*cassidy.Dict) ([]cassidy.Capability, error) {
		return func(*cassidy.Dict) ([]cassidy.Capability, error) {
			return []cassidy.Capability{{Name: "use", Target: "stock/" + name}}, nil
		}
	}
	stock := cassidy.Module{Name: "stock", Doc: "The warehouse.", Funcs: []cassidy.Func{{
		Name: "count", Doc: "Count an item.", Params: []cassidy.Param{item},
		Kind: cassidy.Read, Target: target("count"), // reading does not ask
		Do: func(context.Context, cassidy.Effect, cassidy.Grant) (cassidy.Outcome, error) {
			return cassidy.Outcome{Value: int64(12)}, nil
		},
	}, {
		Name: "order", Doc: "Order more of an item.", Params: []cassidy.Param{item, count},
		Kind: cassidy.External, Target: target("order"), Risk: cassidy.RiskAsk, // as it would by default
		Do: func(context.Context, cassidy.Effect, cassidy.Grant) (cassidy.Outcome, error) {
			return cassidy.Outcome{}, nil
		},
	}}}
	err := withTool("order", script, &cassidy.Options{Modules: []cassidy.Module{stock}}, func(host *cassidy.Host) {
		ctx := context.Background()
		r, err := host.Call(ctx, cassidy.Call{Tool: "order", Args: cassidy.NewDict("item", "bolt")})
		fmt.Println(r.Value, err)
		_, err = host.Call(ctx, cassidy.Call{Tool: "order", Args: cassidy.NewDict("item", "bolt", "count", 100)})
		fmt.Println(errors.Is(err, cassidy.ErrDenied))
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// 12 left <nil>
	// true
}
