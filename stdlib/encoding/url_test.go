package encoding

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// urlWant is what parse gives for a URL: the parts named, and the others empty.
func urlWant(parts *value.Dict) *value.Dict {
	d := value.NewDict("scheme", "", "user", "", "password", "", "host", "", "hostname", "", "port", nil,
		"path", "", "query", value.NewDict(), "fragment", "")
	for k, v := range parts.All() {
		d.Put(k.(string), v)
	}
	return d
}

func TestURL(t *testing.T) {
	one := func(s ...value.Value) value.List { return s }
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "url.parse", Args: []any{"HTTPS://us%40er:p%3Aw@example.com:8443/a%2Fb/c d?q=1&q=%C3%A9+x&e=&f#fr%20ag"}, Want: urlWant(value.NewDict(
			"scheme", "https", "user", "us@er", "password", "p:w", "host", "example.com:8443", "hostname", "example.com", "port", int64(8443),
			"path", "/a%2Fb/c%20d", "query", value.NewDict("q", one("1", "é x"), "e", one(""), "f", one("")), "fragment", "fr%20ag"))},
		{Fn: "url.parse", Args: []any{"http://[::1]:80"}, Want: urlWant(value.NewDict("scheme", "http", "host", "[::1]:80", "hostname", "::1", "port", int64(80)))},
		{Fn: "url.parse", Args: []any{"../x?y"}, Want: urlWant(value.NewDict("path", "../x", "query", value.NewDict("y", one(""))))},
		{Fn: "url.parse", Args: []any{"mailto:a@b.c"}, Want: urlWant(value.NewDict("scheme", "mailto", "path", "a@b.c"))},
		{Fn: "url.parse", Args: []any{"/?100%&;=a;b&%ff"}, Want: urlWant(value.NewDict("path", "/", "query",
			value.NewDict("100%", one(""), ";", one("a;b"), "\ufffd", one(""))))},
		{Fn: "url.parse", Args: []any{""}, Want: urlWant(value.NewDict())},
		{Fn: "url.parse", Args: []any{"http://a b/"}, Err: "invalid URL"},
		{Fn: "url.parse", Args: []any{"http://x:99999/"}, Err: "out of range"},
		{Fn: "url.parse", Args: []any{"http://x/%zz"}, Err: "invalid URL"},

		{Fn: "url.build", Args: []any{value.NewDict("scheme", "https", "hostname", "::1", "port", int64(80), "user", "a@b", "password", ":",
			"path", "/a b%2Fc", "query", value.NewDict("q", one("1", int64(2)), "x", "é&"), "fragment", "a b")},
			Want: "https://a%40b:%3A@[::1]:80/a%20b%2Fc?q=1&q=2&x=%C3%A9%26#a%20b"},
		{Fn: "url.build", Args: []any{value.NewDict("path", "/x", "query", "a=1&b= ")}, Want: "/x?a=1&b=%20"},
		{Fn: "url.build", Args: []any{value.NewDict("scheme", "mailto", "path", "a@b.c")}, Want: "mailto:a@b.c"},
		{Fn: "url.build", Args: []any{value.NewDict("scheme", "http", "host", "a.example/evil")}, Err: "a valid URL"},
		{Fn: "url.build", Args: []any{value.NewDict("scheme", "http", "host", "good@evil.example")}, Err: "a valid URL"},
		{Fn: "url.build", Args: []any{value.NewDict("scheme", "http", "host", "good#", "path", "/")}, Err: "a valid URL"},
		{Fn: "url.build", Args: []any{value.NewDict("scheme", "java script", "path", "x")}, Err: "a valid URL"},
		{Fn: "url.build", Args: []any{value.NewDict("path", "/100%")}, Err: "invalid percent-encoding: invalid URL escape"},
		{Fn: "url.build", Args: []any{value.NewDict("pathh", "/")}, Err: `unknown part "pathh"`},
		{Fn: "url.build", Args: []any{value.NewDict("path", int64(1))}, Err: `part "path" should be a string`},
		{Fn: "url.build", Args: []any{value.NewDict("port", int64(1))}, Err: `part "port" needs part "hostname"`},
		{Fn: "url.build", Args: []any{value.NewDict("hostname", "a", "port", "x")}, Err: "from 0 to 65535"},

		{Fn: "url.join", Args: []any{"https://a.example/b/c?d#e", "../x y?z"}, Want: "https://a.example/x%20y?z"},
		{Fn: "url.join", Args: []any{"https://a.example/b", "//other.example/"}, Want: "https://other.example/"},
		{Fn: "url.join", Args: []any{"https://a.example/b/../../..", "."}, Want: "https://a.example/"},

		{Fn: "url.encode_query", Args: []any{value.NewDict("b", "x y&é", "a", one(int64(1), true, 1.5), "n", nil, "e", "", "none", one())},
			Want: "b=x+y%26%C3%A9&a=1&a=true&a=1.5&e="},
		{Fn: "url.encode_query", Args: []any{value.NewDict("a", value.NewDict())}, Err: "but got object"},
		{Fn: "url.decode_query", Args: []any{"?b=x+y%26&a=1&a=2&&=z"}, Want: value.NewDict("b", one("x y&"), "a", one("1", "2"), "", one("z"))},
		{Fn: "url.decode_query", Args: []any{""}, Want: value.NewDict()},

		{Fn: "url.quote", Args: []any{"a/b c?é~"}, Want: "a%2Fb%20c%3F%C3%A9~"},
		{Fn: "url.quote", Args: []any{"a/b c", "/"}, Want: "a/b%20c"},
		{Fn: "url.unquote", Args: []any{"a%2Fb+%C3%A9%zz%4"}, Want: "a/b+é%zz%4"},
		{Fn: "url.unquote", Args: []any{"%ff"}, Want: "\ufffd"},
	})
}

func TestURLRoundTrip(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune("a/?#&=%+ é:@;.[]")))
	rapid.Check(t, func(r *rapid.T) {
		s := text.Draw(r, "text")
		if back := rowtest.Must(t, modules(), "url.unquote", rowtest.Must(t, modules(), "url.quote", s)); back != s {
			r.Fatalf("unquote(quote(%q)) = %q", s, back)
		}
		query := value.NewDict(s, value.List{text.Draw(r, "first"), text.Draw(r, "second")})
		if back := rowtest.Must(t, modules(), "url.decode_query", rowtest.Must(t, modules(), "url.encode_query", query)); !value.Equal(back, query) {
			r.Fatalf("decode_query(encode_query(%s)) = %s", rowtest.Show(query), rowtest.Show(back))
		}
		// Whatever parse takes, build makes a URL of that parse reads the same.
		parts, err := rowtest.Call(t, modules(), "url.parse", s)
		if err != nil {
			return
		}
		built, err := rowtest.Call(t, modules(), "url.build", parts)
		if err != nil {
			return
		}
		if back := rowtest.Must(t, modules(), "url.parse", built); !value.Equal(back, parts) {
			r.Fatalf("parse(build(%s)) = %s by way of %q", rowtest.Show(parts), rowtest.Show(back), built)
		}
	})
}
