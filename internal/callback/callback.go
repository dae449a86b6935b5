// Package callback is how an effect calls functions of the script that asks for it.
//
// Functions cannot leave the process of a script, and a script that is run again for each call would lose
// its variables. So a function in the arguments of an effect
// with [tool.Func].Callbacks is sent as a [Func]. The host returns a [Request] to call it instead of the
// outcome, and the engine sends the result as a further effect, [Effect]. The outcome of that is
// the outcome of the first effect, or again a request.
package callback

import (
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Effect is the effect with the result of a function: with the argument value, or with error and
// error_type and hint if the function failed. A host whose modules have functions with [tool.Func].Callbacks
// has a function with this name, of [tool.ModeInternal].
const Effect = Module + "." + name

// Module is the module of Effect.
const (
	Module = "callback"
	name   = "result"
)

// Row returns the function of Effect, without its Do.
func Row() tool.Func {
	param := func(name, typ string) tool.Param { return tool.Param{Name: name, Type: tool.Type{Name: typ}} }
	return tool.Func{
		Name: name, Doc: "Return the result of a function of the script.", Kind: tool.Recorded, Mode: tool.ModeInternal,
		Params:  []tool.Param{param("value", tool.TypeAny), param("error", tool.TypeString), param("error_type", tool.TypeString), param("hint", tool.TypeString)},
		Returns: "the outcome of the effect whose function was called, or another request",
	}
}

// The keys of the dicts that stand for functions and requests.
const (
	funcKey    = "$function"
	requestKey = "$call"
	argsKey    = "args"
)

// A Func is a function of the script. It is valid until the call of the script ends.
type Func int64

// Dict returns the function as scripts send it.
func (f Func) Dict() *value.Dict { return value.NewDict(funcKey, int64(f)) }

// Of returns the function that an argument stands for; ok is false for any other value.
func Of(v value.Value) (f Func, ok bool) {
	d, _ := v.(*value.Dict)
	if d == nil || d.Len() != 1 {
		return 0, false
	}
	n, _ := d.Get(funcKey)
	i, ok := n.(int64)
	return Func(i), ok
}

// A Request is the value of an outcome that asks the script to call a function.
type Request struct {
	Func Func
	Args []value.Value
	// Raise asks it instead to fail with the error of the function that was called last.
	Raise bool
}

// Value returns the request as a value.
func (r Request) Value() value.Value {
	if r.Raise {
		return value.NewDict(requestKey, nil)
	}
	return value.NewDict(requestKey, int64(r.Func), argsKey, value.List(r.Args))
}

// resultKey is the value of requestKey in a dict that stands for a result.
const resultKey = "result"

// Result returns what stands for a value that is the last outcome, and not a request: the value
// itself, unless a script could take it for a request.
func Result(v value.Value) value.Value {
	if d, ok := v.(*value.Dict); ok && d != nil && d.Has(requestKey) {
		return value.NewDict(requestKey, resultKey, resultKey, v)
	}
	return v
}

// ReadResult reads what [Result] has returned in place of a value; ok is false for any other value.
func ReadResult(v value.Value) (result value.Value, ok bool) {
	d, _ := v.(*value.Dict)
	if d == nil || d.Text(requestKey) != resultKey {
		return nil, false
	}
	return d.Get(resultKey)
}

// ReadRequest reads what [Request.Value] has returned; ok is false for any other value.
func ReadRequest(v value.Value) (r Request, ok bool) {
	d, _ := v.(*value.Dict)
	if d == nil || !d.Has(requestKey) {
		return Request{}, false
	}
	n, _ := d.Get(requestKey)
	i, isFunc := n.(int64)
	return Request{Func(i), d.Elements(argsKey), !isFunc}, true
}
