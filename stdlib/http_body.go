package stdlib

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

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

const (
	httpMaxRatio  = 200     // of what is unpacked to what came; text that people write stays below 20
	httpRatioFrom = 1 << 20 // bytes up to which the ratio is of no account
	httpMaxJSON   = 2 << 20 // bytes of a body that is given as a value too: values take several times their text
)

// httpReadBody reads the body of an answer, unpacked.
func httpReadBody(resp *http.Response, method, host string) ([]byte, error) {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, value.Errorf(value.Unavailable, "%s went over to another protocol, which was not asked for", host)
	}
	if resp.ContentLength > httpMaxBody && method != http.MethodHead {
		return nil, httpLimit("the answer is longer than %d MB", httpMaxBody>>20)
	}
	packed := &httpCounter{r: resp.Body}
	var body io.Reader = packed
	switch encoding := strings.ToLower(strings.Join(resp.Header.Values("Content-Encoding"), ",")); {
	case encoding == "" || encoding == "identity" || method == http.MethodHead:
	case encoding == "gzip" || encoding == "x-gzip":
		unpack, err := gzip.NewReader(packed)
		if errors.Is(err, io.EOF) && packed.n == 0 {
			return nil, nil // nothing at all, as with status 204
		}
		if err != nil {
			return nil, httpUnpackError(host, err)
		}
		body = unpack
	default:
		return nil, value.Errorf(value.Failed, "%s packed its answer in a way that was not asked for: %s", host, httpWords(errors.New(encoding)))
	}
	return httpReadAll(body, packed, host)
}

func httpReadAll(body io.Reader, packed *httpCounter, host string) ([]byte, error) {
	var all bytes.Buffer
	chunk := make([]byte, 32<<10)
	for empty := 0; ; {
		n, err := body.Read(chunk)
		if empty++; n > 0 {
			empty = 0
		}
		all.Write(chunk[:n])
		switch {
		case all.Len() > httpMaxBody:
			return nil, httpLimit("the answer is longer than %d MB", httpMaxBody>>20)
		case all.Len() > httpRatioFrom && int64(all.Len())/httpMaxRatio > packed.n:
			return nil, httpLimit("the answer unpacks to more than %d times what was sent", httpMaxRatio)
		case err == io.EOF:
			return all.Bytes(), nil
		case err == nil && empty > 100:
			return nil, io.ErrNoProgress
		case err != nil:
			return nil, httpUnpackError(host, err)
		}
	}
}

// httpUnpackError tells what was packed wrong from what did not come.
func httpUnpackError(host string, err error) error {
	if errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) || strings.HasPrefix(err.Error(), "flate:") {
		return value.Errorf(value.Failed, "the answer of %s is not packed as it says", host)
	}
	return err
}

// An httpCounter counts what is read.
type httpCounter struct {
	r io.Reader
	n int64
}

func (c *httpCounter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// value gives an answer as scripts see it, without the values of secrets.
func (a *httpAnswer) value(secrets *secretBox) (value.Value, error) {
	kind := a.header.Get("Content-Type")
	var text, raw, json value.Value
	if s, ok := httpText(a.body, kind); ok {
		json = httpJSON(s, kind)
		s = secrets.scrub(s)
		if clean := secrets.scrubValue(json); json != nil && !value.Equal(clean, json) {
			// Its strings may be written so that only the value shows what they hold.
			json, s = clean, secrets.scrub(value.FormatJSON(clean, ""))
		}
		text = s
		if len(s) > row.MaxText {
			return nil, httpLimit("the answer is longer than %d MB", row.MaxText>>20)
		}
	} else {
		raw = []byte(secrets.scrub(string(a.body)))
	}
	headers := &value.Dict{}
	for _, name := range httpNames(a.header) {
		headers.Put(httpClean(secrets, strings.ToLower(name)), httpClean(secrets, strings.Join(a.header[name], ", ")))
	}
	return value.NewDict(
		"status", a.status, "ok", a.status < 400, "url", httpClean(secrets, secretInQuery().ReplaceAllString(a.url.String(), secretMark+"$1}}")),
		"headers", headers, "text", text, "bytes", raw, "json", json,
	), nil
}

// httpNames gives the names of headers in an order that does not change.
func httpNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func httpClean(secrets *secretBox, text string) string {
	return secrets.scrub(strings.ToValidUTF8(text, "\ufffd"))
}

// httpText gives a body as text, if it is one: UTF-8, or what old pages are
// written in.
func httpText(body []byte, kind string) (string, bool) {
	media, params, err := mime.ParseMediaType(kind)
	if err != nil {
		media, params = "", nil
	}
	charset := strings.ToLower(params["charset"])
	switch {
	case bytes.IndexByte(body, 0) >= 0:
		return "", false
	case httpIs1252(charset), charset == "" && strings.HasPrefix(media, "text/") && !utf8.Valid(body):
		return httpFrom1252(body), true
	}
	return string(body), utf8.Valid(body)
}

func httpIs1252(charset string) bool {
	switch charset {
	case "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252":
		return true
	}
	return false
}

// http1252 is what the bytes from 0x80 to 0x9f stand for in windows-1252, as
// which browsers read ISO-8859-1 too.
const http1252 = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ"

func httpFrom1252(body []byte) string {
	high := []rune(http1252)
	var b strings.Builder
	for _, c := range body {
		switch {
		case c < 0x80:
			b.WriteByte(c)
		case c < 0xa0:
			b.WriteRune(high[c-0x80])
		default:
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}

// httpJSON reads a body that is JSON, by its type or by how it begins.
func httpJSON(text, kind string) value.Value {
	media, _, _ := mime.ParseMediaType(kind)
	start := strings.TrimLeft(text, "\ufeff \t\r\n")
	named := media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
	if len(text) > httpMaxJSON || !named && !strings.HasPrefix(start, "{") && !strings.HasPrefix(start, "[") {
		return nil
	}
	v, err := value.ParseJSON([]byte(start))
	if err != nil {
		return nil
	}
	return v
}
