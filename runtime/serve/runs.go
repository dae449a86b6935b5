package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/history/retry"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// apiRoutes are those of the API, which /openapi.json describes.
func (s *Server) apiRoutes() []route {
	return []route{
		{pattern: "GET /v1/projects", role: View, serve: (*request).listProjects},
		{pattern: "GET /v1/workflows", role: View, serve: (*request).listWorkflows},
		{pattern: "GET /v1/tools", role: View, serve: (*request).listTools},
		{pattern: "GET /v1/tools/{name}", role: View, serve: (*request).showTool},
		{pattern: "POST /v1/tools/{name}/call", role: Run, serve: (*request).callTool},
		{pattern: "GET /v1/runs", role: View, serve: (*request).listRuns},
		{pattern: "POST /v1/runs", role: Run, serve: (*request).beginRun},
		{pattern: "GET /v1/runs/{id}", role: View, serve: (*request).showRun},
		{pattern: "GET /v1/runs/{id}/events", role: View, serve: (*request).events, stream: true},
		{pattern: "GET /v1/runs/{id}/questions", role: View, serve: (*request).listQuestions},
		{pattern: "POST /v1/runs/{id}/questions/{qid}/answer", role: Approve, serve: (*request).answerQuestion},
		{pattern: "POST /v1/runs/{id}/resume", role: Run, serve: (*request).resumeRun},
		{pattern: "POST /v1/runs/{id}/cancel", role: Run, serve: (*request).cancelRun},
		{pattern: "POST /v1/runs/{id}/undo", role: Run, serve: (*request).undoRun},
		{pattern: "POST /v1/runs/{id}/retry", role: Run, serve: (*request).retryRun},
	}
}

// projects returns the projects that the user sees.
func (r *request) projects() (list []*project) {
	for _, p := range r.s.projects {
		if r.user.Projects == nil || slices.Contains(r.user.Projects, p.Name) {
			list = append(list, p)
		}
	}
	return list
}

// project returns the project that a request names, or the only one. A project that the user does not see is not
// found.
func (r *request) project(name string) (*project, error) {
	list := r.projects()
	names := value.Map(list, func(p *project) string { return p.Name })
	switch i := slices.Index(names, name); {
	case i >= 0:
		return list[i], nil
	case name != "":
		return nil, value.Errorf(value.NotFound, "there is no project %q%s", value.Clean(name, 80), value.DidYouMean(name, names))
	case len(list) == 1:
		return list[0], nil
	}
	return nil, value.Errorf(value.Invalid, "the project is missing").WithHint("name one of: %s", strings.Join(names, ", "))
}

// run finds the run of an ID in the projects that the user sees.
func (r *request) run(id string) (*project, *history.Run, error) {
	for _, p := range r.projects() {
		for run, err := range p.Host.Runs(r.Context(), history.Filter{Prefix: id, Project: p.op.Project()}) {
			if err != nil {
				return nil, nil, err
			}
			if run.ID == id {
				return p, &run, nil
			}
		}
	}
	return nil, nil, value.Errorf(value.NotFound, "there is no run '%s'", value.Clean(id, 80)).WithHint("list the runs: GET /v1/runs")
}

// own finds a run that the user may cancel, resume, retry or undo: one that they began, or with the role
// Approve any.
func (r *request) own() (*project, *history.Run, error) {
	p, run, err := r.run(r.PathValue("id"))
	if err == nil && !mayAct(r.user, run) {
		err = r.refused(p.Name, run.ID, value.Errorf(value.Denied, "the run '%s' was begun by somebody else: this needs the role %s", run.ID, Approve))
	}
	return p, run, err
}

// mayAct reports whether a user may cancel, resume, retry or undo a run.
func mayAct(u *User, run *history.Run) bool {
	return u.Role >= Approve || u.Role == Run && run.By() == u.Name
}

// key returns the ID of the run that the request begins: the same for the same Idempotency-Key of the same user.
func (r *request) key() (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if key == "" && r.isForm() {
		key = r.PostFormValue("_key")
	}
	if key == "" {
		return agent.NewID() + strings.ToLower(rand.Text()[:8]), nil // many may begin in the same second
	}
	if len(key) > 255 {
		return "", value.Errorf(value.Invalid, "the Idempotency-Key is longer than 255 bytes")
	}
	sum := sha256.Sum256([]byte(r.user.Name + "\x00" + key))
	return keyPrefix + hex.EncodeToString(sum[:16]), nil
}

// keyPrefix begins the IDs of runs that begin with a key.
const keyPrefix = "key-"

// begins checks that something new may begin in a project, and returns the ID of its run and the context in
// which it begins.
func (r *request) begins(p *project) (context.Context, string, error) {
	id, err := r.key()
	if err != nil {
		return nil, "", err
	}
	if r.s.isDraining() {
		r.w.Header().Set("Retry-After", "5")
		return nil, "", value.Errorf(value.Unavailable, "the server is restarting: nothing new begins").WithHint("try again later")
	}
	if strings.HasPrefix(id, keyPrefix) {
		switch of, _, err := r.run(id); {
		case err == nil && of != p:
			return nil, "", value.Errorf(value.Conflict, "the Idempotency-Key was used for another request").WithHint("send another key")
		case err == nil:
			r.repeats = true
		}
	}
	return host.StartedBy(context.WithoutCancel(r.Context()), r.user.Name), id, nil
}

// beginRun begins the run of a workflow.
func (r *request) beginRun() error {
	body, err := r.fields("workflow", "args", "project")
	if err != nil {
		return err
	}
	args, err := typed[*value.Dict](body, "args")
	if err != nil {
		return err
	}
	if body.Text("workflow") == "" {
		return value.Errorf(value.Invalid, "the field \"workflow\" is missing").WithHint("list the workflows: GET /v1/workflows")
	}
	p, err := r.project(body.Text("project"))
	if err != nil {
		return err
	}
	id, err := r.begin(p, body.Text("workflow"), args)
	if err != nil {
		return err
	}
	return r.created(p, id)
}

