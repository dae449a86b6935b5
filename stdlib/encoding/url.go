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

// URL returns the module url.
func URL() tool.Module {
	return tool.Module{
		Name:  "url",
		Doc:   "Takes addresses apart and puts them together.",
		Funcs: append(urlWholes(), urlParts()...),
	}
}

func urlWholes() []tool.Func {
	return []tool.Func{
		{
			Name:   "parse",
			Doc:    "Takes a URL apart.",
			Params: []tool.Param{tool.Required("url", tool.TypeString, "The URL, absolute or relative.")},
			Returns: `a dict {"scheme", "user", "password", "host" (with the port), "hostname", "port" (an integer or None), "path", ` +
				`"query" (a dict of lists of texts), "fragment"}; what is absent is empty. Path and fragment stay percent-encoded, ` +
				`as in the URL; the rest is decoded`,
			Do: row.Do(urlParse),
		},
		{
			Name: "build",
			Doc:  "Puts a URL together from parts, as parse gives them.",
			Params: []tool.Param{
				tool.Required("parts", tool.TypeObject, `A dict with any of scheme, user, password, host (or hostname and port), path, query `+
					`(a dict as for encode_query, or a text), fragment. Path and fragment are encoded where they must be.`),
			},
			Returns: "the URL",
			Do:      row.Do(urlBuild),
		},
		{
			Name: "join",
			Doc:  "Resolves a reference, as in a link, against the URL where it stands.",
			Params: []tool.Param{
				tool.Required("base", tool.TypeString, "The URL of the page."),
				tool.Required("ref", tool.TypeString, `The reference, as in "../b?c=1".`),
			},
			Returns: "the URL that is meant",
			Do:      row.Do(urlJoin),
		},
	}
}

func urlParts() []tool.Func {
	return []tool.Func{
		{
			Name: "encode_query",
			Doc:  "Writes the query of a URL, without the question mark.",
			Params: []tool.Param{
				tool.Required("query", tool.TypeObject, "A dict: each value a text, number or boolean, or a list of them for a name that is repeated. None leaves the name out."),
			},
			Returns: "the query, in the order of the dict",
			Do:      row.Do(urlQueryText),
		},
		{
			Name:    "decode_query",
			Doc:     "Reads the query of a URL. It takes what browsers take: broken escapes stay as they are.",
			Params:  []tool.Param{tool.Required("text", tool.TypeString, "The query; a question mark before it is skipped.")},
			Returns: "a dict of lists: each name with all its values, in order",
			Do: row.Do(func(a *value.Dict) (value.Value, error) {
				return urlDecodeQuery(strings.TrimPrefix(a.Text("text"), "?"))
			}),
		},
		{
			Name: "quote",
			Doc:  "Writes a text so that it can stand in any part of a URL: all but letters, digits and -._~ as %XX.",
			Params: []tool.Param{
				tool.Required("text", tool.TypeString, "The text."),
				tool.Optional("safe", tool.TypeString, "", `ASCII characters to leave as they are; "/" keeps a path a path.`),
			},
			Returns: "the text, percent-encoded",
			Do:      row.Do(urlQuote),
		},
		{
			Name:    "unquote",
			Doc:     "Reads %XX escapes. Broken ones stay as they are, and what is not UTF-8 becomes \ufffd.",
			Params:  []tool.Param{tool.Required("text", tool.TypeString, "The text.")},
			Returns: "the text, decoded",
			Do:      row.Do(func(a *value.Dict) (value.Value, error) { return urlUnescape(a.Text("text")), nil }),
		},
	}
}

// ReadURL parses a URL as scripts give it.
func ReadURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		var e *url.Error
		if e, _ = err.(*url.Error); e != nil {
			err = e.Err // without the whole text, which may be long
		}
		return nil, row.Invalid("not a URL: %w", err)
	}
	return u, nil
}

func urlParse(a *value.Dict) (value.Value, error) {
	u, err := ReadURL(a.Text("url"))
	if err != nil {
		return nil, err
	}
	var port value.Value
	if u.Port() != "" {
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			return nil, row.Invalid("not a URL: the port %s is out of range", row.Short(u.Port()))
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
		"path", EscapeURL(u.Opaque+cmp.Or(u.RawPath, u.EscapedPath()), urlPathSafe), "query", query,
		"fragment", EscapeURL(cmp.Or(u.RawFragment, u.EscapedFragment()), FragmentSafe),
	), nil
}

