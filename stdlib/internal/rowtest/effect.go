package rowtest

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Caller calls the functions of modules as a host does: bind, target, grant, do.
type Caller struct {
	T       Tester
	Modules []tool.Module
	Needs   []tool.Capability // what is granted
	Dir     string            // the project's folder, which no error may show; "" is none
	Stage   *tool.Stage       // of the host's call that all belong to
	Request func() error      // of the grant; may be nil
	Emit    func(tool.Report) // of the grant; may be nil
}

// Grant replaces what is granted.
func (c *Caller) Grant(needs ...string) {
	c.T.Helper()
	c.Needs = nil
	for _, text := range needs {
		need, err := tool.ParseCapability(text)
		if err != nil {
			c.T.Fatalf("ParseCapability(%q): %v", text, err)
		}
		c.Needs = append(c.Needs, need)
	}
}

// Check is the Check of a grant.
func (c *Caller) Check(need tool.Capability) error {
	if tool.AllowsAny(c.Needs, need) {
		return nil
	}
	return value.Errorf(value.Denied, "%s is not granted", need)
}

// Func returns a function by its name.
func (c *Caller) Func(name string) *tool.Func {
	c.T.Helper()
	return Find(c.T, c.Modules, name)
}

// Run calls a function with named arguments.
func (c *Caller) Run(ctx context.Context, name string, args ...value.Value) (tool.Outcome, error) {
	c.T.Helper()
	f := c.Func(name)
	bound, err := f.Bind(nil, value.NewDict(args...))
	if err != nil {
		return tool.Outcome{}, err
	}
	if f.Target != nil {
		targets, err := f.Target(bound)
		if err != nil {
			return tool.Outcome{}, err
		}
		for _, target := range targets {
			if err := c.Check(target); err != nil {
				return tool.Outcome{}, err
			}
		}
	}
	return f.Do(ctx, tool.Effect{Func: name, Args: bound}, tool.Grant{Check: c.Check, Stage: c.Stage, Request: c.Request, Emit: c.Emit})
}

// Call is Run for the value alone.
func (c *Caller) Call(name string, args ...value.Value) (value.Value, error) {
	c.T.Helper()
	out, err := c.Run(context.Background(), name, args...)
	return out.Value, err
}

// Must is Call for what must not fail.
func (c *Caller) Must(name string, args ...value.Value) value.Value {
	c.T.Helper()
	v, err := c.Call(name, args...)
	if err != nil {
		c.T.Fatalf("%s(%s): %v", name, value.FormatJSON(value.NewDict(args...), ""), err)
	}
	return v
}

// Fails checks that a call fails with a kind and that its message and hint contain
// something, and nothing of the folder that the host knows.
func (c *Caller) Fails(kind value.Kind, contain, name string, args ...value.Value) {
	c.T.Helper()
	v, err := c.Call(name, args...)
	Wrong(c.T, err, kind, contain, name+value.FormatJSON(value.NewDict(args...), ""))
	if err == nil {
		c.T.Logf("it returned %s", value.FormatJSON(v, ""))
		return
	}
	e := value.ErrorOf(err, value.Internal)
	if text := e.Message() + e.Hint; len(c.Dir) > 5 && strings.Contains(text, c.Dir) {
		c.T.Errorf("%s: the error %q names the host's folder", name, text)
	}
}
