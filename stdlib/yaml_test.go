package stdlib

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestYAML(t *testing.T) {
	pureTable(t, true, []pureCase{
		{fn: "yaml.encode", args: []any{value.NewDict("b", value.List{int64(1), 1.0, nil, true, "x: y", "1"}, "a", value.NewDict())},
			want: "b:\n  - 1\n  - 1.0\n  - null\n  - true\n  - 'x: y'\n  - \"1\"\na: {}\n"},
		{fn: "yaml.encode", args: []any{"x"}, want: "x\n"},
		{fn: "yaml.decode", args: []any{"b: [1, 2.5]\na:\n  - x: yes\n    on: 2026-11-21\n"},
			want: value.NewDict("b", value.List{int64(1), 2.5}, "a", value.List{value.NewDict("x", "yes", "on", "2026-11-21")})},
		{fn: "yaml.decode", args: []any{""}, want: nil},
		{fn: "yaml.decode", args: []any{"a: 1\nb: [2\n"}, err: "line "},
		{fn: "yaml.decode", args: []any{"a: &x 1\nb: *x\n"}, err: "line 2: an alias"},
		{fn: "yaml.decode", args: []any{"a: 1\na: 2\n"}, err: "twice"},
		{fn: "yaml.decode", args: []any{"[", "otherwise"}, want: "otherwise"},
		{fn: "yaml.decode", args: []any{"[", nil}, want: nil},
		{fn: "yaml.decode", args: []any{"a", nil}, want: "a"},
		{fn: "yaml.decode", args: []any{strings.Repeat("a", 1<<20), "otherwise"}, err: "64 KB"},
	})
}

// The position of an error is one in the text that was read, and must not be
// taken for one in the script.
func TestYAMLErrorHasNoPositionInTheScript(t *testing.T) {
	_, err := pureCall(t, "yaml.decode", "a: 1\nb: *x\n")
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
		v, err := pureCall(t, "yaml.decode", text)
		switch {
		case err == nil:
			encoded := pureMust(t, "yaml.encode", v).(string)
			if len(encoded) > yaml.MaxSize {
				return
			}
			if back := pureMust(t, "yaml.decode", encoded); pureShow(back) != pureShow(v) {
				t.Errorf("decode(encode(%s)) = %s, written as %q", pureShow(v), pureShow(back), encoded)
			}
		case value.KindOf(err) == value.Invalid:
			if got := pureMust(t, "yaml.decode", text, "otherwise"); got != "otherwise" {
				t.Errorf("decode(%q, default) = %s, want the default", text, pureShow(got))
			}
		}
	})
}
