package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The hints of tools that take long. A client that has declared the extension for tasks gets a
// task at once and asks for its result later; other clients wait for the result. With
// [TaskRequiredHint] only clients with the extension may call the tool. A script that knows
// better when it begins to take long calls client.detach instead.
const (
	TaskHint         = "mcp_task"
	TaskRequiredHint = "mcp_task_required"
)

// tasksExtension is the extension for tasks: modelcontextprotocol.io, SEP-2663.
const tasksExtension = "io.modelcontextprotocol/tasks"

// pollEvery is how often a client should ask for the state of a task.
const pollEvery = time.Second

// A taskInfo is a task on the wire: a recorded run, whose ID is that of the task.
type taskInfo struct {
	sdk.ResultBase
	ResultType   string              `json:"resultType"`
	ID           string              `json:"taskId"`
	Status       string              `json:"status"`
	Message      string              `json:"statusMessage,omitempty"`
	Created      time.Time           `json:"createdAt"`
	Updated      time.Time           `json:"lastUpdatedAt"`
	TTL          *int64              `json:"ttlMs"` // null: as long as the run is kept
	PollInterval int64               `json:"pollIntervalMs"`
	Inputs       sdk.InputRequestMap `json:"inputRequests,omitempty"`
	Result       *sdk.CallToolResult `json:"result,omitempty"`
	Error        json.RawMessage     `json:"error,omitempty"`
}

// taskParams are the parameters of tasks/get, tasks/update and tasks/cancel.
type taskParams struct {
	sdk.ParamsBase
	ID      string                     `json:"taskId"`
	Answers map[string]json.RawMessage `json:"inputResponses,omitempty"` // of any form: unknown ones are ignored
}

// answer returns the response to a question, or nil.
func (p *taskParams) answer(key string) sdk.InputResponse {
	var one sdk.InputResponseMap
	if raw, given := p.Answers[key]; given {
		_ = json.Unmarshal(jsonOf(map[string]json.RawMessage{key: raw}), &one) // an invalid response is ignored
	}
	return one[key]
}

// An ack is an empty result.
type ack struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// detached is set when a request has got a task as its reply. Its call then continues alone.
type detached struct {
	once  sync.Once
	begun chan struct{} // closed when it is detached
}

func newDetached() *detached { return &detached{begun: make(chan struct{})} }
func (d *detached) detach()  { d.once.Do(func() { close(d.begun) }) }
func (d *detached) is() bool {
	select {
	case <-d.begun:
		return true
	default:
		return false
	}
}

// detachedKey is the key of the detached in the context of a call.
type detachedKey struct{}

// detachCall makes the call with this context a task, if its client can have one.
func detachCall(ctx context.Context) {
	if d, ok := ctx.Value(detachedKey{}).(*detached); ok {
		d.detach()
	}
}

// registerTasks adds the methods of the extension.
func (s *Server) registerTasks() error {
	s.sdk.AddReceivingMiddleware(asTask, namesTask)
	return errors.Join(
		sdk.AddReceivingCustomMethod(s.sdk, "tasks/get", withTasks(s, s.getTask)),
		sdk.AddReceivingCustomMethod(s.sdk, "tasks/update", withTasks(s, s.updateTask)),
		sdk.AddReceivingCustomMethod(s.sdk, "tasks/cancel", withTasks(s, s.cancelTask)))
}

// withTasks returns the handler of a method that only clients with the extension may use, in the conversation
// of the client.
func withTasks[R sdk.Result](s *Server, do func(ctx context.Context, p *taskParams) (R, error)) func(context.Context, *sdk.ServerSession, *taskParams) (R, error) {
	return func(ctx context.Context, client *sdk.ServerSession, p *taskParams) (R, error) {
		r := sdk.ServerRequest[*taskParams]{Session: client, Params: p}
		if !hasTasks(r.ClientCapabilities()) {
			var none R
			return none, lacksTasks()
		}
		return do(s.conversation(ctx, client), p)
	}
}

// namesTask refuses a request about a task over HTTP whose header names another task: proxies
// route by the header.
func namesTask(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		if p, ok := r.GetParams().(*taskParams); ok && r.GetExtra() != nil {
			if named := r.GetExtra().Header.Values("Mcp-Name"); len(named) > 0 && named[0] != p.ID {
				return nil, &jsonrpc.Error{Code: sdk.CodeHeaderMismatch, Message: "the header Mcp-Name differs from the taskId"}
			}
		}
		return next(ctx, method, r)
	}
}

