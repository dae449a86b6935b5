package rowtest

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Needs returns the capabilities that these texts name.
func Needs(t Tester, texts ...string) []tool.Capability {
	t.Helper()
	var needs []tool.Capability
	for _, text := range texts {
		c, err := tool.ParseCapability(text)
		if err != nil {
			t.Fatalf("ParseCapability(%q): %v", text, err)
		}
		needs = append(needs, c)
	}
	return needs
}

// Run calls a row with named arguments as a host does: bind, target, grant, do.
func Run(ctx context.Context, f *tool.Func, g tool.Grant, name string, args ...value.Value) (tool.Outcome, error) {
	bound, err := f.Bind(nil, value.NewDict(args...))
	if err != nil {
		return tool.Outcome{}, err
	}
	if f.Target != nil {
		targets, err := f.Target(bound)
		if err != nil {
			return tool.Outcome{}, err
		}
		for _, c := range targets {
			if err := g.Check(c); err != nil {
				return tool.Outcome{}, err
			}
		}
	}
	return f.Do(ctx, tool.Effect{Func: name, Args: bound}, g)
}

// Fails checks that a call failed with a kind and that its message and hint say something,
// and nothing of the folder that the host knows.
func Fails(t Tester, dir string, v value.Value, err error, kind value.Kind, says, name string, args ...value.Value) {
	t.Helper()
	Wrong(t, err, kind, says, name+value.FormatJSON(value.NewDict(args...), ""))
	if err == nil {
		t.Logf("it gave %s", value.FormatJSON(v, ""))
		return
	}
	e := value.ErrorOf(err, value.Internal)
	if text := e.Message() + e.Hint; len(dir) > 5 && strings.Contains(text, dir) {
		t.Errorf("%s: the error %q names the host's folder", name, text)
	}
}
