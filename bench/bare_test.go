package bench

import (
	"encoding/json"
	"testing"

	"github.com/bazelbuild/buildtools/build"
	"go.starlark.net/starlark"
)

// starlarkJSON calls a function with a JSON object as named arguments and
// returns its result as JSON, the way a program does with encoding/json.
func starlarkJSON(fn starlark.Value, in []byte) ([]byte, error) {
	var args map[string]any
	if err := json.Unmarshal(in, &args); err != nil {
		return nil, err
	}
	kwargs := make([]starlark.Tuple, 0, len(args))
	for name, v := range args {
		var value starlark.Value
		switch v := v.(type) {
		case string:
			value = starlark.String(v)
		case float64:
			value = starlark.MakeInt64(int64(v))
		}
		kwargs = append(kwargs, starlark.Tuple{starlark.String(name), value})
	}
	result, err := starlark.Call(&starlark.Thread{}, fn, nil, kwargs)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	for k, v := range starlark.Entries(result.(*starlark.Dict)) {
		out[string(k.(starlark.String))] = string(v.(starlark.String))
	}
	return json.Marshal(out)
}

func parseAlone(b *testing.B, source string) {
	if _, err := build.ParseDefault("t.star", []byte(source)); err != nil {
		b.Fatal(err)
	}
}
