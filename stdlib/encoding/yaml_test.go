package encoding

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestYAML(t *testing.T) {
	rowtest.Table(t, modules(), true, []rowtest.Case{
		{Fn: "yaml.encode", Args: []any{value.NewDict("b", value.List{int64(1), 1.0, nil, true, "x: y", "1"}, "a", value.NewDict())},
			Want: "b:\n  - 1\n  - 1.0\n  - null\n  - true\n  - 'x: y'\n  - \"1\"\na: {}\n"},
		{Fn: "yaml.encode", Args: []any{"x"}, Want: "x\n"},
		{Fn: "yaml.decode", Args: []any{"b: [1, 2.5]\na:\n  - x: yes\n    on: 2026-11-21\n"},
			Want: value.NewDict("b", value.List{int64(1), 2.5}, "a", value.List{value.NewDict("x", "yes", "on", "2026-11-21")})},
		{Fn: "yaml.decode", Args: []any{""}, Want: nil},
		{Fn: "yaml.decode", Args: []any{"a: 1\nb: [2\n"}, Err: "line "},
		{Fn: "yaml.decode", Args: []any{"a: &x 1\nb: *x\n"}, Err: "line 2: aliases"},
		{Fn: "yaml.decode", Args: []any{"a: 1\na: 2\n"}, Err: "twice"},
		{Fn: "yaml.decode", Args: []any{"[", "otherwise"}, Want: "otherwise"},
		{Fn: "yaml.decode", Args: []any{"[", nil}, Want: nil},
		{Fn: "yaml.decode", Args: []any{"a", nil}, Want: "a"},
		{Fn: "yaml.decode", Args: []any{strings.Repeat("a", 1<<20), "otherwise"}, Err: "64 KB"},
	})
}

// The position of an error is one in the text that was read, and must not be
// taken for one in the script.
func TestYAMLErrorHasNoPositionInTheScript(t *testing.T) {
	_, err := rowtest.Call(t, modules(), "yaml.decode", "a: 1\nb: *x\n")
	if e := value.ErrorOf(err, value.Failed); e == nil || e.Pos != (value.Position{}) || e.Kind != value.Invalid {
		t.Errorf("error %#v, want one of kind Invalid without a position", err)
	}
}

func FuzzYAMLDecode(f *testing.F) {
	for _, s := range []string{"a: [1, {b: c}]\n", "- |\n  x\n", "&a [*a]", "? [x]\n: y", "!!binary aGk=", "0x1F", "a: !!float 1", "---\n...\n---", "<<: {a: 1}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "")
		v, err := rowtest.Call(t, modules(), "yaml.decode", text)
		switch {
		case err == nil:
			encoded := rowtest.Must(t, modules(), "yaml.encode", v).(string)
			if len(encoded) > yaml.MaxSize {
				return
			}
			if back := rowtest.Must(t, modules(), "yaml.decode", encoded); rowtest.Show(back) != rowtest.Show(v) {
				t.Errorf("decode(encode(%s)) = %s, written as %q", rowtest.Show(v), rowtest.Show(back), encoded)
			}
		case value.KindOf(err) == value.Invalid:
			if got := rowtest.Must(t, modules(), "yaml.decode", text, "otherwise"); got != "otherwise" {
				t.Errorf("decode(%q, default) = %s, want the default", text, rowtest.Show(got))
			}
		}
	})
}
