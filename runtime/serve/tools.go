package serve

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	maxWait  = time.Minute            // how long a request waits for the end of a call, which continues
	endEvery = 500 * time.Millisecond // how often the state of a call is read that another process may execute
)

func (r *request) listProjects() error {
	list := value.List{}
	for _, p := range r.projects() {
		list = append(list, value.NewDict("name", p.Name))
	}
	return r.reply(http.StatusOK, value.NewDict("projects", list))
}

// listWorkflows answers with the workflows of a project, as cassidy run --json lists them.
func (r *request) listWorkflows() error {
	p, err := r.project(r.URL.Query().Get("project"))
	if err != nil {
		return err
	}
	list := value.List{}
	if p.Workflows != nil {
		all, err := p.Workflows(r.Context())
		if err != nil {
			return err
		}
		for i := range all {
			w := &all[i]
			info := toolset.Info{Tool: w.Tool, Standing: toolset.Standing{Location: tool.Project, Path: w.Script.Path, State: w.State, Reason: w.Reason}}
			if info.State == "" {
				info.State = toolset.Ready
			}
			d := describe.Tool(&info)
			d.Put("declared", w.Declared)
			list = append(list, d)
		}
	}
	return r.reply(http.StatusOK, value.NewDict("workflows", list))
}

// listTools answers with the tools of a project, as tool list --json prints them.
func (r *request) listTools() error {
	p, err := r.project(r.URL.Query().Get("project"))
	if err != nil {
		return err
	}
	tools := p.Host.Tools()
	list := make(value.List, len(tools))
	for i := range tools {
		list[i] = describe.Tool(&tools[i])
	}
	return r.reply(http.StatusOK, value.NewDict("tools", list, "errors", describe.ErrorList(p.Host.Broken())))
}

// showTool answers with a tool, as tool help --json prints it.
func (r *request) showTool() error {
	p, err := r.project(r.URL.Query().Get("project"))
	if err != nil {
		return err
	}
	t, err := p.Host.Tool(r.PathValue("name"))
	if err != nil {
		return err
	}
	return r.reply(http.StatusOK, describe.FullTool(&t))
}

// callTool makes a call, and answers with its result if it ends soon.
func (r *request) callTool() error {
	body, err := r.fields("args", "project")
	if err != nil {
		return err
	}
	args, err := typed[*value.Dict](body, "args")
	if err != nil {
		return err
	}
	p, err := r.project(body.Text("project"))
	if err != nil {
		return err
	}
	id, err := r.beginCall(p, r.PathValue("name"), args)
	if err != nil {
		return err
	}
	wait := maxWait
	if r.URL.Query().Get("wait") == "0" {
		wait = 0
	}
	return r.result(p, id, wait)
}

// beginCall begins a call, and returns the ID of its run. Who may answer the questions of the call approves it by making it,
// as somebody does who types it; for others it asks.
func (r *request) beginCall(p *project, name string, args *value.Dict) (string, error) {
	ctx, id, err := r.begins(p)
	if err != nil {
		return "", err
	}
	c := tool.Call{Tool: name, Args: args.OrEmpty(), Caller: tool.ByModel}
	if r.s.AnswersOwn(r.user) {
		c.Caller = tool.ByPerson
	}
	id, err = p.Host.BeginCall(ctx, c, host.Durable(id))
	return id, r.begun(p, Decision{Action: "begin", Run: id}, err)
}

// result answers with the result of a run, or after some time with what it waits for.
func (r *request) result(p *project, id string, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	if !r.ended(ctx, p, id) {
		return r.pending(p, id)
	}
	result, err := p.Host.Resume(r.Context(), id) // which has ended
	if err != nil && result.Error == "" {
		return err
	}
	text, err := result.MarshalJSON()
	if err != nil {
		return err
	}
	end := strings.TrimPrefix(describe.JSON(value.NewDict("run", id)), "{")
	r.w.Header().Set("Content-Type", "application/json")
	_, _ = r.w.Write(append(append(text[:len(text)-1], ','), end+"\n"...)) // it fails when the client has left
	return nil
}

// ended waits until a run has ended, or waits for somebody or for a time, and reports whether it has ended.
func (r *request) ended(ctx context.Context, p *project, id string) bool {
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	for {
		executed := p.jobs.ends(id) // before the run is read, to miss nothing
		_, run, err := r.run(id)
		if err != nil || run.State.Ended() {
			return err == nil
		}
		if run.State != history.Running && r.waits(p, run) {
			return false
		}
		select {
		case <-executed:
		case <-tick.C: // another process may execute it
		case <-r.s.draining:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// waits reports whether a run that is not executed waits for more than the next free place.
func (r *request) waits(p *project, run *history.Run) bool {
	if run.State == history.Parked && (run.Reason == history.Queued || run.Reason == history.Interrupted) {
		return false
	}
	open, err := r.openQuestions(p, run)
	return err != nil || !slices.ContainsFunc(open, func(q history.Asked) bool { return q.Answer != nil })
}

// pending answers with a run that has not ended, and its questions.
func (r *request) pending(p *project, id string) error {
	_, run, err := r.run(id)
	if err != nil {
		return err
	}
	d := r.listed(p, run, false)
	list, err := r.questions(p, run)
	if err != nil {
		return err
	}
	d.Put("questions", list)
	r.w.Header().Set("Location", "/v1/runs/"+id)
	return r.reply(http.StatusAccepted, d)
}
