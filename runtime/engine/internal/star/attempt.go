package star

import (
	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// attemptName is the function that catches errors: attempt(fn, *args, **kwargs) returns
// {"ok", "value", "error", "error_type", "hint"}. It cannot catch limits and cancellation, and
// rolls nothing back.
const attemptName = "attempt"

func attempt(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	r := runOf(thread)
	if len(args) == 0 {
		return nil, script.WithOp(value.Errorf(value.Invalid, "expected a function and its arguments"), attemptName)
	}
	fn, ok := args[0].(starlark.Callable)
	if !ok {
		return nil, script.WithOp(value.Errorf(value.Invalid, "the first argument should be a function but got %s", args[0].Type()).
			WithHint("write attempt(f, x), not attempt(f(x))"), attemptName)
	}
	v, err := starlark.Call(thread, fn, args[1:], kwargs)
	switch {
	case err == nil:
		return attempted(true, v, script.Caught{}), nil
	case r.Fatal != nil:
		return nil, err
	}
	e := value.ErrorOf(scriptError(err, nil), value.Internal)
	return attempted(false, starlark.None, script.Catch(e)), nil
}

// attempted returns the result of attempt.
func attempted(ok bool, v starlark.Value, e script.Caught) starlark.Value {
	d := starlark.NewDict(5)
	for _, kv := range []struct {
		name  string
		value starlark.Value
	}{{"ok", starlark.Bool(ok)}, {"value", v}, {"error", starlark.String(e.Message)}, {"error_type", starlark.String(e.Type)}, {"hint", starlark.String(e.Hint)}} {
		_ = d.SetKey(starlark.String(kv.name), kv.value) // a new dict cannot fail
	}
	return d
}
