package runtime

import (
	"context"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// A CallFunc makes a call. A failure is an error, and the result then holds the
// same.
type CallFunc func(ctx context.Context, c *tool.Call) (tool.Result, error)

// A Middleware wraps the calls of a host: those of programs, of scripts and of
// models, also calls that other calls make, and those of a run that is resumed,
// unless the record answers them. It is called once, by [New]; what it returns is
// called concurrently, in the order of [Options].Middleware, the first outermost.
//
// It may change the tool, the arguments and the reasoning of a call, answer it
// without calling next, and pass on a context that is made of its own. The ID and the
// place of a call stay as they are. What it changes has to be the same when a recorded
// run is resumed. A panic is an error of kind Internal.
type Middleware func(next CallFunc) CallFunc

// calledKey marks the context of a call on its way through the middleware, with its
// [called].
type calledKey struct{ host *Host }

// A called is what a call belongs to.
type called struct {
	run   *run
	above *pass
	call  tool.Call
	check func(ctx context.Context, name string) error // of the tool; nil checks nothing
}

// wrap puts the middleware around the calls of a host.
func (h *Host) wrap(list []Middleware) error {
	if len(list) == 0 {
		return nil
	}
	next := CallFunc(func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		of, ok := ctx.Value(calledKey{h}).(called)
		if !ok || c == nil {
			return failedResult(tool.Errorf(tool.Internal, "a middleware passed on another context, or no call"))
		}
		own := *c
		own.ID, own.Place, own.Caller = of.call.ID, of.call.Place, of.call.Caller
		of.call = own
		return of.made(ctx)
	})
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == nil {
			return tool.Errorf(tool.Invalid, "Options.Middleware holds nil")
		}
		if next = list[i](next); next == nil {
			return tool.Errorf(tool.Invalid, "a middleware of Options.Middleware returned nil")
		}
	}
	h.middleware = next
	return nil
}

// call runs a call of the run, through the middleware of the host.
func (r *run) call(ctx context.Context, c tool.Call, above *pass) (tool.Result, error) {
	return called{run: r, above: above, call: c}.passed(ctx)
}

// passed makes the call, through the middleware if there is one.
func (of called) passed(ctx context.Context) (tool.Result, error) {
	if of.run.host.middleware == nil {
		return of.made(ctx)
	}
	return of.wrapped(ctx)
}

// wrapped makes the call through the middleware.
func (of called) wrapped(ctx context.Context) (result tool.Result, err error) {
	r, c := of.run, of.call
	defer func() {
		if p := recover(); p != nil {
			result, err = failedResult(r.host.panicked("a middleware", c.Tool, p))
		}
	}()
	if result, err = r.host.middleware(context.WithValue(ctx, calledKey{r.host}, of), &c); err != nil {
		e := tool.ErrorOf(err, tool.Failed)
		if result.Error == "" {
			result = tool.Fail(e, result.Usage)
		}
		return result, e
	}
	return result, nil
}
