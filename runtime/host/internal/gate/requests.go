package gate

import (
	"cmp"
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// requestKey is the key of the [Request] in the context of a call that is in the middleware
// of a gate.
type requestKey struct{ gate *Gate }

// A Request is a call before its tool is looked up.
type Request struct {
	run    *Run
	above  *Pass
	call   tool.Call
	check  func(ctx context.Context, name string) error // refuses a tool; nil refuses none
	read   *Read                                        // its arguments, if they are checked already
	again  int                                          // how often it is made again if others have changed its files
	turn   func()                                       // waits for the turn of the call to be made again; or nil
	inside bool                                         // the middleware has passed it on
	once   *singleCall                                  // for a call of a recorded run with middleware; else nil
	wraps  []Middleware                                 // those of the programs above that are still to be called, the outermost last
}

// A Middleware wraps calls.
type Middleware func(next func(context.Context, *tool.Call) (tool.Result, error)) func(context.Context, *tool.Call) (tool.Result, error)

// ToolsOf returns the tools of the run whose call is in a middleware or a handler with a context, or
// nil if there is none.
func (g *Gate) ToolsOf(ctx context.Context) Tools {
	if of, ok := ctx.Value(requestKey{g}).(Request); ok {
		return of.run.tools
	}
	if o := g.origin(ctx); o != nil {
		return o.pass.Run.tools
	}
	return nil
}

// middleware returns the middleware of the programs at and above a pass, the outermost last.
func (p *Pass) middleware() (list []Middleware) {
	for ; p != nil; p = p.above {
		if p.program != nil && p.program.Middleware != nil {
			list = append(list, p.program.Middleware)
		}
	}
	return list
}

// Innermost makes the call that a middleware passes on.
func (g *Gate) Innermost(ctx context.Context, c *tool.Call) (tool.Result, error) {
	of, ok := ctx.Value(requestKey{g}).(Request)
	switch {
	case c == nil:
		return Failed(value.Errorf(value.Internal, "a middleware called next with a nil call"))
	case !ok:
		return Failed(value.Errorf(value.Internal, "a middleware called next with a context that is not derived from its own"))
	}
	own := *c
	own.ID, own.StepPath, own.Caller = of.call.ID, of.call.StepPath, of.call.Caller
	of.call = own
	if last := len(of.wraps) - 1; last >= 0 {
		wrap := of.wraps[last]
		of.wraps = of.wraps[:last]
		return wrap(g.Innermost)(context.WithValue(ctx, requestKey{g}, of), &of.call)
	}
	of.inside = true
	if of.once == nil {
		return of.Make(ctx)
	}
	result, err := of.once.Make(&of.call, func() (tool.Result, error) { return of.Make(ctx) })
	if err != nil && result.Error == "" {
		return Failed(err)
	}
	return result, err
}

// Root returns the request for the root call of the run.
func (r *Run) Root(c tool.Call) Request { return Request{run: r, call: c, again: maxAgain} }

// Below returns the request for a call that the call of the pass makes.
func (p *Pass) Below(c tool.Call) Request {
	return Request{run: p.Run, above: p, call: c, again: maxAgain}
}

// A Read is the arguments of a call as its tool reads them.
type Read struct {
	Tool  *Callee
	Args  *value.Dict
	Notes []string // what was read in another way than it was written
}

// Durable makes the call whose run this is. Its arguments may be read already. If check, which may be nil,
// refuses the tool, the run stays as it was.
func (r *Run) Durable(ctx context.Context, c tool.Call, read *Read, check func(ctx context.Context, tool string) error) (result tool.Result, err error) {
	of := r.Root(c)
	of.call.ID, of.call.StepPath, of.read = r.ID, tool.StepPath{1}, read
	var refused error
	if check != nil {
		of.check = func(ctx context.Context, name string) error {
			refused = check(ctx, name)
			return refused
		}
	}
	err = r.execute(ctx, func(ctx context.Context) error {
		if result, err = of.Make(ctx); err != nil && refused != nil {
			why := cmp.Or(Repairable(value.ErrorOf(refused, value.Failed)), reasonUnavailable)
			return r.park(context.WithoutCancel(ctx), why, refused)
		}
		if value.KindOf(err) == value.NotFound && r.root == nil && err != nil && check == nil { // of a new run: nothing was begun that could be repaired
			unknown := *value.ErrorOf(err, value.Failed)
			unknown.Limit, err = "", &unknown
		}
		return r.end(ctx, "", tool.Outcome{Value: result.Value, Usage: result.Usage}, err)
	})
	if err != nil {
		e := Presentable(err)
		return tool.Fail(e, result.Usage), e
	}
	return result, nil
}

// makeWrapped makes the call through the middleware.
func (of Request) makeWrapped(ctx context.Context) (result tool.Result, err error) {
	r, c := of.run, of.call
	if r.record.Keeps() {
		of.once = &singleCall{}
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = Failed(r.gate.panicked("a middleware", c.Tool, p))
		}
	}()
	outermost := r.gate.Middleware
	if outermost == nil {
		outermost = r.gate.Innermost
	}
	if result, err = outermost(context.WithValue(ctx, requestKey{r.gate}, of), &c); err != nil {
		e := value.ErrorOf(err, value.Failed)
		if result.Error == "" {
			result = tool.Fail(e, result.Usage)
		}
		return result, e
	}
	return result, nil
}
