package eval

import (
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A nameCheck collects the errors of names that cannot be used, each once, before the first request.
type nameCheck struct {
	*run
	faults Faults
}

// add adds an error, or the errors that it consists of.
func (n *nameCheck) add(op string, err error) {
	if err == nil {
		return
	}
	e := *value.ErrorOf(err, value.Invalid)
	if op != "" {
		e = *e.WithOp(op)
	}
	same := func(other *value.Error) bool { return other.Error() == e.Error() }
	if !slices.ContainsFunc(n.faults, same) {
		n.faults = append(n.faults, &e)
	}
}

// err returns the error of all names: the only one, or Faults.
func (n *nameCheck) err() error {
	switch len(n.faults) {
	case 0:
		return nil
	case 1:
		return n.faults[0]
	}
	return n.faults
}

// formats checks the names of the formats.
func (n *nameCheck) formats(formats []decision.Format) {
	for _, f := range formats {
		if !slices.Contains(knownFormats, string(f)) {
			n.add("", value.Errorf(value.Invalid, "unknown format %q%s", f, value.DidYouMean(string(f), knownFormats)).WithHint("use one of: \"%s\"", strings.Join(knownFormats, `", "`)))
		}
	}
}

// cases checks the policies, the agents and the tools that cases name.
func (n *nameCheck) cases(ctx context.Context, cases []*Case) {
	type named struct {
		task          *Task
		policy, agent string
	}
	seen := map[named]bool{}
	for _, c := range cases {
		of := named{c.Task, c.Policy, c.Agent}
		if seen[of] || ctx.Err() != nil {
			continue
		}
		seen[of] = true
		_, err := n.policies()(c.Policy)
		n.add("", err)
		if b, err := n.Open(ctx, c); err == nil { // else the case will fail
			n.onBench(b, c)
			n.add("", b.Close())
		}
	}
}

// onBench checks the agent and the tools of a case.
func (n *nameCheck) onBench(b *Bench, c *Case) {
	op := "task " + c.Task.Name
	o := &agent.Options{}
	n.add(op, actAs(o, b.Host, c))
	register(b.Host, o)
	if len(c.Tools) > 0 {
		_, err := b.Host.Select(c.Tools...)
		n.add(op, err)
	}
	for i := range c.Checks {
		for _, name := range toolsOf(&c.Checks[i]) {
			_, err := b.Host.Tool(name)
			n.add(op+", checks", err)
		}
	}
}

// toolsOf returns the tools that a check names.
func toolsOf(c *Check) (names []string) {
	if c.Call != nil {
		names = append(names, c.Call.Tool)
	}
	if c.NotCalled != "" {
		names = append(names, c.NotCalled)
	}
	return names
}
