package engine_test

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func png(t testing.TB, rest string) value.Media {
	t.Helper()
	m, err := value.NewMedia([]byte("\x89PNG\r\n\x1a\n" + rest))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMedia uses media in a script of each language.
func TestMedia(t *testing.T) {
	a, b := png(t, "a\x00\xff"), png(t, "b")
	star := tool.Script{Path: "x.star", Source: `
def f(a, b, same):
    keys = {a: 1, b: 2}
    return {
        "types": [type(a), a.type, a.size], "data": a.data, "text": str(a), "equal": [a == b, a == same, a != b, a == "x"],
        "keys": [keys[same], len(dict([(a, 1), (same, 2)]))], "fields": dir(a), "true": bool(a), "parts": [a, {"b": b}],
    }

def missing(a, b, same): return a.width
def order(a, b, same): return a < b
`}
	lua := luaTool(`
    local a, b, same = args.a, args.b, args.same
    return {
      types = {type(a), a.type, a.size}, data = a.data, text = tostring(a), equal = {a == b, a == same, a ~= b, a == "x"},
      parts = {a, {b = b}},
    }`)
	args := value.NewDict("a", a, "b", b, "same", png(t, "a\x00\xff"))
	parts := value.List{a, value.NewDict("b", b)}
	for _, test := range []struct {
		name   string
		script tool.Script
		entry  string
		set    string
		want   *value.Dict
	}{
		{"Starlark", star, "f", "star", value.NewDict("types", value.List{"media", "image/png", int64(11)}, "data", a.Data, "text", "[image/png, 11 bytes]",
			"equal", value.List{false, true, true, false}, "keys", value.List{int64(1), int64(1)}, "fields", value.List{"data", "size", "type"}, "true", true, "parts", parts)},
		{"Lua", lua, "", "lua", value.NewDict("types", value.List{"userdata", "image/png", int64(11)}, "data", a.Data, "text", "[image/png, 11 bytes]",
			"equal", value.List{false, true, true, false}, "parts", parts)},
	} {
		test.script.Hash = test.script.Sum()
		out, err := both(t, test.set).Run(t.Context(), test.script, tool.Call{Entry: test.entry, Args: args}, nil)
		if err != nil || !value.EqualJSON(out.Value, test.want) {
			t.Errorf("%s = %v, %v, want %v", test.name, out.Value, err, test.want)
		}
		if got := value.MediaIn(out.Value); len(got) != 2 || !value.Equal(got[0], a) || !value.Equal(got[1], b) {
			t.Errorf("%s returned the media %v", test.name, got)
		}
	}
	for entry, want := range map[string]string{"missing": "media has no .width field or method", "order": "not implemented"} {
		star.Hash = star.Sum()
		if _, err := both(t, "star").Run(t.Context(), star, tool.Call{Entry: entry, Args: args}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", entry, err, want)
		}
	}
	if _, err := both(t, "lua").Run(t.Context(), luaTool(`return args.a.width`), tool.Call{Args: args}, nil); err == nil || !strings.Contains(err.Error(), "media has no field width") {
		t.Errorf("a field that is missing in Lua: %v", err)
	}
}

// TestMediaCannotBeForged checks that Lua cannot change the metatable of media, which all scripts share.
func TestMediaCannotBeForged(t *testing.T) {
	args := value.NewDict("a", png(t, "a"))
	for body, want := range map[string]string{
		`return tostring(getmetatable(args.a))`:        "false",
		`args.a.type = "image/gif" return args.a.type`: "",
		`setmetatable(args.a, {}) return 1`:            "",
	} {
		out, err := both(t, "lua").Run(t.Context(), luaTool(body), tool.Call{Args: args}, nil)
		if want == "" && err == nil || want != "" && out.Value != want {
			t.Errorf("%s = %v, %v", body, out.Value, err)
		}
	}
}
