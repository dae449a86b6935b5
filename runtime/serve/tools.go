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
	c, err := r.beginCall(p, r.PathValue("name"), args)
	if err != nil {
		return err
	}
	wait := maxWait
	if r.URL.Query().Get("wait") == "0" {
		wait = 0
	}
	return r.result(c, wait)
}

// A begunCall is a call that was begun.
type begunCall struct {
	p    *project
	run  string     // its ID
	next *execution // of the run, since it began, to leave; nil if an earlier request has begun it
}

// beginCall begins a call. Who may answer the questions of the call approves it by making it, as somebody does who types it;
// for others it asks.
func (r *request) beginCall(p *project, name string, args *value.Dict) (begunCall, error) {
	ctx, id, err := r.begins(p)
	if err != nil {
		return begunCall{}, err
	}
	c := tool.Call{Tool: name, Args: args.OrEmpty(), Caller: tool.ByModel}
	if r.s.AnswersOwn(r.user) {
		c.Caller = tool.ByPerson
	}
	b := begunCall{p: p, run: id}
	var makeIt func() *execution
	if !r.repeats {
		makeIt, err = r.s.startCall(ctx, p, id, c)
		if p.writes.tried(err); err != nil {
			return b, err
		}
	}
	d := Decision{Action: "begin", Run: id}
	if makeIt != nil {
		r.noted(p, d)
		b.next = makeIt()
		return b, nil
	}
	if b.run, err = p.Host.BeginCall(ctx, c, host.Durable(id)); err == nil && !r.repeats {
		b.next = p.jobs.next(id) // before the loop hears of the run
	}
	return b, r.begun(p, d, err)
}

// result answers with the result of a call, or after some time with what it waits for.
func (r *request) result(c begunCall, wait time.Duration) error {
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	defer c.p.jobs.leave(c.run, c.next)
	if c.next != nil {
		select {
		case <-c.next.done:
			e := c.next.err
			if e == nil {
				return r.replyResult(c.run, &c.next.result)
			}
			if isUnrecorded(e) { // also the beginning of the run, perhaps
				c.p.writes.tried(e)
				return e
			}
		case <-time.After(endEvery): // another process may execute it
		case <-r.s.draining:
		case <-ctx.Done():
		}
	}
	run := r.ended(ctx, c.p, c.run)
	switch {
	case run == nil:
		return r.pending(c.p, c.run)
	case run.State != history.Done:
		result := tool.Fail(run.Err, run.Usage)
		return r.replyResult(c.run, &result)
	}
	result, err := c.p.Host.Resume(r.Context(), c.run) // which has ended
	if err != nil && result.Error == "" {
		return err
	}
	return r.replyResult(c.run, &result)
}

func (r *request) replyResult(run string, result *tool.Result) error {
	text, err := result.MarshalJSON()
	if err != nil {
		return err
	}
	end := strings.TrimPrefix(describe.JSON(value.NewDict("run", run)), "{")
	r.w.Header().Set("Content-Type", "application/json")
	_, _ = r.w.Write(append(append(text[:len(text)-1], ','), end+"\n"...)) // it fails when the client has left
	return nil
}

// ended waits until a run has ended, or waits for somebody or for a time. It returns nil for one that has not ended.
func (r *request) ended(ctx context.Context, p *project, id string) *history.Run {
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	next := p.jobs.next(id) // before the run is read, to miss nothing
	defer func() { p.jobs.leave(id, next) }()
	for {
		_, run, err := r.run(id)
		if err != nil || run.State.Ended() {
			return run
		}
		if run.State != history.Running && r.waits(p, run) {
			return nil
		}
		select {
		case <-next.done:
			next = p.jobs.next(id)
		case <-tick.C: // another process may execute it
		case <-r.s.draining:
			return nil
		case <-ctx.Done():
			return nil
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
