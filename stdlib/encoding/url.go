package encoding

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// URL returns the module url: parse, build, join, queries and escapes. It reaches no
// server.
func URL() tool.Module {
	return row.Pure(tool.Module{
		Name:  "url",
		Doc:   "URLs: parse, build and resolve them.",
		Funcs: append(urlWholes(), urlParts()...),
	})
}

func urlWholes() []tool.Func {
	return []tool.Func{
		{
			Name:   "parse",
			Doc:    "Parse a URL.",
			Params: []tool.Param{tool.Required("url", tool.TypeString, "The URL, absolute or relative.")},
			Returns: `a dict {"scheme", "user", "password", "host" (with the port), "hostname", "port" (an integer or None), "path", ` +
				`"query" (a dict of lists of texts), "fragment"}. A missing port is None, a missing query is an empty dict, and any other missing part is an empty text. Path and fragment remain percent-encoded. ` +
				`The other parts are decoded`,
			Do: row.Do(urlParse),
		},
		{
			Name: "build",
			Doc:  "Build a URL from its parts, with the same keys as in the result of url.parse.",
			Params: []tool.Param{
				tool.Required("parts", tool.TypeObject, `A dict with any of scheme, user, password, host, hostname, port, path, query and fragment. host is the hostname with the port, as in "example.com:8080". `+
					`query is a text, or a dict as in url.encode_query. Path and fragment are percent-encoded where necessary.`),
			},
			Returns: "the URL",
			Do:      row.Do(urlBuild),
		},
		{
			Name: "join",
			Doc:  "Resolve a relative URL against the URL of its page.",
			Params: []tool.Param{
				tool.Required("base", tool.TypeString, "The URL of the page."),
				tool.Required("ref", tool.TypeString, `The relative URL, such as "../b?c=1".`),
			},
			Returns: "the absolute URL",
			Do:      row.Do(urlJoin),
		},
	}
}

func urlParts() []tool.Func {
	return []tool.Func{
		{
			Name: "encode_query",
			Doc:  "Encode the query of a URL, without the question mark.",
			Params: []tool.Param{
				tool.Required("query", tool.TypeObject, "The names and values. A value is a text, a number, a boolean, or a list of such values. For a list, the name is repeated. A name with the value None is omitted."),
			},
			Returns: "the query, in the order of the dict",
			Do:      row.Do(urlQueryText),
		},
		{
			Name:    "decode_query",
			Doc:     "Parse the query of a URL. Invalid escapes are not changed, as in browsers.",
			Params:  []tool.Param{tool.Required("text", tool.TypeString, "The query. A question mark at its beginning is ignored.")},
			Returns: "a dict of lists: each name with all its values, in order",
			Do: row.Do(func(a *value.Dict) (value.Value, error) {
				return urlDecodeQuery(strings.TrimPrefix(a.Text("text"), "?"))
			}),
		},
		{
			Name: "quote",
			Doc:  "Percent-encode text for any part of a URL. All characters except letters, digits and -._~ become %XX.",
			Params: []tool.Param{
				tool.Required("text", tool.TypeString, "The text."),
				tool.Optional("safe", tool.TypeString, "", `ASCII characters that are not encoded, such as "/" for a path.`),
			},
			Returns: "the text, percent-encoded",
			Do:      row.Do(urlQuote),
		},
		{
			Name:    "unquote",
			Doc:     "Decode %XX escapes. Invalid escapes are not changed, and bytes that are not UTF-8 become \ufffd.",
			Params:  []tool.Param{tool.Required("text", tool.TypeString, "The text.")},
			Returns: "the text, decoded",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return urlUnescape(a.Text("text")), nil }),
		},
	}
}

func urlParse(a *value.Dict) (value.Value, error) {
	u, err := row.Parse(a.Text("url"))
	if err != nil {
		return nil, err
	}
	var port value.Value
	if u.Port() != "" {
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			return nil, row.Invalid("invalid URL: port %s is out of range", row.Short(u.Port()))
		}
		port = int64(n)
	}
	query, err := urlDecodeQuery(u.RawQuery)
	if err != nil {
		return nil, err
	}
	password, _ := u.User.Password()
	clean := func(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
	return value.NewDict(
		"scheme", u.Scheme, "user", clean(u.User.Username()), "password", clean(password),
		"host", clean(u.Host), "hostname", clean(u.Hostname()), "port", port,
		"path", row.Escape(u.Opaque+cmp.Or(u.RawPath, u.EscapedPath()), row.PathSafe), "query", query,
		"fragment", row.Escape(cmp.Or(u.RawFragment, u.EscapedFragment()), row.FragmentSafe),
	), nil
}

