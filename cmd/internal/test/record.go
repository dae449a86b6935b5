package test

import (
	"cmp"
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/internal/scripttest"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/fixture"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// recorder returns the function that makes calls on the host of the project. A call is approved as one of a script, since
// nobody has typed its arguments. The runs are in the list of runs, so that they can be undone.
func (c *command) recorder(h *host.Host) func(context.Context, scripttest.Recording) (*fixture.Fixture, error) {
	return func(ctx context.Context, r scripttest.Recording) (*fixture.Fixture, error) {
		id := agent.NewID()
		what := "new fixture"
		if r.Replaces {
			what = "replaces the fixture"
		}
		c.Note("recording %s into %s (%s), as the run %s", r.Name, r.Fixture, what, id)
		var err error
		entry := ""
		if r.Workflow {
			entry = "main"
			_, err = h.Run(ctx, r.Name, r.Args, host.Durable(id))
		} else {
			_, err = h.Call(ctx, tool.Call{Tool: r.Name, Args: r.Args, Caller: tool.ByScript}, host.Durable(id))
		}
		f, failure := c.fixture(ctx, id)
		if failure == nil && refused(err) && (len(f.Steps) == 0 || strings.Contains(err.Error(), "not approved")) {
			failure = err // of the call itself
		}
		if failure != nil {
			return nil, cmp.Or(err, failure)
		}
		f.Entry = entry
		return f, nil
	}
}

// fixture reads a run that has ended. It fails if an effect was refused, so that a fixture is complete.
func (c *command) fixture(ctx context.Context, id string) (*fixture.Fixture, error) {
	j, done, err := c.OpenRuns(c.Journal())
	if err != nil {
		return nil, err
	}
	defer done()
	r, err := j.Run(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.State != history.Done && r.State != history.Failed {
		return nil, value.Errorf(value.Conflict, "record the run '%s': expected the state done or failed, but got %s", id, r.State).
			WithHint("continue it with: cassidy runs resume %s; then write the fixture with: cassidy runs export %s", id, id)
	}
	f, err := fixture.Read(ctx, j, &r)
	if err != nil {
		return nil, err
	}
	for _, s := range f.Steps {
		if s.End != nil && s.End.Err != nil && refused(s.End.Err) {
			return nil, s.End.Err
		}
	}
	return f, nil
}

// refused reports whether something was denied, or a question about it was not answered.
func refused(err error) bool {
	kind := value.KindOf(err)
	return err != nil && (kind == value.Denied || kind == value.Unanswered)
}
