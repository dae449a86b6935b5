package remote

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxPage is how many runs the server lists at a time.
const maxPage = 200

// List returns the runs that a query selects, the newest first, each as runs list --json prints it: at most so many, or
// all for 0.
func (c *Client) List(ctx context.Context, query map[string]string, most int) (list []*value.Dict, err error) {
	for {
		page := maxPage
		if most > 0 {
			page = min(page, most-len(list))
		}
		query["limit"] = strconv.Itoa(page)
		d, err := c.Get(ctx, Path("runs"), query)
		if err != nil {
			return nil, err
		}
		for _, v := range d.Elements("runs") {
			run := &value.Dict{}
			of, _ := v.(*value.Dict)
			for k, v := range of.All() {
				if name, _ := k.(string); name != "project_name" { // of the server
					run.Put(name, v)
				}
			}
			list = append(list, run)
		}
		next := d.Text("next")
		if next == "" || most > 0 && len(list) >= most {
			return list, nil
		}
		query["before"] = next
	}
}

// Find finds a run by its ID, by a unique prefix of it, or as the last one.
func (c *Client) Find(ctx context.Context, id string) (*history.Run, error) {
	query, most := map[string]string{"q": id}, 0
	if id == app.LastRun {
		query, most = map[string]string{}, 1
	}
	if id == "" {
		return nil, value.Errorf(value.Invalid, "ID is missing").WithHint("cassidy runs list")
	}
	list, err := c.List(ctx, query, most)
	if err != nil {
		return nil, err
	}
	var begins []*history.Run
	for _, d := range list {
		r, _, _ := describe.ReadRun(d)
		switch {
		case r.ID == id:
			return &r, nil
		case most == 1 || strings.HasPrefix(r.ID, id):
			begins = append(begins, &r)
		}
	}
	switch len(begins) {
	case 0:
		return nil, value.Errorf(value.Invalid, "there is no run %q", id).WithHint("cassidy runs list")
	case 1:
		return begins[0], nil
	}
	return nil, value.Errorf(value.Invalid, "%q is a prefix of %d run IDs", id, len(begins)).WithHint("type a longer prefix, such as %s", begins[0].ID)
}

// Text returns a run as runs show --json prints it.
func (c *Client) Text(ctx context.Context, id string) (string, error) {
	text, err := c.text(ctx, http.MethodGet, Path("runs", id), nil, "")
	return string(text), err
}

// Record reads a run with its steps. A server that does not answer is asked again.
func (c *Client) Record(ctx context.Context, id string) (r *describe.Record, err error) {
	err = c.again(ctx, func() (err error) {
		r, err = c.record(ctx, id)
		return err
	})
	return r, err
}

// Questions returns the open questions of a run, and how the server shows them, by their IDs.
func (c *Client) Questions(ctx context.Context, id string) (list []history.Asked, shown map[string]*value.Dict, err error) {
	shown = map[string]*value.Dict{}
	d, err := c.Get(ctx, Path("runs", id, "questions"), nil)
	for _, v := range d.Elements("questions") {
		if q, ok := v.(*value.Dict); ok {
			list = append(list, describe.ReadQuestion(id, q))
			shown[q.Text("id")] = q
		}
	}
	return list, shown, err
}

// Answer sends the answer to a question, and returns what was answered as runs answer --json prints it. The server refuses it if
// somebody else has answered since the question was read as it is shown, and if it has changed since a person saw it.
func (c *Client) Answer(ctx context.Context, q *history.Asked, a *tool.Answer, shown *value.Dict, seen bool) (*value.Dict, error) {
	body := value.NewDict("why", a.Why, "rev", shown.Int("rev"))
	if seen {
		body.Put("seen", shown.Text("seen"))
	}
	switch {
	case a.Done:
		body.Put("done", true)
		body.Put("value", a.Value)
	case q.Kind == tool.QuestionAsk && a.Value != nil:
		body.Put("value", a.Value)
	default:
		body.Put("yes", a.Yes)
	}
	if a.Always {
		body.Put("always", true)
	}
	if a.Args != nil {
		body.Put("args", a.Args)
	}
	return c.Post(ctx, Path("runs", q.Run, "questions", q.ID, "answer"), body, "")
}

// Changes returns a function that waits until a run may have changed since its last call. It follows the run until ctx
// ends.
func (c *Client) Changes(ctx context.Context, id string, least time.Duration) func(context.Context) error {
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- c.Events(ctx, id, func(*tool.Event) bool {
			select {
			case changed <- struct{}{}:
			default:
			}
			return ctx.Err() == nil
		})
	}()
	return func(ctx context.Context) error {
		if err := wait(ctx, least); err != nil {
			return err
		}
		select {
		case <-changed:
		case err := <-ended:
			ended <- nil // the run has ended: the next look shows it
			return err
		case <-ctx.Done():
			return value.AsError(context.Cause(ctx), value.Canceled)
		}
		return nil
	}
}

