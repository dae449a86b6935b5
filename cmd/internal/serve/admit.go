package serve

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/internal/project"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// admit decides on a run of a deployment. Whoever can write to that can begin runs, so this worker executes only scripts that
// its own user has reviewed, as they are now, and no approval that was recorded with a run holds.
func (o *opened) admit(ctx context.Context, r host.Recorded) (approved bool, err error) {
	switch r.Kind {
	case host.CallKind, host.UndoKind:
	case host.WorkflowKind:
		err = o.admitWorkflow(ctx, &r)
	default:
		err = o.admitPolicy(&r)
	}
	if err != nil {
		return false, err
	}
	called, err := host.Operate(o.host).Called(ctx, r.ID)
	if err != nil {
		return false, err
	}
	for i := range called {
		now, err := o.host.Tool(called[i].Name)
		if err != nil || now.State != toolset.Ready || now.Hash != called[i].Hash {
			return false, notReviewed("the tool '"+called[i].Name+"', as the run has called it,", called[i].Path)
		}
	}
	return false, nil
}

// admitWorkflow refuses the run of a workflow that is not one of this worker.
func (o *opened) admitWorkflow(ctx context.Context, r *host.Recorded) error {
	list, err := o.host.Workflows(ctx)
	if err != nil {
		return err
	}
	name := r.Options.Text("workflow")
	for i := range list {
		w := &list[i]
		if w.Tool.Name == name && w.State == "" && w.Script.Sum() == r.Script.Sum() && w.Declared == r.Options.Bool("declared") {
			return nil
		}
	}
	return notReviewed("the workflow '"+name+"'", r.Script.Path)
}

// admitPolicy refuses the turn of an agent whose policy is not one of this worker.
func (o *opened) admitPolicy(r *host.Recorded) error {
	name := strings.TrimSuffix(r.Script.Path[strings.LastIndexByte(r.Script.Path, '/')+1:], ".star")
	if p, err := agent.Builtin(name); err == nil && p.Script.Sum() == r.Script.Sum() {
		return nil
	}
	own, _ := project.Policies(o.root, o.app.Scope())
	for i := range own {
		if s, err := own[i].Script(agent.PolicyLibs()); err == nil && s.Sum() == r.Script.Sum() {
			return nil
		}
	}
	return notReviewed("the policy '"+name+"'", r.Script.Path)
}

// notReviewed returns the error of a worker whose user does not have a script, or has not reviewed it.
func notReviewed(what, path string) error {
	return value.Errorf(value.Denied, "%s is not reviewed on this worker, or differs from what was reviewed", value.Clean(what, 200)).WithLimit(value.LimitTool).
		WithHint("bring %s to the worker, and review it there: cassidy trust", value.Clean(path, 200))
}
