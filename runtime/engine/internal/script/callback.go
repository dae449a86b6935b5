package script

import (
	"github.com/cassidy-run/cassidy/internal/callback"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// keepFunctions replaces the functions in arguments by callbacks, and keeps them until the run
// ends.
func (r *Run) keepFunctions(positional []value.Value, named *value.Dict) ([]value.Value, *value.Dict) {
	for i, v := range positional {
		positional[i] = r.keep(v)
	}
	return positional, r.keepIn(named)
}

func (r *Run) keepIn(d *value.Dict) *value.Dict {
	kept := value.MakeDict(d.Len())
	for k, v := range d.All() {
		_ = kept.Set(k, r.keep(v)) // the key is one of a dict
	}
	return kept
}

func (r *Run) keep(v value.Value) value.Value {
	switch v := v.(type) {
	case tool.Function:
		r.callbacks = append(r.callbacks, v)
		return callback.Func(len(r.callbacks) - 1).Dict()
	case *value.Dict:
		return r.keepIn(v)
	case value.List:
		return value.List(r.keepAll(v))
	case value.Tuple:
		return value.Tuple(r.keepAll(v))
	}
	return v
}

func (r *Run) keepAll(list []value.Value) []value.Value {
	kept := make([]value.Value, len(list))
	for i, v := range list {
		kept[i] = r.keep(v)
	}
	return kept
}

// answer calls the functions that the outcomes of a function with [tool.Func].Callbacks ask for, and
// returns the last outcome.
func (r *Run) answer(out tool.Outcome) (tool.Outcome, error) {
	for {
		if v, ok := callback.ReadResult(out.Value); ok {
			out.Value = v
			return out, nil
		}
		call, ok := callback.ReadRequest(out.Value)
		if !ok {
			return out, nil
		}
		if call.Raise || call.Func < 0 || int(call.Func) >= len(r.callbacks) {
			return tool.Outcome{}, value.Errorf(value.Internal, "the host requested an unknown function of the script")
		}
		v, failed := r.callbacks[call.Func](call.Args...)
		if r.Fatal != nil {
			return tool.Outcome{}, r.Fatal
		}
		result := value.NewDict("value", v)
		if failed != nil {
			e := Catch(value.ErrorOf(failed, value.Internal))
			result = value.NewDict("error", e.Message, "error_type", e.Type, "hint", e.Hint)
		}
		var err error
		if out, err = r.Effect(callback.Effect, result); err != nil {
			return tool.Outcome{}, err
		}
		if call, ok := callback.ReadRequest(out.Value); ok && call.Raise && failed != nil {
			return tool.Outcome{}, failed
		}
	}
}
