package chat

import (
	"context"
	"reflect"
	"slices"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/agents"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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
	t.setup.Word, t.Model, t.warned = name, o.ModelName, false
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
	t.Did("read the files again; the model has %s", toolCount(len(t.session.Agent().Tools())))
	return nil
}

// update reads the tools, the hooks and the config again, so that the next turn has those that
// were added or edited. If the config is invalid, its last valid version stays. If a file of hooks cannot
// be used, no message is sent.
func (t *chatSession) update(ctx context.Context) error {
	if err := t.reload(ctx); err != nil {
		return err
	}
	if err := t.reconfigure(ctx); err != nil {
		t.Report(value.ErrorOf(err, value.Failed)) // the agent stays as it is
	}
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

// reload refreshes the host and its servers, and reports the new errors: those of changes of files, and the
// error of the refresh, which the host may have reported too.
func (t *chatSession) reload(ctx context.Context) error {
	err := t.host.Refresh(ctx)
	if err != nil && value.KindOf(err) != value.Invalid {
		return err
	}
	failed := ""
	wrong := append(t.changes.take(), t.Attached().Update()...)
	if err != nil {
		failed = value.ErrorOf(err, value.Failed).Error()
	}
	wrong = slices.DeleteFunc(wrong, func(e *value.Error) bool { return e.Error() == failed || e.Error() == t.failed })
	if failed != "" && failed != t.failed {
		wrong = append(wrong, value.ErrorOf(err, value.Failed))
	}
	t.failed = failed
	t.ReportAll(wrong)
	return nil
}

// reconfigure gives the session the model and the format of the config as it is now.
func (t *chatSession) reconfigure(ctx context.Context) error {
	o := t.setup.Options
	changed, err := t.setup.Reconfigure(ctx, t.App, t.host, &o)
	if err != nil || !changed {
		return err
	}
	if err := t.renew(o); err != nil {
		return err
	}
	t.warned = false
	t.Note("the config has changed; messages go to %s, in the format %s", o.Model.Name(), t.session.Agent().Format())
	return nil
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
	if !host.Operate(h).HasStore() {
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
	if !host.Operate(h).HasStore() {
		return ""
	}
	for r, err := range h.Runs(ctx, history.Filter{Session: session, Limit: maxTodoRuns}) {
		if err != nil {
			return ""
		}
		list := ""
		for e, err := range host.Operate(h).Steps(ctx, r.ID) {
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