// taskMeta marks the result of a call that has become a task, until [asTask] replaces it.
const taskMeta = "cassidy.run/task"

// asTask replies with the task of a call that has become one: the SDK knows no tasks.
func asTask(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
		out, err := next(ctx, method, r)
		if result, ok := out.(*sdk.CallToolResult); ok && err == nil {
			if t, ok := result.Meta[taskMeta].(*taskInfo); ok {
				return t, nil
			}
		}
		return out, err
	}
}

// taskOf returns the task of a run.
func (s *Server) taskOf(ctx context.Context, id string) (*taskInfo, error) {
	run, err := s.host.Recorded(ctx, id)
	if err != nil || run.Kind != host.CallKind || run.Project != host.Operate(s.host).Project() || !strings.HasPrefix(id, idPrefix) {
		return nil, value.Errorf(value.NotFound, "unknown task %q", value.Clean(id, 80)).WithHint("use the taskId of a reply to tools/call")
	}
	t := &taskInfo{ResultType: "complete", ID: id, Created: run.Started, Updated: run.Started, PollInterval: pollEvery.Milliseconds()}
	if run.State.Ended() {
		t.Updated = run.Ended
	}
	switch run.State {
	case history.Done:
		t.Status = "completed"
		t.Result, err = s.resultOfRun(ctx, &run.Run)
	case history.Failed:
		t.Status = "completed"
		failure := tool.Fail(value.ErrorOf(run.Err, value.Failed), tool.Usage{})
		called := tool.Tool{Name: run.Args.Text("tool")}
		t.Result, err = resultOf(&called, named(&called, run.Args.Dict("args"), failure))
		if run.Err != nil && run.Err.Kind == value.Internal {
			t.Status, t.Result, t.Error = "failed", nil, jsonOf(map[string]any{"code": jsonrpc.CodeInternalError, "message": run.Err.Message()})
		}
	case history.Cancelled:
		t.Status = "cancelled"
	case history.Stuck:
		t.Status, t.Error = "failed", jsonOf(map[string]any{"code": jsonrpc.CodeInternalError, "message": run.Stuck})
	default:
		if repair := history.Repair(run.Reason); run.State == history.Parked && repair != "" {
			t.Status, t.Result = "completed", s.tasks.failure(id, repair)
			break
		}
		t.Status = "working"
		if t.Inputs, err = s.openInputs(ctx, id); len(t.Inputs) > 0 {
			t.Status = "input_required"
		}
	}
	return t, err
}

