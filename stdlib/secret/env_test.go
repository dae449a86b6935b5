package secret

import (
	"context"
	"fmt"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestNothingGivenForEnv(t *testing.T) {
	d := &rowtest.Caller{T: t, Modules: []tool.Module{Env(nil, nil)}}
	d.Grant("env:HOME")
	if got := d.Must("env.get", "name", "HOME", "default", "none"); got != "none" {
		t.Errorf("env.get = %v, want the default", got)
	}
}

func TestEnvGet(t *testing.T) {
	env := map[string]string{"HOME": "/home/me", "EMPTY": "", "BAD": "\xff"}
	d := callerOf(t, func(_ context.Context, name string) (string, error) {
		if v, ok := env[name]; ok {
			return v, nil
		}
		return "", fmt.Errorf("look up %s: %w", name, value.ErrNotFound)
	}, nil)
	d.Grant("env:HOME", "env:EMPTY", "env:UNSET", "env:BAD")
	for _, tt := range []struct {
		args []value.Value
		want value.Value
	}{
		{[]value.Value{"name", "HOME"}, "/home/me"},
		{[]value.Value{"name", "EMPTY", "default", "x"}, ""},
		{[]value.Value{"name", "UNSET"}, nil},
		{[]value.Value{"name", "UNSET", "default", int64(3)}, int64(3)},
	} {
		if got := d.Must("env.get", tt.args...); got != tt.want {
			t.Errorf("env.get(%v) = %v, want %v", tt.args, got, tt.want)
		}
	}
	d.Fails(value.Denied, "env:SECRET", "env.get", "name", "SECRET")
	d.Fails(value.Failed, "not UTF-8", "env.get", "name", "BAD")
	d.Grant("env")
	for _, name := range []string{"", "A=B", "A B", "*", "A\x00", "A\n"} {
		d.Fails(value.Invalid, "invalid name of an environment variable", "env.get", "name", name)
	}
}
