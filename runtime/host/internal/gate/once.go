package gate

import (
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A singleCall makes a call of a recorded run once, however often a middleware passes it on: the record has
// one step for it. The zero value has made none. It is safe for concurrent use.
type singleCall struct {
	mu     sync.Mutex
	call   string // the encoded call that was made; "" for none
	ended  bool
	result tool.Result
	err    error
}

// Make makes the call with do, or returns the result of the call that was made. It fails with
// kind Invalid, and an empty result, for another call, and while the call is in progress.
func (o *singleCall) Make(c *tool.Call, do func() (tool.Result, error)) (result tool.Result, err error) {
	made, err := o.begin(c)
	switch {
	case err != nil:
		return tool.Result{}, err
	case made:
		return o.result, o.err
	}
	err = value.AsError(errPanicked, value.Internal)
	defer func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.ended, o.result, o.err = true, result, err
	}()
	return do()
}

// begin reports whether the call was made already. Otherwise it marks the call as made.
func (o *singleCall) begin(c *tool.Call) (made bool, err error) {
	args := c.Args
	if args == nil {
		args = &value.Dict{}
	}
	form, err := value.Append(nil, value.Tuple{tool.Key(c.Tool), args, c.Texts})
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
		return false, value.Errorf(value.Invalid, "a middleware passed two different calls of '%s' to next, but a recorded run allows only one call", value.Clean(c.Tool, maxName))
	case !o.ended:
		return false, value.Errorf(value.Invalid, "a middleware called next for '%s' twice in parallel, but a recorded run allows only one call", value.Clean(c.Tool, maxName))
	}
	return true, nil
}

// maxName is how much of the name of a tool an error shows, as names can come from anybody.
const maxName = 120
