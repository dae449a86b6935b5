package scripttest

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// checkArguments returns the error of arguments of a function of t that are wrong by themselves.
func checkArguments(function string, args *value.Dict) error {
	switch function {
	case "http":
		return checkRequests(dictOf(args, "responses"))
	case "clock":
		if text, ok := textOf(args, "time"); ok {
			if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
				return value.Errorf(value.Invalid, "invalid time %q", text).WithHint(`write it as in RFC 3339: "2026-01-01T00:00:00Z"`)
			}
		}
	case "fails", "denied":
		for _, name := range []string{"match", "hint"} {
			if _, err := regexp.Compile(args.Text(name)); err != nil {
				return value.Errorf(value.Invalid, "argument '%s': %w", name, err)
			}
		}
		return checkErrorType(args.Text("error_type"))
	}
	return nil
}

func textOf(args *value.Dict, name string) (string, bool) {
	v, _ := args.Get(name)
	text, ok := v.(string)
	return text, ok
}

// checkErrorType checks the type of an error that a call may have.
func checkErrorType(name string) error {
	var types []string
	for k := range value.LastKind + 1 {
		types = append(types, k.Type())
	}
	slices.Sort(types)
	if types = slices.Compact(types); name == "" || slices.Contains(types, name) {
		return nil
	}
	return value.Errorf(value.Invalid, "argument 'error_type': unknown type %q%s", name, value.DidYouMean(name, types)).
		WithHint("use one of the types: %s", strings.Join(types, ", "))
}

// requestKey is the form of the keys of t.http that can match a request.
var requestKey = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([A-Z*]+ )?(https?://.|\*|[^ /][^ ]*\*)`)
})

// checkRequests returns an error for a key that no request can match.
func checkRequests(responses *value.Dict) error {
	for k := range responses.All() {
		key, _ := k.(string)
		if requestKey().MatchString(key) {
			continue
		}
		method, rest, ok := strings.Cut(key, " ")
		if !ok {
			method, rest = "GET", key
		}
		return value.Errorf(value.Invalid, "the fake %q matches no request: its key is not a method and a URL", key).
			WithHint("write a key such as %q", strings.ToUpper(method)+" https://api.example.com/"+strings.TrimPrefix(rest, "/"))
	}
	return nil
}
