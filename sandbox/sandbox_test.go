package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

// TestInline runs the suite of every sandbox over the one in this process.
func TestInline(t *testing.T) {
	testSandbox(t, func(modules ...tool.Module) sandbox.Sandbox {
		return sandbox.NewInline(append(stdlib.Pure(), modules...)...)
	})
}

// TestProcess runs it over workers.
func TestProcess(t *testing.T) {
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprintf("strict %v", strict), func(t *testing.T) {
			testSandbox(t, func(modules ...tool.Module) sandbox.Sandbox {
				return newProcess(t, &sandbox.Options{Strict: strict}, modules...)
			})
		})
	}
}

// world is an effect for scripts to ask for; only its row is known to a
// sandbox.
var world = tool.Module{Name: "world", Funcs: []tool.Func{{
	Name: "ask", Kind: tool.Read, Params: []tool.Param{{Name: "what"}},
}}}

// testSandbox is what any sandbox must do.
func testSandbox(t *testing.T, open func(...tool.Module) sandbox.Sandbox) {
	box := open(world)
	ctx := context.Background()
	script := tool.Script{Path: "echo.star", Source: `def echo(value = None):
    """Give back what the world says of a value."""
    return world.ask(value)

def size(value):
    return len(value)

tool(echo, needs = ["fs.read"])
`}
	t.Run("describes without running", func(t *testing.T) {
		got, err := box.Describe(ctx, tool.Script{Path: "x.star", Source: "x = 1 // 0\n\ndef x2():\n    \"D.\"\n\ntool(x2, name = \"x\")\n"})
		if err != nil || got.Name != "x" || got.Description != "D." {
			t.Errorf("Describe = %+v, %v, want the tool x", got, err)
		}
	})
	t.Run("passes values without loss", func(t *testing.T) {
		values := value.List{nil, true, int64(-1), 2.0, "é\x00", []byte{0, 255}, value.Tuple{int64(1)}, value.Set{"a"}, value.NewDict("b", 1, "a", 2)}
		out, err := box.Run(ctx, script, tool.Call{Args: value.NewDict("value", values)}, func(_ context.Context, e tool.Effect) (tool.Outcome, error) {
			v, _ := e.Args.Get("what")
			return tool.Outcome{Value: v}, nil
		})
		if err != nil || !value.Equal(out.Value, values) {
			t.Errorf("Run = %s, %v, want %s", value.FormatJSON(out.Value, ""), err, value.FormatJSON(values, ""))
		}
		if out.Usage.Effects != 1 || out.Usage.Steps == 0 {
			t.Errorf("usage = %+v, want one effect and some steps", out.Usage)
		}
	})
	t.Run("runs the function that is asked for", func(t *testing.T) {
		out, err := box.Run(ctx, script, tool.Call{Args: value.NewDict("value", "four"), Entry: "size"}, nil)
		if err != nil || out.Value != int64(4) {
			t.Errorf("size = %v, %v, want 4", out.Value, err)
		}
	})
	t.Run("gives back the error of an effect", func(t *testing.T) {
		denied := value.Errorf(value.Denied, "not today").WithHint("ask tomorrow")
		_, err := box.Run(ctx, script, tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
			return tool.Outcome{}, denied
		})
		var e *value.Error
		if !errors.As(err, &e) || e.Kind != value.Denied || e.Message() != "not today" || e.Hint != "ask tomorrow" || e.Pos.Line != 3 {
			t.Errorf("error = %+v, want the effect's, at line 3", err)
		}
	})
	t.Run("stops when the context does", func(t *testing.T) {
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		_, err := box.Run(cancelled, script, tool.Call{}, func(context.Context, tool.Effect) (tool.Outcome, error) {
			t.Error("an effect was asked for after the end")
			return tool.Outcome{}, nil
		})
		if err == nil || value.KindOf(err) != value.Canceled {
			t.Errorf("error = %v, want cancelled", err)
		}
	})
}