// resultOfRun returns the result of a run that is done.
func (s *Server) resultOfRun(ctx context.Context, run *history.Run) (*sdk.CallToolResult, error) {
	t, err := s.host.Tool(run.Args.Text("tool"))
	if err != nil {
		return nil, err
	}
	r, err := s.host.Resume(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	return resultOf(&t.Tool, r)
}

// openInputs returns the open questions of a run.
func (s *Server) openInputs(ctx context.Context, id string) (sdk.InputRequestMap, error) {
	open := sdk.InputRequestMap{}
	for q, err := range s.host.Waiting(ctx) {
		if err != nil {
			return nil, err
		}
		if q.Run != id {
			continue
		}
		if input, ok := inputOf(&q); ok {
			open[stepOf(&q)] = input
		}
	}
	if c := s.lives.find(id); c != nil {
		inputs, _ := c.inputs()
		maps.Copy(open, inputs)
	}
	return open, nil
}

// getTask returns the state of a task. It continues the run of a task that waits no longer,
// or whose server has died.
func (s *Server) getTask(ctx context.Context, p *taskParams) (*taskInfo, error) {
	t, err := s.taskOf(ctx, p.ID)
	if err != nil {
		return nil, invalidParams(err)
	}
	if t.Status == "working" {
		s.resume(p.ID)
	}
	if t.Result != nil {
		if err := host.Operate(s.host).NoteRead(ctx, p.ID); err != nil {
			return nil, invalidParams(err)
		}
	}
	return t, nil
}

// updateTask records answers to the questions of a task, and continues it.
func (s *Server) updateTask(ctx context.Context, p *taskParams) (*ack, error) {
	t, err := s.taskOf(ctx, p.ID)
	if err != nil {
		return nil, invalidParams(err)
	}
	if t.Status == "completed" {
		return &ack{ResultType: "complete"}, nil
	}
	for q, err := range s.host.Waiting(ctx) {
		if err != nil {
			return nil, invalidParams(err)
		}
		if a, ok := answerOf(&q, p.answer(stepOf(&q))); ok && q.Run == p.ID {
			if err := s.host.Answer(ctx, q.ID, a); err != nil {
				return nil, invalidParams(err)
			}
		}
	}
	if c := s.lives.find(p.ID); c != nil {
		c.take(p.answer)
	}
	if open, err := s.openInputs(ctx, p.ID); err == nil && len(open) == 0 {
		s.resume(p.ID)
	}
	return &ack{ResultType: "complete"}, nil
}

// cancelTask cancels a task. It does nothing to one that has ended.
func (s *Server) cancelTask(ctx context.Context, p *taskParams) (*ack, error) {
	t, err := s.taskOf(ctx, p.ID)
	if err != nil {
		return nil, invalidParams(err)
	}
	if t.Status == "working" || t.Status == "input_required" {
		if err := s.host.Cancel(ctx, p.ID); err != nil {
			return nil, invalidParams(err)
		}
		s.tasks.wake(p.ID)
	}
	return &ack{ResultType: "complete"}, nil
}

// resume continues the run of a task in the background, unless this server executes it.
func (s *Server) resume(id string) {
	woken, begun := s.tasks.began(id)
	if !begun {
		return
	}
	go func() {
		defer s.tasks.ended(id)
		r := &request{run: id, detached: newDetached()}
		ctx := s.asking(context.Background(), r)
		defer s.lives.remove(r.apart(nil))
		result, err := untilAsked(ctx, woken, func() (tool.Result, error) { return s.host.Resume(ctx, id) })
		var parked *host.ParkedError
		if errors.As(err, &parked) && len(parked.Questions) == 0 {
			s.tasks.failed(id, result) // the record has every other outcome
		}
	}()
}

// tasks are the tasks that this server executes, each with the channel that wakes its sleep, and the
// failures of those that wait for a repair.
type tasks struct {
	sync.Mutex
	wakes    map[string]chan struct{}
	failures map[string]tool.Result
}

// maxFailures is how many failures are kept: a client asks for the result of its task soon.
const maxFailures = 1000

// failed keeps the failure of a run that waits for a repair: its record has only the reason.
func (t *tasks) failed(id string, failure tool.Result) {
	t.Lock()
	defer t.Unlock()
	if t.failures == nil || len(t.failures) >= maxFailures {
		t.failures = map[string]tool.Result{}
	}
	t.failures[id] = failure
}

// failure returns the result of a task that waits for a repair.
func (t *tasks) failure(id, repair string) *sdk.CallToolResult {
	t.Lock()
	defer t.Unlock()
	if kept, ok := t.failures[id]; ok {
		return failure(kept)
	}
	return failed(value.Errorf(value.Unavailable, "the task has failed, and can continue after a repair").WithHint("%s; then: cassidy runs resume %s", repair, id))
}

// began notes that a task is executed. begun is false if it is executed already.
func (t *tasks) began(id string) (woken <-chan struct{}, begun bool) {
	t.Lock()
	defer t.Unlock()
	if t.wakes[id] != nil {
		return nil, false
	}
	if t.wakes == nil {
		t.wakes = map[string]chan struct{}{}
	}
	t.wakes[id] = make(chan struct{}, 1)
	return t.wakes[id], true
}

// woken returns the channel of a task, or nil.
func (t *tasks) woken(id string) <-chan struct{} {
	t.Lock()
	defer t.Unlock()
	return t.wakes[id]
}

func (t *tasks) ended(id string) {
	t.Lock()
	defer t.Unlock()
	delete(t.wakes, id)
}

// wake ends the sleep of a task, or the next one if it does not sleep yet.
func (t *tasks) wake(id string) {
	t.Lock()
	defer t.Unlock()
	select {
	case t.wakes[id] <- struct{}{}:
	default:
	}
}
