package hint

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestShellArgs(t *testing.T) {
	for _, c := range []struct {
		args *value.Dict
		want string
	}{
		{value.NewDict(), ""},
		{value.NewDict("path", "a.csv", "n", int64(3), "yes", true), " path=a.csv n=3 yes=true"},
		{value.NewDict("text", "it's $HOME"), ` text='it'\''s $HOME'`},
		{value.NewDict("list", value.List{"a", "b"}), " list=a,b"},
		{value.NewDict("list", value.List{"a b", int64(1)}), ` list:='["a b",1]'`},
		{value.NewDict("d", value.NewDict("k", "v")), ` d:='{"k":"v"}'`},
		{value.NewDict("$(rm -rf)", "x"), ` '$(rm -rf)'=x`},
	} {
		if got := ShellArgs(c.args); got != c.want {
			t.Errorf("ShellArgs(%s) = %s, want %s", c.args, got, c.want)
		}
	}
}
