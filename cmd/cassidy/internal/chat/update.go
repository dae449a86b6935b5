package chat

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/cmd/cassidy/internal/agents"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
)

// useModel continues the conversation with another model.
func (t *chatSession) useModel(ctx context.Context, name string) error {
	o := t.setup.Options
	if err := agents.SetModel(ctx, t.App, t.host, &o, name); err != nil {
		return err
	}
	if err := t.renew(o); err != nil {
		return err
	}
	t.Model, t.warned = o.ModelName, false
	t.Note("the next message goes to %s, in the format %s", o.Model.Name(), t.session.Agent().Format())
	return nil
}

// renew replaces the agent of the session by one with other options.
func (t *chatSession) renew(o agent.Options) error {
	old := t.setup.Options
	o.Tools = t.offers
	t.setup.Options = o
	a, err := agents.New(t.App, t.host, t.setup)
	if err == nil {
		err = t.session.Switch(a)
	}
	if err != nil {
		t.setup.Options = old
	}
	return err
}

// refresh reads the files again, and lists what is invalid.
func (t *chatSession) refresh(ctx context.Context, _ []string) error {
	if err := t.update(ctx); err != nil {
		return err
	}
	for _, e := range t.host.Broken() {
		t.Report(e)
	}
	t.Note("read the files again; the model has %s", toolCount(len(t.session.Agent().Tools())))
	return nil
}

// update reads the tools and the hooks of the project again, so that the next turn has those that
// were added or edited. If a file of hooks cannot be used, no message is sent.
func (t *chatSession) update(ctx context.Context) error {
	if err := t.host.Refresh(ctx); err != nil {
		return err
	}
	t.ReportAll(append(t.changes.take(), t.UpdateServers()...))
	hooks, err := agents.Hooks(t.App)
	if err != nil {
		return err
	}
	if o := t.setup.Options; !slices.Equal(hooks, o.Hooks) {
		o.Hooks = hooks
		if err := t.renew(o); err != nil {
			return err
		}
		t.Note("the hooks have changed")
	}
	return t.offerAgain()
}

// selected returns the tools that the words of the session select now, or nil if one of them is
// gone.
func (t *chatSession) selected() []tool.Tool {
	if len(t.offers) == 0 {
		return nil
	}
	found, err := t.host.Select(t.offers...)
	if err != nil {
		return nil
	}
	var ready []tool.Tool
	for _, i := range found {
		if i.State == toolset.Ready {
			ready = append(ready, i.Tool)
		}
	}
	return ready
}

// offerAgain offers the tools again if their declarations have changed. A tool that has become
// unavailable stays, and its calls fail.
func (t *chatSession) offerAgain() error {
	now := t.selected()
	if now == nil || slices.EqualFunc(now, t.known, func(a, b tool.Tool) bool { return reflect.DeepEqual(a, b) }) {
		return nil
	}
	if err := t.session.Offer(t.offers...); err != nil {
		return err
	}
	t.known = now
	t.Note("the tools have changed; the model has %s", toolCount(len(t.session.Agent().Tools())))
	return nil
}

// maxTodoRuns is how many turns are searched for the last list.
const maxTodoRuns = 50

// lastTurn returns when the last turn of a session ended, or began if it has not ended; zero if there
// is none.
func lastTurn(ctx context.Context, h *host.Host, session string) (at time.Time) {
	if !h.HasStore() {
		return at
	}
	for r, err := range h.Runs(ctx, history.Filter{Session: session, Limit: 1}) {
		if err == nil {
			at = r.Ended
			if at.IsZero() {
				at = r.Started
			}
		}
	}
	return at
}

// lastTodo returns the list of a recorded session as its model has written it last, or "".
func lastTodo(ctx context.Context, h *host.Host, session string) string {
	if !h.HasStore() {
		return ""
	}
	for r, err := range h.Runs(ctx, history.Filter{Session: session, Limit: maxTodoRuns}) {
		if err != nil {
			return ""
		}
		list := ""
		for e, err := range h.Steps(ctx, r.ID) {
			if err != nil {
				break
			}
			if text, ok := e.Outcome.Value.(string); ok && e.Func == "handler."+agents.TodoTool && e.Err == nil {
				list = text
			}
		}
		if list != "" {
			return list
		}
	}
	return ""
}
