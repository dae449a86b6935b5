package host

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestListShowsOwnToolsFirst(t *testing.T) {
	var heads []toolset.Head
	add := func(name string, at tool.Location, state toolset.State) {
		heads = append(heads, toolset.Head{Head: tool.Head{Name: name}, Standing: toolset.Standing{Location: at, State: state}})
	}
	for n := range 70 {
		add(fmt.Sprintf("builtin_%d", n), tool.Builtin, toolset.Ready)
	}
	add("strange", tool.Project, toolset.Untrusted)
	add("mine", tool.Personal, toolset.Ready)
	add("ours", tool.Project, toolset.NotHere)
	got := list(heads)
	if !strings.HasPrefix(got, "mine, ours, builtin_0, ") || !strings.HasSuffix(got, "builtin_57, and 12 more") || strings.Contains(got, "strange") {
		t.Errorf("List = %s", got)
	}
	if got := list(nil); got != "" {
		t.Errorf("List(nil) = %q", got)
	}
}

func TestJoin(t *testing.T) {
	unknown := func(name string) error {
		return value.Errorf(value.NotFound, "Unknown tool: %s", name).WithHint("use one of the tools: a")
	}
	group := value.Errorf(value.Invalid, "no tools found in group %q", "g")
	for _, c := range []struct {
		wrong []error
		want  string
	}{
		{nil, ""},
		{[]error{unknown("x")}, "Unknown tool: x"},
		{[]error{unknown("x"), unknown("y")}, "Unknown tools: x, y"},
		{[]error{group, unknown("x")}, `Unknown tool: x; also: no tools found in group "g"`},
		{[]error{unknown("x"), group, unknown("y")}, `Unknown tools: x, y; also: no tools found in group "g"`},
		{[]error{errors.New("broken file"), group}, `broken file; also: no tools found in group "g"`},
	} {
		got := ""
		if err := join(c.wrong); err != nil {
			got = value.ErrorOf(err, value.Failed).Message()
		}
		if got != c.want {
			t.Errorf("Join(%v) = %q, want %q", c.wrong, got, c.want)
		}
	}
}