// begin begins the run of a workflow, and returns its ID.
func (r *request) begin(p *project, workflow string, args *value.Dict) (string, error) {
	ctx, id, err := r.begins(p)
	if err != nil {
		return "", err
	}
	id, err = p.Host.Begin(ctx, workflow, args.OrEmpty(), host.Durable(id))
	return id, r.begun(p, Decision{Action: "begin", Run: id}, err)
}

// begun records that something began, and has it executed.
func (r *request) begun(p *project, d Decision, err error) error {
	if p.writes.tried(err); err != nil {
		return err
	}
	if r.noted(p, d); !r.repeats {
		p.want(d.Run)
	}
	return nil
}

// noted records a decision about a project.
func (r *request) noted(p *project, d Decision) {
	d.Project = p.Name
	r.decided(d)
}

// created answers with a run that began.
func (r *request) created(p *project, id string) error {
	_, run, err := r.run(id)
	if err != nil {
		return err
	}
	r.w.Header().Set("Location", "/v1/runs/"+id)
	return r.reply(http.StatusCreated, r.listed(p, run, false))
}

// listed returns a run as lists have it.
func (r *request) listed(p *project, run *history.Run, undone bool) *value.Dict {
	j, err := p.op.Journal()
	if err != nil {
		return run.Dict()
	}
	d := describe.ListedRun(r.Context(), j, run, undone)
	d.Put("project_name", p.Name)
	return d
}

// showRun answers with a run and its steps, one after the other.
func (r *request) showRun() error {
	p, run, err := r.run(r.PathValue("id"))
	if err != nil {
		return err
	}
	j, err := p.op.Journal()
	if err != nil {
		return err
	}
	r.w.Header().Set("Content-Type", "application/json")
	out := http.NewResponseController(r.w)
	_, err = describe.WriteRun(r.Context(), j, run, func(text string) {
		_ = out.SetWriteDeadline(time.Now().Add(writeTime))
		_, _ = io.WriteString(r.w, text) // it fails when the client has left
	})
	return err
}

// resumeRun has a run continued now, even if it is stuck or sleeps.
func (r *request) resumeRun() error {
	_, run, err := r.resume()
	if err != nil {
		return err
	}
	return r.reply(http.StatusAccepted, value.NewDict("id", run.ID, "state", run.State.String()))
}

// resume has a run continued now.
func (r *request) resume() (*project, *history.Run, error) {
	p, run, err := r.own()
	if err != nil {
		return nil, nil, err
	}
	if run.State.Ended() {
		return nil, nil, value.Errorf(value.Conflict, "the run '%s' has ended: %s", run.ID, run.State)
	}
	return p, run, r.begun(p, Decision{Action: "resume", Run: run.ID}, nil)
}

// cancelRun ends a run, or asks the process that executes it to do so.
func (r *request) cancelRun() error {
	now, err := r.cancel("")
	if err != nil {
		return err
	}
	if now.State.Ended() {
		return r.reply(http.StatusOK, value.NewDict("id", now.ID, "state", now.State.String()))
	}
	return r.reply(http.StatusAccepted, value.NewDict("id", now.ID, "state", now.State.String(), "cancel_requested", true))
}

// cancel ends a run, or asks the process that executes it to do so, and returns the run as it is then.
func (r *request) cancel(why string) (*history.Run, error) {
	p, run, err := r.own()
	if err == nil {
		err = p.Host.Cancel(context.WithoutCancel(r.Context()), run.ID)
	}
	if err != nil {
		return nil, err
	}
	p.inbox.changed(run.ID)
	r.decided(Decision{Action: "cancel", Project: p.Name, Run: run.ID, Why: why})
	_, now, err := r.run(run.ID)
	return now, err
}

// undoRun begins the undo of a run.
func (r *request) undoRun() error {
	p, id, err := r.undo()
	if err != nil {
		return err
	}
	return r.created(p, id)
}

// undo begins the undo of a run, and returns its ID.
func (r *request) undo() (*project, string, error) {
	p, run, err := r.own()
	if err != nil {
		return nil, "", err
	}
	ctx, _, err := r.begins(p)
	if err != nil {
		return nil, "", err
	}
	id, err := p.Host.BeginUndo(ctx, run.ID)
	return p, id, r.begun(p, Decision{Action: "undo", Run: id, Of: run.ID}, err)
}

// retryRun begins a run that does another one again from a step.
func (r *request) retryRun() error {
	body, err := r.fields("from")
	if err != nil {
		return err
	}
	p, id, err := r.retry(body.Text("from"))
	if err != nil {
		return err
	}
	return r.created(p, id)
}

// retry begins a run that does another one again from a step, or from the one that failed, and returns its ID.
func (r *request) retry(from string) (*project, string, error) {
	p, run, err := r.own()
	if err != nil {
		return nil, "", err
	}
	o := retry.Request{Run: run.ID}
	if from != "" {
		if o.From, err = history.ParseStepPath(from); err != nil {
			return nil, "", err
		}
	}
	ctx, id, err := r.begins(p)
	if err != nil {
		return nil, "", err
	}
	o.ID = id
	if r.repeats {
		if _, same, _ := r.run(id); same != nil && same.ForkedFrom == run.ID {
			return p, id, nil
		}
	}
	id, err = p.Host.Fork(ctx, o)
	return p, id, r.begun(p, Decision{Action: "retry", Run: id, Of: run.ID}, err)
}