// Follow shows the events of a run until it has ended, or waits for more than the next free place, and returns the run
// then.
func (c *Client) Follow(ctx context.Context, id string, show func(tool.Event)) (*describe.Record, error) {
	var last *describe.Record
	err := c.Events(ctx, id, func(e *tool.Event) bool {
		ends := e == nil
		if e != nil {
			show(*e)
			switch e.Data.(type) {
			case tool.RunEnd, tool.ToolCallEnd:
				ends = e.Call == e.Run
			}
		}
		if !ends {
			return true
		}
		last = c.settled(ctx, id, e != nil)
		return last == nil
	})
	if err == nil && last == nil {
		last, err = c.Record(ctx, id)
	}
	return last, err
}

// settled returns a run that has ended or waits, or nil for one that goes on. After the event of its end, the record of it may
// come a moment later.
func (c *Client) settled(ctx context.Context, id string, soon bool) *describe.Record {
	const looks, pause = 20, 100 * time.Millisecond
	for range looks {
		r, err := c.Record(ctx, id)
		if err != nil {
			return nil // the next request fails too
		}
		if !goesOn(r) {
			return r
		}
		if !soon || r.Run.State != history.Running || wait(ctx, pause) != nil {
			return nil
		}
	}
	return nil
}

// goesOn reports whether a run continues without somebody who does something.
func goesOn(r *describe.Record) bool {
	switch r.Run.State {
	case history.Running:
		return true
	case history.Parked:
		return r.Run.Reason == history.Queued || r.Run.Reason == history.Interrupted || r.Wait != nil && r.Wait.Open() < len(r.Wait.Questions)
	}
	return false
}

// Begin sends what begins a run, and returns that run. As it has a key, it can be sent again: it begins once.
func (c *Client) Begin(ctx context.Context, path string, body *value.Dict) (d *value.Dict, err error) {
	key := agent.NewID()
	for range 2 {
		if d, err = c.Post(ctx, path, body, key); value.KindOf(err) != value.Unavailable || wait(ctx, firstPause) != nil {
			break
		}
	}
	return d, err
}

// Workflows returns the workflows of the project, as cassidy run --json prints them.
func (c *Client) Workflows(ctx context.Context) (*value.Dict, error) {
	return c.Get(ctx, Path("workflows"), c.inProject())
}

// Run begins the run of a workflow.
func (c *Client) Run(ctx context.Context, workflow string, args *value.Dict) (*value.Dict, error) {
	return c.Begin(ctx, Path("runs"), c.body("workflow", workflow, "args", args))
}

// body returns the body of a request in the project of --project.
func (c *Client) body(fields ...any) *value.Dict {
	d := value.NewDict(fields...)
	if c.project != "" {
		d.Put("project", c.project)
	}
	return d
}

// Outcome returns the error with which a run has ended or for which it waits, or nil if it is done.
func Outcome(r *describe.Record) *value.Error {
	run := r.Run
	switch {
	case run.State == history.Done:
		return nil
	case run.State.Ended() && run.Err != nil:
		if run.State == history.Cancelled {
			run.Err.Kind = value.Canceled
		}
		return run.Err
	case run.State.Ended():
		return value.Errorf(value.Failed, "the run %s is %s", run.ID, run.State)
	case run.State == history.Stuck:
		return value.Errorf(value.Failed, "the run %s is stuck: %s", run.ID, run.Stuck).WithHint("%s", describe.Repair(run))
	}
	e := &history.ParkedError{Run: run.ID, Reason: run.Reason}
	if r.Wait == nil {
		return value.Errorf(value.Parked, "the run %s is parked: %s", run.ID, run.Reason).WithHint("%s", describe.Repair(run))
	}
	for i := range r.Wait.Questions {
		e.Questions = append(e.Questions, r.Wait.Questions[i].Question)
	}
	if len(e.Questions) == 0 {
		return value.Errorf(value.Parked, "the run %s %s", run.ID, r.Wait.Text()).WithHint("to watch it: cassidy runs show %s --follow", run.ID)
	}
	return &value.Error{Kind: value.Parked, Err: e, Limit: value.LimitName(run.Reason), Hint: r.Wait.Todo()}
}

// Left returns the error of a command that no longer follows a run: of Ctrl-C, or of a server that does not answer. The run
// goes on.
func (c *Client) Left(ctx context.Context, run string, err error) *value.Error {
	e := *value.ErrorOf(err, value.Failed)
	if ctx.Err() != nil {
		e = *value.Errorf(value.Canceled, "interrupted, but the run %s goes on at the server", run)
	}
	if e.Kind == value.Canceled || e.Kind == value.Unavailable {
		return e.WithHint("to watch it: cassidy runs show %s --follow; to cancel it: cassidy runs cancel %s", run, run)
	}
	return &e
}
