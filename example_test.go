//go:build !race

package cassidy_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Call a tool of a folder, and read why a call failed.
func ExampleOpen() {
	host, err := cassidy.Open("examples/quickstart", &cassidy.Options{TrustSource: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	result, err := host.Call(context.Background(), cassidy.Call{
		Tool: "word_count",
		Args: cassidy.NewDict("filepath", "notes/handbook.md"),
	})
	fmt.Println(result.Text(), err)
	_, err = host.Call(context.Background(), cassidy.Call{Tool: "word_count"})
	fmt.Println(value.KindOf(err))
	// Output:
	// {"words": 152, "distinct": 111} <nil>
	// invalid
}

// Register a function of the program for scripts. A tool that uses it must
// declare the capability that its Target gives.
func ExampleOptions_modules() {
	dir, err := os.MkdirTemp("", "cassidy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	script := `
def in_stock(item: str) -> int:
    """Tell how many of an item there are."""
    return stock.count(item)

tool(in_stock, needs = ["use:stock/*"])
`
	file := filepath.Join(dir, ".cassidy", "tools", "in_stock.star")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		fmt.Println(err)
		return
	}
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	stock := tool.Module{Name: "stock", Doc: "The warehouse.", Funcs: []tool.Func{{
		Name:   "count",
		Doc:    "Counts an item.",
		Params: []tool.Param{{Name: "item", Type: tool.Type{Name: tool.TypeString}, Required: true}},
		Kind:   tool.External,
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "use", Target: "stock/" + args.Text("item")}}, nil
		},
		Do: func(_ context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			return tool.Outcome{Value: int64(len(e.Args.Text("item")))}, nil
		},
	}}}
	host, err := cassidy.Open(dir, &cassidy.Options{Modules: []tool.Module{stock}, TrustSource: true, Approver: host.ApproveAll()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	result, err := host.Call(context.Background(), cassidy.Call{Tool: "in_stock", Args: cassidy.NewDict("item", "bolts")})
	fmt.Println(result.Value, err)
	// Output: 5 <nil>
}

// Test a tool without what it acts on: the effects are faked.
func ExampleOptions_executor() {
	shared, err := cassidy.New(&cassidy.RuntimeOptions{Sandbox: cassidy.Inline}) // the script is the program's own
	if err != nil {
		fmt.Println(err)
		return
	}
	defer shared.Close()
	script := `
def report(day: str) -> int:
    """Count the lines of a report."""
    return len(fs.read("reports/" + day + ".txt").splitlines())

tool(report, needs = ["fs.read:reports/*"])
`
	fake := func(ctx context.Context, f *cassidy.Func, e cassidy.Effect, g cassidy.Grant) (cassidy.Outcome, error) {
		if e.Func != "fs.read" {
			return cassidy.Execute(ctx, f, e, g)
		}
		fmt.Println("reads", e.Args.Text("path"))
		return cassidy.Outcome{Value: "one\ntwo\n"}, nil
	}
	host, err := shared.Open(cassidy.Scripts(map[string]string{"report.star": script}), &cassidy.Options{TrustSource: true, Dir: ".", Executor: fake})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := host.Call(context.Background(), cassidy.Call{Tool: "report", Args: cassidy.NewDict("day", "monday")})
	fmt.Println(result.Value, err)
	// Output:
	// reads reports/monday.txt
	// 2 <nil>
}

func TestOpenRefusesModulesThatHideOurs(t *testing.T) {
	t.Parallel()
	text := tool.Module{Name: "text", Funcs: []tool.Func{{Name: "count"}}}
	if h, err := cassidy.Open(t.TempDir(), &cassidy.Options{Modules: []tool.Module{text}}); err == nil {
		h.Close()
		t.Error("Open took a module that hides text.count")
	}
}