// What may stand in a path and in a fragment besides letters, digits and -._~,
// the sign of an escape among it.
const (
	urlPathSafe = "/:@!$&'()*+,;=%"
	// FragmentSafe is what may be in a fragment.
	FragmentSafe = urlPathSafe + "?"
)

// urlBuild writes the parts and reads them back: a host with a slash in it, or
// a path that looks like a host, would be a URL of somewhere else.
func urlBuild(a *value.Dict) (value.Value, error) {
	parts, _ := row.Arg(a, "parts").(*value.Dict)
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
	path := EscapeURL(parts.Text("path"), urlPathSafe)
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
		text += "#" + EscapeURL(fragment, FragmentSafe)
	}
	back, err := url.Parse(text)
	if err != nil || back.Scheme != strings.ToLower(u.Scheme) || back.Host != host || back.RawQuery != u.RawQuery ||
		back.User.String() != u.User.String() || back.EscapedPath()+back.Opaque != u.EscapedPath()+u.Opaque {
		return nil, row.Invalid("the parts do not make a URL that reads back as them").
			WithHint("check scheme and host, and begin the path with one slash where there is a host")
	}
	return text, nil
}

func urlSetPath(u *url.URL, path string) error {
	decoded, err := url.PathUnescape(path)
	if err != nil {
		return row.Invalid("the path has a broken escape: %w", err).WithHint("write a percent sign as %%25")
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
				return row.Invalid("part %q should be string but is %s", name, value.TypeOf(v))
			}
		case "port", "query":
		default:
			return row.Invalid("there is no part %s", value.FormatJSON(k, "")).
				WithHint("parts are scheme, user, password, host, hostname, port, path, query and fragment")
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
		return "", row.Invalid("a port without a host")
	default:
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", row.Invalid("the port should be from 0 to 65535")
		}
		return host + ":" + port, nil
	}
}

func urlQueryPart(v value.Value) (string, error) {
	switch q := v.(type) {
	case nil:
		return "", nil
	case string:
		return EscapeURL(q, FragmentSafe), nil
	case *value.Dict:
		return EncodeQuery(q)
	}
	return "", row.Invalid("part \"query\" should be a dict or a string but is %s", value.TypeOf(v))
}

func urlJoin(a *value.Dict) (value.Value, error) {
	base, err := ReadURL(a.Text("base"))
	if err != nil {
		return nil, err
	}
	ref, err := ReadURL(a.Text("ref"))
	if err != nil {
		return nil, err
	}
	return strings.ToValidUTF8(base.ResolveReference(ref).String(), "\ufffd"), nil
}

func urlQueryText(a *value.Dict) (value.Value, error) {
	d, _ := row.Arg(a, "query").(*value.Dict)
	return EncodeQuery(d)
}

// EncodeQuery writes the entries of a dict as a query.
func EncodeQuery(d *value.Dict) (string, error) {
	var b row.Builder
	for k, v := range d.All() {
		name, ok := row.Scalar(k)
		values, isList := value.Elements(v)
		if !isList {
			values = []value.Value{v}
		}
		for _, v := range values {
			text, plain := row.Scalar(v)
			if !ok || !plain {
				return "", row.Invalid("the query's %s should be text, a number, a boolean or a list of them but is %s",
					row.Short(value.FormatJSON(k, "")), value.TypeOf(v))
			}
			if v == nil {
				continue
			}
			if b.Len() > 0 {
				b.Add("&")
			}
			b.Add(url.QueryEscape(name), "=", url.QueryEscape(text))
		}
	}
	if b.Full {
		return "", row.TooLong()
	}
	return b.String(), nil
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
	return EscapeURL(a.Text("text"), a.Text("safe")), nil
}

// EscapeURL writes every byte as %XX but unreserved ones and the safe ones.
func EscapeURL(text, safe string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-._~", c) >= 0,
			c < 0x80 && strings.IndexByte(safe, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
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
