//go:build !race

package cassidy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal"
)

// stockTool is what a row of a database could hold.
const stockTool = `
def stock(item: str) -> int:
    """Return how many of an item are in stock."""
    return len(item)

tool(stock)
`

// orderTool asks before it ends.
const orderTool = `
def order(item: str) -> str:
    """Order an item, once somebody agrees."""
    if not human.confirm("Order %s?" % item):
        fail("nobody wants %s" % item)
    return "ordered " + item

tool(order, needs = ["human"])
`

// Serve two tenants from one runtime. Each has tools of its own, here from memory.
func ExampleRuntime_Open() {
	ctx := context.Background()
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Store: journal.Memory()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()

	open := func(tenant string, tools map[string]string) (*cassidy.Host, error) {
		return shared.Open(cassidy.Scripts(tools), &cassidy.Options{
			Tenant:      tenant,
			TrustSource: true, // the program has reviewed these tools
			NoBuiltins:  true,
			MaxLimits:   cassidy.Limits{Memory: 64 << 20},
			MaxTimeout:  10 * time.Second,
		})
	}
	acme, err := open("acme", map[string]string{"stock.star": stockTool})
	if err != nil {
		fmt.Println(err)
		return
	}
	other, err := open("other", nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	call := cassidy.Call{Tool: "stock", Args: cassidy.NewDict("item", "bolts")}
	result, err := acme.Call(ctx, call)
	fmt.Println(result.Value, err)
	_, err = other.Call(ctx, call)
	fmt.Println(errors.Is(err, cassidy.ErrNotFound))
	// Output:
	// 5 <nil>
	// true
}

// withOrders opens a host whose runs are recorded.
func withOrders(do func(ctx context.Context, host *cassidy.Host) error) {
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Store: journal.Memory()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()
	tools := cassidy.Scripts(map[string]string{"order.star": orderTool, "stock.star": stockTool})
	host, err := shared.Open(tools, &cassidy.Options{TrustSource: true})
	if err == nil {
		err = do(context.Background(), host)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// Replace the tools of a host while it is used.
func ExampleHost_Swap() {
	withOrders(func(ctx context.Context, host *cassidy.Host) error {
		err := host.Swap(ctx, cassidy.Scripts(map[string]string{"stock.star": "def stock("}))
		fmt.Println("broken:", errors.Is(err, cassidy.ErrInvalid))
		result, err := host.Call(ctx, cassidy.Call{Tool: "stock", Args: cassidy.NewDict("item", "nuts")})
		fmt.Println(result.Value, err) // the tools from before
		return host.Swap(ctx, cassidy.FS(os.DirFS("examples/quickstart/.cassidy/tools")))
	})
	// Output:
	// broken: true
	// 4 <nil>
}

// Continue the runs that can be: when a server starts, after an answer, and now and then.
func ExampleHost_Due() {
	withOrders(func(ctx context.Context, host *cassidy.Host) error {
		call := cassidy.Call{Tool: "order", Args: cassidy.NewDict("item", "bolts")}
		_, err := host.Call(ctx, call, cassidy.Durable("order-1"))
		var parked *cassidy.ParkedError
		if !errors.As(err, &parked) {
			return err
		}
		question := parked.Questions[0]
		fmt.Println(question.ID, question.Text)

		// Later, perhaps in another process:
		if err := host.Answer(ctx, question.ID, cassidy.Answer{Yes: true, By: "Ann"}); err != nil {
			return err
		}
		for run, err := range host.Due(ctx) {
			if err != nil {
				return err
			}
			result, err := host.Resume(ctx, run.ID)
			fmt.Println(run.ID, result.Value, err)
		}
		return nil
	})
	// Output:
	// order-1:1.1:1 Order bolts?
	// order-1 ordered bolts <nil>
}

// Open the hosts of the tenants that have something to continue.
func ExampleRuntime_Due() {
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Store: journal.Memory()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()
	open := func(tenant string) (*cassidy.Host, error) {
		return shared.Open(cassidy.Scripts(map[string]string{"order.star": orderTool}), &cassidy.Options{Tenant: tenant, TrustSource: true})
	}
	ctx, call := context.Background(), cassidy.Call{Tool: "order", Args: cassidy.NewDict("item", "bolts")}
	for _, tenant := range []string{"acme", "other"} {
		host, err := open(tenant)
		if err != nil {
			fmt.Println(err)
			return
		}
		_, err = host.Call(ctx, call, cassidy.Durable("order-1"))
		var parked *cassidy.ParkedError
		if errors.As(err, &parked) && tenant == "acme" {
			err = host.Answer(ctx, parked.Questions[0].ID, cassidy.Answer{Yes: true})
		}
		fmt.Println(tenant, err)
		host.Close()
	}

	// Later, perhaps in another process:
	continueAll := func() error {
		for due, err := range shared.Due(ctx) {
			if err != nil {
				return err
			}
			host, err := open(due.Tenant)
			if err != nil {
				return err
			}
			result, err := host.Resume(ctx, due.Run.ID)
			fmt.Println(due.Tenant, due.Run.ID, result.Value, err)
		}
		return nil
	}
	if err := continueAll(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// acme <nil>
	// other the run order-1 waits for an answer: Order bolts?
	// acme order-1 ordered bolts <nil>
}

// Read the events of a run from the last one that was seen.
func ExampleHost_Follow() {
	withOrders(func(ctx context.Context, host *cassidy.Host) error {
		call := cassidy.Call{Tool: "stock", Args: cassidy.NewDict("item", "bolts")}
		if _, err := host.Call(ctx, call, cassidy.Durable("count")); err != nil {
			return err
		}
		var last uint64
		for e, err := range host.Follow(ctx, "count", last) {
			if err != nil {
				return err
			}
			switch data := e.Data.(type) {
			case cassidy.ToolCallStart:
				fmt.Println(e.Seq, e.Tool, "starts")
			case cassidy.ToolCallEnd:
				fmt.Println(e.Seq, e.Tool, "returned", data.Result)
			}
			if e.Seq != 0 {
				last = e.Seq
			}
		}
		return nil
	})
	// Output:
	// 1 stock starts
	// 2 stock returned 5
}

// Time every call of a host, also those that tools make.
func ExampleMiddleware() {
	timed := func(next cassidy.CallFunc) cassidy.CallFunc {
		return func(ctx context.Context, c *cassidy.Call) (cassidy.Result, error) {
			start := time.Now()
			result, err := next(ctx, c)
			fmt.Println(c.Tool, err, time.Since(start) < time.Minute)
			return result, err
		}
	}
	err := withTool("stock", stockTool, &cassidy.Options{Middleware: []cassidy.Middleware{timed}}, func(host *cassidy.Host) {
		_, _ = host.Call(context.Background(), cassidy.Call{Tool: "stock", Args: cassidy.NewDict("item", "bolts")})
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: stock <nil> true
}

// Read what went wrong.
func ExampleError() {
	err := withTool("stock", stockTool, &cassidy.Options{NoBuiltins: true}, func(host *cassidy.Host) {
		_, err := host.Call(context.Background(), cassidy.Call{Tool: "stokc"})
		var e *cassidy.Error
		if errors.As(err, &e) && errors.Is(err, cassidy.ErrNotFound) {
			fmt.Println(e.Message())
			fmt.Println("hint:", e.Hint)
		}
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output:
	// Unknown tool: stokc; did you mean "stock"?
	// hint: use one of the tools: stock
}

// Let one call do less than the tool may.
func ExampleNarrow() {
	const script = `
def page(url: str) -> str:
    """Fetch a page."""
    return http.get(url)["text"]

tool(page, needs = ["http.get"])
`
	err := withTool("page", script, &cassidy.Options{}, func(host *cassidy.Host) {
		deny := cassidy.Rule{Verdict: cassidy.Deny, Capability: cassidy.Capability{Name: "http.get"}}
		call := cassidy.Call{Tool: "page", Args: cassidy.NewDict("url", "https://example.com/")}
		_, err := host.Call(context.Background(), call, cassidy.Narrow(deny))
		fmt.Println(errors.Is(err, cassidy.ErrDenied))
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: true
}
