package secret

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// Env returns the module env. The values of variables come from a function that is
// called as that of [NewBox] is; with nil no variable is set. The values of secrets in
// its errors are hidden by the box, which may be nil.
func Env(lookup func(ctx context.Context, name string) (string, error), secrets *Box) tool.Module {
	if secrets == nil {
		secrets = NewBox(nil)
	}
	return tool.Module{Name: "env", Doc: "Environment variables that the user provides.", Funcs: []tool.Func{{
		Name:    "get",
		Doc:     "Get the value of an environment variable.",
		Params:  []tool.Param{tool.Required("name", tool.TypeString, "the name of the variable"), tool.Optional("default", tool.TypeAny, nil, "the result if the variable is not set")},
		Returns: "the value as a string, or the default",
		Kind:    tool.Read,
		Target: func(args *value.Dict) ([]tool.Capability, error) {
			name, err := envName(args)
			return []tool.Capability{{Name: "env", Target: name}}, err
		},
		Do: func(ctx context.Context, e tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			v, err := getEnv(ctx, lookup, secrets, e.Args)
			return tool.Outcome{Value: v}, err
		},
	}}}
}

// envName returns the name of the variable. One that a capability cannot spell could not be
// granted.
func envName(args *value.Dict) (string, error) {
	name := args.Text("name")
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '=' || r == '*' || r == 0x7f }) {
		return "", value.Errorf(value.Invalid, "invalid name of an environment variable: %q", name)
	}
	return name, nil
}

func getEnv(ctx context.Context, lookup row.Lookup, secrets *Box, args *value.Dict) (value.Value, error) {
	name, err := envName(args)
	if err != nil {
		return nil, err
	}
	val, set, err := lookup.Get(ctx, "Options.Env", name)
	if stopped := row.Stopped(ctx); stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, secrets.ScrubError(err)
	}
	if !set {
		return row.Arg(args, "default"), nil
	}
	if !utf8.ValidString(val) {
		return nil, value.Errorf(value.Failed, "the environment variable %s is not UTF-8 text", name)
	}
	return val, nil
}
