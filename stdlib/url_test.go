package stdlib

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/runtime/value"
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
	pureTable(t, false, []pureCase{
		{fn: "url.parse", args: []any{"HTTPS://us%40er:p%3Aw@example.com:8443/a%2Fb/c d?q=1&q=%C3%A9+x&e=&f#fr%20ag"}, want: urlWant(value.NewDict(
			"scheme", "https", "user", "us@er", "password", "p:w", "host", "example.com:8443", "hostname", "example.com", "port", int64(8443),
			"path", "/a%2Fb/c%20d", "query", value.NewDict("q", one("1", "é x"), "e", one(""), "f", one("")), "fragment", "fr%20ag"))},
		{fn: "url.parse", args: []any{"http://[::1]:80"}, want: urlWant(value.NewDict("scheme", "http", "host", "[::1]:80", "hostname", "::1", "port", int64(80)))},
		{fn: "url.parse", args: []any{"../x?y"}, want: urlWant(value.NewDict("path", "../x", "query", value.NewDict("y", one(""))))},
		{fn: "url.parse", args: []any{"mailto:a@b.c"}, want: urlWant(value.NewDict("scheme", "mailto", "path", "a@b.c"))},
		{fn: "url.parse", args: []any{"/?100%&;=a;b&%ff"}, want: urlWant(value.NewDict("path", "/", "query",
			value.NewDict("100%", one(""), ";", one("a;b"), "\ufffd", one(""))))},
		{fn: "url.parse", args: []any{""}, want: urlWant(value.NewDict())},
		{fn: "url.parse", args: []any{"http://a b/"}, err: "not a URL"},
		{fn: "url.parse", args: []any{"http://x:99999/"}, err: "out of range"},
		{fn: "url.parse", args: []any{"http://x/%zz"}, err: "not a URL"},

		{fn: "url.build", args: []any{value.NewDict("scheme", "https", "hostname", "::1", "port", int64(80), "user", "a@b", "password", ":",
			"path", "/a b%2Fc", "query", value.NewDict("q", one("1", int64(2)), "x", "é&"), "fragment", "a b")},
			want: "https://a%40b:%3A@[::1]:80/a%20b%2Fc?q=1&q=2&x=%C3%A9%26#a%20b"},
		{fn: "url.build", args: []any{value.NewDict("path", "/x", "query", "a=1&b= ")}, want: "/x?a=1&b=%20"},
		{fn: "url.build", args: []any{value.NewDict("scheme", "mailto", "path", "a@b.c")}, want: "mailto:a@b.c"},
		{fn: "url.build", args: []any{value.NewDict("scheme", "http", "host", "a.example/evil")}, err: "reads back"},
		{fn: "url.build", args: []any{value.NewDict("scheme", "http", "host", "good@evil.example")}, err: "reads back"},
		{fn: "url.build", args: []any{value.NewDict("scheme", "http", "host", "good#", "path", "/")}, err: "reads back"},
		{fn: "url.build", args: []any{value.NewDict("scheme", "java script", "path", "x")}, err: "reads back"},
		{fn: "url.build", args: []any{value.NewDict("path", "/100%")}, err: "broken escape"},
		{fn: "url.build", args: []any{value.NewDict("pathh", "/")}, err: `there is no part "pathh"`},
		{fn: "url.build", args: []any{value.NewDict("path", int64(1))}, err: `part "path" should be string`},
		{fn: "url.build", args: []any{value.NewDict("port", int64(1))}, err: "a port without a host"},
		{fn: "url.build", args: []any{value.NewDict("hostname", "a", "port", "x")}, err: "from 0 to 65535"},

		{fn: "url.join", args: []any{"https://a.example/b/c?d#e", "../x y?z"}, want: "https://a.example/x%20y?z"},
		{fn: "url.join", args: []any{"https://a.example/b", "//other.example/"}, want: "https://other.example/"},
		{fn: "url.join", args: []any{"https://a.example/b/../../..", "."}, want: "https://a.example/"},

		{fn: "url.encode_query", args: []any{value.NewDict("b", "x y&é", "a", one(int64(1), true, 1.5), "n", nil, "e", "", "none", one())},
			want: "b=x+y%26%C3%A9&a=1&a=true&a=1.5&e="},
		{fn: "url.encode_query", args: []any{value.NewDict("a", value.NewDict())}, err: "but is object"},
		{fn: "url.decode_query", args: []any{"?b=x+y%26&a=1&a=2&&=z"}, want: value.NewDict("b", one("x y&"), "a", one("1", "2"), "", one("z"))},
		{fn: "url.decode_query", args: []any{""}, want: value.NewDict()},

		{fn: "url.quote", args: []any{"a/b c?é~"}, want: "a%2Fb%20c%3F%C3%A9~"},
		{fn: "url.quote", args: []any{"a/b c", "/"}, want: "a/b%20c"},
		{fn: "url.unquote", args: []any{"a%2Fb+%C3%A9%zz%4"}, want: "a/b+é%zz%4"},
		{fn: "url.unquote", args: []any{"%ff"}, want: "\ufffd"},
	})
}

func TestURLRoundTrip(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune("a/?#&=%+ é:@;.[]")))
	rapid.Check(t, func(r *rapid.T) {
		s := text.Draw(r, "text")
		if back := pureMust(t, "url.unquote", pureMust(t, "url.quote", s)); back != s {
			r.Fatalf("unquote(quote(%q)) = %q", s, back)
		}
		query := value.NewDict(s, value.List{text.Draw(r, "first"), text.Draw(r, "second")})
		if back := pureMust(t, "url.decode_query", pureMust(t, "url.encode_query", query)); !value.Equal(back, query) {
			r.Fatalf("decode_query(encode_query(%s)) = %s", pureShow(query), pureShow(back))
		}
		// Whatever parse takes, build makes a URL of that parse reads the same.
		parts, err := pureCall(t, "url.parse", s)
		if err != nil {
			return
		}
		built, err := pureCall(t, "url.build", parts)
		if err != nil {
			return
		}
		if back := pureMust(t, "url.parse", built); !value.Equal(back, parts) {
			r.Fatalf("parse(build(%s)) = %s by way of %q", pureShow(parts), pureShow(back), built)
		}
	})
}
