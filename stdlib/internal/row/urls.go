package row

import (
	"net/url"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Parse parses a URL. Its error is of kind Invalid and does not quote the URL, which may
// be long.
func Parse(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil {
		var e *url.Error
		if e, _ = err.(*url.Error); e != nil {
			err = e.Err
		}
		return nil, Invalid("invalid URL: %w", err)
	}
	return u, nil
}

// What may be in a path and in a fragment beside letters, digits and -._~, with the sign
// of an escape.
const (
	PathSafe     = "/:@!$&'()*+,;=%"
	FragmentSafe = PathSafe + "?"
)

// Query returns the entries of a dict as the query of a URL.
func Query(d *value.Dict) (string, error) {
	var b Builder
	for k, v := range d.All() {
		name, ok := Scalar(k)
		values, isList := value.Elements(v)
		if !isList {
			values = []value.Value{v}
		}
		for _, v := range values {
			text, plain := Scalar(v)
			if !ok || !plain {
				return "", Invalid("query: %s should be text, a number, a boolean or a list of them, but got %s",
					Short(value.FormatJSON(k, "")), value.TypeOf(v))
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
		return "", TooLong()
	}
	return b.String(), nil
}

// Escape returns a text with each byte as %XX but those of letters, digits and -._~ and
// those in safe.
func Escape(text, safe string) string {
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
