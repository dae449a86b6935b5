package tool_test

import (
	"fmt"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Check the arguments of a call.
func ExampleTool_Check() {
	t := tool.Tool{Name: "greet", Description: "Greets somebody.", Params: []tool.Param{
		tool.Required("name", tool.TypeString, "Whom to greet."),
		tool.Optional("times", tool.TypeInteger, int64(1), "How often."),
	}}
	args, err := t.Check(value.NewDict("name", "Ann"))
	fmt.Println(args, err)
	_, err = t.Check(value.NewDict("name", "Ann", "time", 2))
	fmt.Println(err)
	// Output:
	// {"name":"Ann","times":1} <nil>
	// Tool input validation failed for 'greet':
	//   - Unknown parameter: time; did you mean "times"? (valid: name, times)
}

// Define a tool in the format of a vendor.
func ExampleTool_Definition() {
	t := tool.Tool{Name: "greet", Description: "Greets somebody.", Params: []tool.Param{tool.Required("name", tool.TypeString, "Whom to greet.")}}
	d, err := t.Definition(tool.Anthropic)
	fmt.Println(value.FormatJSON(d, "  "), err)
	// Output:
	// {
	//   "name": "greet",
	//   "description": "Greets somebody.",
	//   "input_schema": {
	//     "type": "object",
	//     "properties": {"name": {"type": "string", "description": "Whom to greet."}},
	//     "required": ["name"],
	//     "additionalProperties": false
	//   }
	// } <nil>
}