// urlBuild writes the parts and reads them back: a host with a slash in it, or
// a path that looks like a host, would be a URL of somewhere else.
func urlBuild(a *value.Dict) (value.Value, error) {
	parts := a.Dict("parts")
	if err := urlCheckParts(parts); err != nil {
		return nil, err
	}
	host, err := urlHost(parts)
	if err != nil {
		return nil, err
	}
	u := url.URL{Scheme: parts.Text("scheme"), Host: host}
	if parts.Text("password") != "" {
		u.User = url.UserPassword(parts.Text("user"), parts.Text("password"))
	} else if parts.Text("user") != "" {
		u.User = url.User(parts.Text("user"))
	}
	path := row.Escape(parts.Text("path"), row.PathSafe)
	if host == "" && u.Scheme != "" && u.User == nil && path != "" && path[0] != '/' {
		u.Opaque = path
	} else if err := urlSetPath(&u, path); err != nil {
		return nil, err
	}
	if u.RawQuery, err = urlQueryPart(row.Arg(parts, "query")); err != nil {
		return nil, err
	}
	text := u.String()
	if fragment := parts.Text("fragment"); fragment != "" {
		text += "#" + row.Escape(fragment, row.FragmentSafe)
	}
	back, err := url.Parse(text)
	if err != nil || back.Scheme != strings.ToLower(u.Scheme) || back.Host != host || back.RawQuery != u.RawQuery ||
		back.User.String() != u.User.String() || back.EscapedPath()+back.Opaque != u.EscapedPath()+u.Opaque {
		return nil, row.Invalid("the parts do not make a valid URL").
			WithHint("check scheme and host; if there is a host, begin the path with one slash")
	}
	return text, nil
}

func urlSetPath(u *url.URL, path string) error {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return row.Invalid("part \"path\": invalid percent-encoding: %w", err).WithHint("write a percent sign as %%25")
	}
	u.Path, u.RawPath = decoded, path
	return nil
}

// urlCheckParts refuses what build would not use.
func urlCheckParts(parts *value.Dict) error {
	for k, v := range parts.All() {
		name, _ := k.(string)
		_, isText := v.(string)
		switch name {
		case "scheme", "user", "password", "host", "hostname", "path", "fragment":
			if !isText && v != nil {
				return row.Invalid("part %q should be a string but got %s", name, value.TypeOf(v))
			}
		case "port", "query":
		default:
			return row.Invalid("unknown part %s", value.FormatJSON(k, "")).
				WithHint("the parts are scheme, user, password, host, hostname, port, path, query and fragment")
		}
	}
	return nil
}

func urlHost(parts *value.Dict) (string, error) {
	if host := parts.Text("host"); host != "" {
		return host, nil
	}
	host := parts.Text("hostname")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	switch port, _ := row.Scalar(row.Arg(parts, "port")); {
	case port == "":
		return host, nil
	case host == "":
		return "", row.Invalid("part \"port\" needs part \"hostname\"")
	default:
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", row.Invalid("part \"port\" should be from 0 to 65535")
		}
		return host + ":" + port, nil
	}
}

func urlQueryPart(v value.Value) (string, error) {
	switch q := v.(type) {
	case nil:
		return "", nil
	case string:
		return row.Escape(q, row.FragmentSafe), nil
	case *value.Dict:
		return row.Query(q)
	}
	return "", row.Invalid("part \"query\" should be a dict or a string but got %s", value.TypeOf(v))
}

func urlJoin(a *value.Dict) (value.Value, error) {
	base, err := row.Parse(a.Text("base"))
	if err != nil {
		return nil, err
	}
	ref, err := row.Parse(a.Text("ref"))
	if err != nil {
		return nil, err
	}
	return strings.ToValidUTF8(base.ResolveReference(ref).String(), "\ufffd"), nil
}

func urlQueryText(a *value.Dict) (value.Value, error) {
	d := a.Dict("query")
	return row.Query(d)
}

func urlDecodeQuery(text string) (value.Value, error) {
	d := &value.Dict{}
	if strings.Count(text, "&") > row.MaxValues/4 {
		return nil, row.TooMany()
	}
	for part := range strings.SplitSeq(text, "&") {
		if part == "" {
			continue
		}
		name, val, _ := strings.Cut(strings.ReplaceAll(part, "+", " "), "=")
		name = urlUnescape(name)
		values, _ := d.Get(name)
		list, _ := values.(value.List)
		d.Put(name, append(list, urlUnescape(val)))
	}
	return d, nil
}

func urlQuote(a *value.Dict) (value.Value, error) {
	return row.Escape(a.Text("text"), a.Text("safe")), nil
}

// urlUnescape reads the escapes that are well formed.
func urlUnescape(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+3 <= len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return strings.ToValidUTF8(b.String(), "\ufffd")
}
