package model

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"html"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxSaid is how much of a server's message an error repeats, in bytes.
const maxSaid = 200

// fail converts an error to a failure, with the model's name and without the key.
func (w *wire) fail(err *value.Error) *failure {
	e := *err
	e.Op = w.name
	e.Err = errors.New(w.hide(err.Message()))
	e.Hint = w.hide(err.Hint)
	return &failure{err: &e}
}

// failStatus returns the failure for a status of the server.
func (w *wire) failStatus(status int, said string) *failure {
	f := w.fail(w.statusError(status, said))
	f.status = status
	return f
}

// statusError returns the error for a status of the server.
func (w *wire) statusError(status int, said string) *value.Error {
	text := "HTTP " + strconv.Itoa(status) + ": " + said
	if w.prefix != "" {
		text = w.prefix + "(HTTP " + strconv.Itoa(status) + "): " + said
	}
	switch {
	case status == 401 || status == 403:
		return value.Errorf(value.Unavailable, "%s", text).WithHint("%s", w.keyHint)
	case status == 404:
		return value.Errorf(value.Unavailable, "%s", text).WithHint("%s", w.lostHint)
	case status == 413 || status/100 == 4 && status != 429 && contextWords(said):
		return limitError(value.LimitContext, "%s", text).WithHint("shorten the conversation")
	case status == 429 || status == 402:
		return limitError(value.LimitRate, "%s", text).WithHint("try again later, or check the account's limits and balance")
	case status/100 == 4:
		return value.Errorf(value.Invalid, "%s", text).WithHint("correct the request; the server reports the reason above")
	case status == 524: // of Cloudflare: the server behind it took too long
		return value.Errorf(value.Timeout, "%s", text).WithHint("try a smaller task")
	case status/100 == 3:
		return value.Errorf(value.Unavailable, "%s", text).WithHint("set the base URL to the URL of the API")
	}
	return value.Errorf(value.Unavailable, "%s", text).WithHint("try again later: the provider has a problem")
}

func limitError(limit value.LimitName, format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = limit
	return e
}

// contextWords reports whether an error is about a conversation that is too long. There
// is no common code for it, so these are the texts of OpenAI, Anthropic, llama.cpp,
// vLLM and LM Studio.
func contextWords(said string) bool {
	said = strings.ToLower(said)
	return slices.ContainsFunc([]string{"context_length_exceeded", "prompt is too long", "context length", "context limit",
		"context size", "context_size", "context window", "input is too long"}, func(words string) bool {
		return strings.Contains(said, words)
	})
}

// refused reads the error of the server.
func (w *wire) refused(r *response) *failure {
	if r.status/100 == 3 {
		return w.failStatus(r.status, "unsupported redirect to "+redirectHost(r.header.Get("Location")))
	}
	body, err := io.ReadAll(io.LimitReader(r.body, maxErrorBody))
	if err != nil && r.ctx.Err() != nil {
		return w.ended(r.ctx, err)
	}
	said := w.explain(body)
	if code := errorCode(body); code != "" && !strings.Contains(said, code) {
		said += " (" + value.Clean(code, 60) + ")"
	}
	f := w.failStatus(r.status, said)
	f.after = retryAfter(r.header)
	f.final = strings.Contains(said, "insufficient_quota") || // waiting does not help
		r.header.Get("X-Should-Retry") == "false" // sent by OpenAI and Anthropic, and obeyed by their clients
	if f.after > 0 && (r.status == 429 || r.status == 503 || r.status == 529) {
		f.err.Hint = "try again after " + f.after.Round(time.Millisecond).String()
	}
	return f
}

// redirectHost returns the target of a redirect, without parts that could be secret.
func redirectHost(location string) string {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" {
		return "another path"
	}
	return value.Clean(u.Scheme+"://"+u.Host, 100)
}

var htmlTitle = regexp.MustCompile(`(?is)<title[^>]*>\s*(.*?)\s*</title`)

// explain returns the message in the body of an error, on one line.
func (w *wire) explain(body []byte) string {
	body = bytes.TrimSpace(bytes.ToValidUTF8(body, []byte("\ufffd")))
	if len(body) == 0 {
		return "Empty error response from server"
	}
	if v, err := value.ParseJSON(body); err == nil {
		return w.short(errorText(v))
	}
	if body[0] == '<' || bytes.Contains(bytes.ToLower(body), []byte("<html")) {
		title := htmlTitle.FindSubmatch(body)
		if title == nil || len(title[1]) == 0 {
			return "Server returned HTML error page (likely 500/502/503 error)"
		}
		return w.short("Server error: " + html.UnescapeString(string(title[1])))
	}
	return w.short(string(body))
}

