package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

const (
	maxRatio  = 200     // of what is unpacked to what came; text that people write stays below 20
	ratioFrom = 1 << 20 // bytes up to which the ratio is ignored
	maxJSON   = 2 << 20 // bytes of a body that is given as a value too: values take several times their text
)

// size returns the length of the body of an answer when it is unpacked, or -1 if the answer does not say it.
func size(resp *http.Response, method string) int64 {
	if method == http.MethodHead {
		return 0
	}
	if resp.Header.Get("Content-Encoding") != "" {
		return -1
	}
	return resp.ContentLength
}

// readBody reads the body of an answer, unpacked. hold takes memory for so many bytes of it.
func readBody(resp *http.Response, method, host string, hold func(n int64) error) ([]byte, error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, value.Errorf(value.Unavailable, "response of %s: unexpected status 101 (switching protocols)", host)
	}
	if resp.ContentLength > maxBody && method != http.MethodHead {
		return nil, limitError("the response is longer than %d MB", maxBody>>20)
	}
	packed := &counter{r: resp.Body}
	var body io.Reader = packed
	switch encoding := strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ",")); {
	case encoding == "" || encoding == "identity" || method == http.MethodHead:
	case encoding == "gzip" || encoding == "x-gzip":
		unpack, err := gzip.NewReader(packed)
		if errors.Is(err, io.EOF) && packed.n == 0 {
			return nil, nil // nothing at all, as with status 204
		}
		if err != nil {
			return nil, unpackError(host, err)
		}
		body = unpack
	default:
		return nil, value.Errorf(value.Failed, "response of %s: unsupported content encoding %s", host, errorText(errors.New(encoding)))
	}
	return readAll(body, packed, host, hold)
}

func readAll(body io.Reader, packed *counter, host string, hold func(n int64) error) ([]byte, error) {
	var all bytes.Buffer
	chunk := make([]byte, 32<<10)
	for empty := 0; ; {
		n, err := body.Read(chunk)
		if empty++; n > 0 {
			empty = 0
		}
		if all.Len()+n <= maxBody {
			if err := hold(int64(all.Len() + n)); err != nil {
				return nil, err
			}
		}
		all.Write(chunk[:n])
		switch {
		case all.Len() > maxBody:
			return nil, limitError("the response is longer than %d MB", maxBody>>20)
		case all.Len() > ratioFrom && int64(all.Len())/maxRatio > packed.n:
			return nil, limitError("the response is more than %d times larger after decompression", maxRatio)
		case err == io.EOF:
			return all.Bytes(), nil
		case err == nil && empty > 100:
			return nil, io.ErrNoProgress
		case err != nil:
			return nil, unpackError(host, err)
		}
	}
}

// unpackError distinguishes what was packed wrongly from what did not arrive.
func unpackError(host string, err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || strings.HasPrefix(err.Error(), "flate:") {
		return value.Errorf(value.Failed, "response of %s: invalid compressed data", host)
	}
	return err
}

// A counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// value gives an answer as scripts see it, without the values of secrets.
func (a *response) value(secrets *secret.Box) (value.Value, error) {
	kind := a.header.Get("Content-Type")
	var text, raw, json value.Value
	if s, ok := bodyText(a.body, kind); ok {
		json = bodyJSON(s, kind)
		s, json = scrubJSON(secrets, s, json)
		text = s
		if len(s) > row.MaxText {
			return nil, limitError("the response is longer than %d MB", row.MaxText>>20)
		}
	} else {
		raw = []byte(secrets.Scrub(string(a.body)))
	}
	headers := &value.Dict{}
	for _, name := range headerNames(a.header) {
		headers.Put(clean(secrets, strings.ToLower(name)), clean(secrets, strings.Join(a.header[name], ", ")))
	}
	return value.NewDict(
		"status", a.status, "ok", a.status < 400, "url", clean(secrets, secret.ReplaceInQuery(a.url.String(), secret.Placeholder)),
		"headers", headers, "text", text, "bytes", raw, "json", json,
	), nil
}

// scrubJSON hides secrets in a text and in the JSON value that it holds, or nil. A value
// that spans several parts of the JSON, or is a number of it, leaves no JSON.
func scrubJSON(secrets *secret.Box, text string, json value.Value) (string, value.Value) {
	scrubbed := secrets.Scrub(text)
	if scrubbed == text || json == nil {
		return scrubbed, json // what its strings hold is found in the text
	}
	clean := secrets.ScrubValue(json)
	text = value.FormatJSON(clean, "")
	if scrubbed = secrets.Scrub(text); scrubbed != text {
		return scrubbed, nil
	}
	if value.Equal(clean, json) {
		return scrubbed, nil
	}
	return text, clean
}

// headerNames gives the names of headers in an order that does not change.
func headerNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func clean(secrets *secret.Box, text string) string {
	return secrets.Scrub(strings.ToValidUTF8(text, "\ufffd"))
}

// bodyText gives a body as text, if it is one: UTF-8, or what old pages are
// written in.
func bodyText(body []byte, kind string) (string, bool) {
	media, params, err := mime.ParseMediaType(kind)
	if err != nil {
		media, params = "", nil
	}
	charset := strings.ToLower(params["charset"])
	switch {
	case bytes.IndexByte(body, 0) >= 0:
		return "", false
	case is1252(charset), charset == "" && strings.HasPrefix(media, "text/") && !utf8.Valid(body):
		return from1252(body), true
	}
	return string(body), utf8.Valid(body)
}

func is1252(charset string) bool {
	switch charset {
	case "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252":
		return true
	}
	return false
}

// from1252 decodes windows-1252, as which browsers read ISO-8859-1 too.
func from1252(body []byte) string {
	var b strings.Builder
	for _, c := range body {
		r := charmap.Windows1252.DecodeByte(c)
		if r == utf8.RuneError {
			r = rune(c) // undefined, and a control character for browsers
		}
		b.WriteRune(r)
	}
	return b.String()
}

// bodyJSON reads a body that is JSON, by its type or by how it begins.
func bodyJSON(text, kind string) value.Value {
	media, _, _ := mime.ParseMediaType(kind)
	start := strings.TrimLeft(text, "\ufeff \t\r\n")
	named := media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
	if len(text) > maxJSON || !named && !strings.HasPrefix(start, "{") && !strings.HasPrefix(start, "[") {
		return nil
	}
	v, err := value.ParseJSON([]byte(start))
	if err != nil {
		return nil
	}
	return v
}
