package decision

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cassidy-run/cassidy/internal/toolfile"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestRepairBench reads the replies of the toolcall-repair-bench (cameronqj, CC
// BY 4.0), which lies beside the project: what local models wrote, and what it
// meant. No call may be read where none was meant, under any circumstances.
func TestRepairBench(t *testing.T) {
	files, _ := filepath.Glob("../../../../shared/data/toolcall-repair-bench/cases/*.json")
	if len(files) == 0 {
		t.Skip("the toolcall-repair-bench is not beside the project")
	}
	gold, exact, none, wrong := 0, 0, 0, 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		v, err := value.ParseJSON(data)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		c := v.(*value.Dict)
		offered, _ := c.Get("request_tools")
		defined, err := value.AppendJSON(nil, offered)
		if err != nil {
			t.Fatal(err)
		}
		tools, err := toolfile.Parse(defined)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		want, _ := c.Get("gold")
		got := Read(c.Text("raw_output"), Options{Tools: tools})
		if want := want.(*value.Dict); want.Text("type") == "no_tool" {
			none++
			if got[0].Kind == ToolCall {
				wrong++
				t.Errorf("%s: read a call of %s, want none", c.Text("id"), got[0].Action)
			}
		} else {
			gold++
			args, _ := want.Get("arguments")
			if len(got) == 1 && got[0].Kind == ToolCall && got[0].Action == want.Text("name") && value.EqualJSON(typedInput(tools, got[0]), args) {
				exact++
			} else {
				t.Logf("%s: got %s %s %s %q, want %s %s", c.Text("id"), got[0].Kind, got[0].Action, got[0].Input, got[0].Error, want.Text("name"), value.FormatJSON(args, ""))
			}
		}
	}
	t.Logf("%d of %d calls read exactly; %d of %d replies without a call taken for one", exact, gold, wrong, none)
	if 5*exact < 4*gold {
		t.Errorf("%d of %d calls read exactly, want 80 %%", exact, gold)
	}
}

// typedInput returns the input of a decision as the tool gets it.
func typedInput(tools []tool.Tool, d Decision) *value.Dict {
	for i := range tools {
		if d.Texts && tools[i].Name == d.Action {
			args, _ := tools[i].Coerce(d.Input)
			return args
		}
	}
	return d.Input
}