// errorText returns the message in an error's JSON.
func errorText(v value.Value) string {
	if list, ok := v.(value.List); ok && len(list) > 0 {
		v = list[0] // Google's servers send a list
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return "Unknown API error"
	}
	for _, name := range []string{"message", "error", "detail"} {
		switch said, _ := d.Get(name); said := said.(type) {
		case string:
			if said != "" {
				return said
			}
		case *value.Dict:
			return errorText(said)
		}
	}
	return "Unknown API error"
}

// errorCode returns the code of an error. It is more specific than the message when a
// conversation is too long or an account is empty.
func errorCode(body []byte) string {
	v, _ := value.ParseJSON(body)
	d, _ := v.(*value.Dict)
	inner, _ := d.Get("error")
	e, _ := inner.(*value.Dict)
	if code := e.Text("code"); code != "" {
		return code
	}
	return e.Text("type")
}

// short makes a server's text safe for an error: one line, not too long, and without
// the key. The key is removed first: truncating could leave a part of it.
func (w *wire) short(text string) string {
	return value.Clean(w.hide(strings.Join(strings.Fields(text), " ")), maxSaid)
}

// failIn returns the failure that a server reports with a status of success.
func (w *wire) failIn(body *value.Dict) *failure {
	v, _ := body.Get("error")
	if v == nil {
		return nil
	}
	e, _ := v.(*value.Dict)
	status := int(e.IntOr("code", 500))
	if status < 400 || status > 599 {
		status = 500
	}
	said := errorText(value.NewDict("error", v))
	if code := e.Text("code"); code != "" {
		said += " (" + code + ")"
	}
	if contextWords(said) {
		status = 400
	}
	return w.failStatus(status, w.short(said))
}

// lost returns why an exchange failed.
func (w *wire) lost(ctx, inner context.Context, err error) *failure {
	var slow interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return w.ended(ctx, err)
	case errors.Is(err, errLong):
		return w.tooLong()
	case context.Cause(inner) == errSlow, errors.As(err, &slow) && slow.Timeout():
		f := w.fail(value.Errorf(value.Timeout, "no data from the API for %s (idle timeout)", w.Timeout).WithHint("ask for less at a time, or use a longer idle timeout"))
		f.slow = true
		return f
	}
	var outer *url.Error // its text has the address with the path, which is not needed
	if errors.As(err, &outer) {
		err = outer.Err
	}
	e := value.Errorf(value.Unavailable, "connect to %s: %s", w.base, w.short(err.Error())).
		WithHint("check the network, the base URL and the server")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e = value.Errorf(value.Unavailable, "the connection was closed before the reply was complete").WithHint("ask again")
	}
	f := w.fail(e)
	f.cut = true
	return f
}

// tooLong returns the error of an answer that exceeds its limit.
func (w *wire) tooLong() *failure {
	return w.fail(limitError(value.LimitReply, "the reply is too long: limit %d bytes", w.MaxReply).
		WithHint("ask for less, or increase HTTP.MaxReply"))
}

// ended returns the error of the caller's context.
func (w *wire) ended(ctx context.Context, err error) *failure {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return w.fail(value.Errorf(value.Timeout, "timeout: the deadline of the context passed before the reply"))
	}
	return w.fail(value.Errorf(value.Canceled, "canceled"))
}

// ErrEmpty is the error of a reply without text and calls. The conversation can
// continue after it.
var ErrEmpty = errors.New("the reply is empty")

// empty returns the failure of an answer without text and calls.
func (w *wire) empty() *failure {
	f := w.fail(value.Errorf(value.Unavailable, "%w", ErrEmpty).WithHint("ask again"))
	f.err.Err = ErrEmpty // fail keeps only the text
	return f
}

// secretShortest is the length at which a key is removed from errors. Shorter texts
// occur by chance, and are not real keys.
const secretShortest = 4

// secretForms returns the encodings in which a server could send a key back, the
// longest first, so that none is removed only in part.
func secretForms(key string) []string {
	if len(key) < secretShortest {
		return nil
	}
	forms := []string{key, url.QueryEscape(key), url.PathEscape(key), html.EscapeString(key)}
	quoted := value.FormatJSON(key, "")
	forms = append(forms, quoted[1:len(quoted)-1], strings.ReplaceAll(key, "/", `\/`))
	for _, text := range []string{key, "Bearer " + key} {
		forms = append(forms, base64.RawStdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)))
	}
	slices.SortFunc(forms, func(a, b string) int { return len(b) - len(a) })
	return slices.Compact(forms)
}

// keyShortest is the length at which a key is also removed from answers. The made-up
// keys of local servers are words that an answer may contain.
const keyShortest = 20

// said returns a model's text without the key.
func (w *wire) said(text string) string {
	if w.keyLength < keyShortest {
		return text
	}
	return w.hide(text)
}

// hide removes the key from a text.
func (w *wire) hide(text string) string {
	for _, form := range w.secrets {
		text = strings.ReplaceAll(text, form, "[key]")
	}
	return text
}
