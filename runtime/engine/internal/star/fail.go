package star

import (
	"strings"

	"go.starlark.net/starlark"

	"github.com/cassidy-run/cassidy/runtime/engine/internal/lint"
	"github.com/cassidy-run/cassidy/runtime/engine/internal/script"
)

// failName is the function that ends a call with an error: fail(*args, sep = " ", type =
// "user_error", hint = ""). It is Starlark's own, with the type and the hint of the result.
const failName = "fail"

func fail(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	sep, errorType, hint := " ", "", ""
	if err := starlark.UnpackArgs(failName, nil, kwargs, "sep?", &sep, "type??", &errorType, "hint??", &hint); err != nil {
		return nil, err
	}
	words := make([]string, len(args))
	for i, v := range args {
		if s, ok := starlark.AsString(v); ok {
			words[i] = s
		} else {
			words[i] = v.String()
		}
	}
	return nil, script.NewFailure(strings.Join(words, sep), errorType, hint)
}

// failSignature returns what fail accepts.
func failSignature() *lint.Signature {
	errorType, text := script.FailureParams()
	return &lint.Signature{Name: failName, Variadic: true, Params: []lint.Param{
		{Name: "sep", Type: &text}, {Name: "type", Type: &errorType, Omits: true}, {Name: "hint", Type: &text, Omits: true},
	}}
}
