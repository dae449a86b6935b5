package host_test

import (
	"context"
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Make a host of chosen parts: here of a tool in Go alone, without any script. A
// program with the usual parts opens its hosts with package cassidy.
func ExampleNew() {
	host, err := host.New(&host.Options{Approver: host.ApproveAll()})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer host.Close()
	add := tool.Tool{Name: "add", Description: "Add two numbers.", Params: []tool.Param{
		{Name: "a", Type: tool.Type{Name: tool.TypeInteger}, Required: true},
		{Name: "b", Type: tool.Type{Name: tool.TypeInteger}, Default: int64(1), HasDefault: true},
	}}
	err = host.Register(add, func(_ context.Context, args *value.Dict) (value.Value, error) {
		return args.Int("a") + args.Int("b"), nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := host.Call(context.Background(), tool.Call{Tool: "add", Args: value.NewDict("a", 41)})
	fmt.Println(result.Value, err)
	_, err = host.Call(context.Background(), tool.Call{Tool: "add", Args: value.NewDict("a", "many")})
	fmt.Println(value.KindOf(err))
	// Output:
	// 42 <nil>
	// invalid
}
