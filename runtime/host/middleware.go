package host

import (
	"context"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
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
//
// It may call next again, as to retry: each time makes the call anew. In a recorded run
// the call is made once, so that nothing is done twice: next then returns the same result
// or error again. There it fails with kind Invalid for another call than the first one,
// and while that has not returned.
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
	once  *once                                        // of a call of a recorded run with middleware
}

// once makes a call of a recorded run once, however often a middleware calls next: its
// steps have one place in the record.
type once struct {
	mu     sync.Mutex
	call   string // that was made, in the form in which equal ones are equal; "" for none
	ended  bool
	result tool.Result
	err    error
}

// make makes the call with do, or returns what came of it.
func (o *once) make(c *tool.Call, do func() (tool.Result, error)) (result tool.Result, err error) {
	made, err := o.begin(c)
	switch {
	case err != nil:
		return failedResult(err)
	case made:
		return o.result, o.err
	}
	err = errPanicked
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.ended, o.result, o.err = true, result, err
	}()
	return do()
}

// begin reports whether the call was made, and else notes that it is.
func (o *once) begin(c *tool.Call) (made bool, err error) {
	form, err := value.Append(nil, value.Tuple{tool.Key(c.Tool), dictOrEmpty(c.Args), c.Texts})
	if err != nil {
		return false, value.AsError(err, value.Invalid)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.call == "":
		o.call = string(form)
		return false, nil
	case o.call != string(form):
		return false, value.Errorf(value.Invalid, "a middleware called next for another call of '%s', and a recorded run makes one", value.Clean(c.Tool, longName))
	case !o.ended:
		return false, value.Errorf(value.Invalid, "a middleware called next for '%s' twice at a time, and a recorded run makes one call", value.Clean(c.Tool, longName))
	}
	return true, nil
}

// wrap puts the middleware around the calls of a host.
func (h *Host) wrap(list []Middleware) error {
	if len(list) == 0 {
		return nil
	}
	next := CallFunc(func(ctx context.Context, c *tool.Call) (tool.Result, error) {
		of, ok := ctx.Value(calledKey{h}).(called)
		if !ok || c == nil {
			return failedResult(value.Errorf(value.Internal, "a middleware passed on another context, or no call"))
		}
		own := *c
		own.ID, own.Place, own.Caller = of.call.ID, of.call.Place, of.call.Caller
		of.call = own
		if of.once == nil {
			return of.made(ctx)
		}
		return of.once.make(&of.call, func() (tool.Result, error) { return of.made(ctx) })
	})
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == nil {
			return value.Errorf(value.Invalid, "Options.Middleware holds nil")
		}
		if next = list[i](next); next == nil {
			return value.Errorf(value.Invalid, "a middleware of Options.Middleware returned nil")
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
	if r.record.Keeps() {
		of.once = &once{}
	}
	defer func() {
		if p := recover(); p != nil {
			result, err = failedResult(r.host.panicked("a middleware", c.Tool, p))
		}
	}()
	if result, err = r.host.middleware(context.WithValue(ctx, calledKey{r.host}, of), &c); err != nil {
		e := value.ErrorOf(err, value.Failed)
		if result.Error == "" {
			result = tool.Fail(e, result.Usage)
		}
		return result, e
	}
	return result, nil
}
