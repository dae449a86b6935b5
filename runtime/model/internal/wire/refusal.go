package wire

import (
	"bytes"
	"cmp"
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
	"sync"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxSaid is how much of a server's message an error repeats, in bytes.
const maxSaid = 200

// Fail converts an error to a failure, with the model's name and without the key.
func (w *Wire) Fail(err *value.Error) *Failure {
	e := *err
	e.Op = w.name
	e.Err = errors.New(w.hide(err.Message()))
	e.Hint = w.hide(err.Hint)
	return &Failure{Err: &e}
}

// FailStatus returns the failure for a status of the server.
func (w *Wire) FailStatus(status int, said string) *Failure {
	f := w.Fail(w.statusError(status, said))
	f.Status = status
	return f
}

// statusError returns the error for a status of the server.
func (w *Wire) statusError(status int, said string) *value.Error {
	text := "HTTP " + strconv.Itoa(status) + ": " + said
	if w.Prefix != "" {
		text = w.Prefix + "(HTTP " + strconv.Itoa(status) + "): " + said
	}
	switch {
	case status == 401 || status == 403:
		return value.Errorf(value.Unavailable, "%s", text).WithHint("%s", w.keyHint)
	case status == 404:
		return value.Errorf(value.Unavailable, "%s", text).WithHint("%s", w.LostHint)
	case status == 413 || status/100 == 4 && status != 429 && contextWords(said):
		return LimitError(value.LimitContext, "%s", text).WithHint("%s", ShorterHint)
	case status == 429 || status == 402:
		return LimitError(value.LimitRate, "%s", text).WithHint("try again later, or check the account's limits and balance")
	case status/100 == 4:
		return value.Errorf(value.Invalid, "%s", text).WithHint("change the setting that the server rejects: the model, a flag such as --effort, or a field of extra in your config.yaml")
	case status == 524: // of Cloudflare: the server behind it took too long
		return value.Errorf(value.Timeout, "%s", text).WithHint("try again, or ask for a smaller part of the task")
	case status/100 == 3:
		return value.Errorf(value.Unavailable, "%s", text).WithHint("check the address of the API: it should not redirect")
	}
	return value.Errorf(value.Unavailable, "%s", text).WithHint("try again later: the provider has a problem")
}

// ShorterHint is the hint for a conversation that is too long for the model.
const ShorterHint = "begin a new conversation, or use a model with a larger context: cassidy models shows the sizes"

// LimitError returns the error of a limit that is exceeded.
func LimitError(limit value.LimitName, format string, args ...any) *value.Error {
	e := value.Errorf(value.Limit, format, args...)
	e.Limit = limit
	return e
}

// contextWords reports whether an error is about a conversation that is too long. There
// is no common code for it, so these are the texts of OpenAI, Anthropic, llama.cpp,
// vLLM, LM Studio and Gemini.
func contextWords(said string) bool {
	said = strings.ToLower(said)
	return slices.ContainsFunc([]string{"context_length_exceeded", "prompt is too long", "context length", "context limit",
		"context size", "context_size", "context window", "input is too long", "input token count"}, func(words string) bool {
		return strings.Contains(said, words)
	})
}

// refused reads the error of the server.
func (w *Wire) refused(r *Response) *Failure {
	if r.status/100 == 3 {
		return w.FailStatus(r.status, "unsupported redirect to "+redirectHost(r.header.Get("Location")))
	}
	body, err := io.ReadAll(io.LimitReader(r.body, maxErrorBody))
	if err != nil && r.ctx.Err() != nil {
		return w.Ended(r.ctx, err)
	}
	said := w.explain(body)
	if code := errorCode(body); code != "" && !strings.Contains(said, code) {
		said += " (" + value.Clean(code, 60) + ")"
	}
	f := w.FailStatus(r.status, said)
	f.Body = errorBody(body)
	f.after = cmp.Or(retryAfter(r.header), retryInfo(f.Body))
	// X-Should-Retry is sent by OpenAI and Anthropic, and obeyed by their clients.
	should := r.header.Get("X-Should-Retry")
	unpaid := strings.Contains(said, "insufficient_quota")
	f.again, f.final = should == "true", should == "false" || unpaid || dailyQuota(f.Body) // waiting does not help
	if f.after > 0 && !unpaid && (r.status == 429 || r.status == 503 || r.status == 529) {
		f.Err.After = f.after
		f.Err.Hint = "try again after " + f.after.Round(time.Millisecond).String()
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

var htmlTitle = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?is)<title[^>]*>\s*(.*?)\s*</title`)
})

// explain returns the message in the body of an error, on one line.
func (w *Wire) explain(body []byte) string {
	body = bytes.TrimSpace(bytes.ToValidUTF8(body, []byte("\ufffd")))
	if len(body) == 0 {
		return "Empty error response from server"
	}
	if v, err := value.ParseJSON(body); err == nil {
		return w.Short(ErrorText(v))
	}
	if body[0] == '<' || bytes.Contains(bytes.ToLower(body), []byte("<html")) {
		title := htmlTitle().FindSubmatch(body)
		if title == nil || len(title[1]) == 0 {
			return "Server returned HTML error page (likely 500/502/503 error)"
		}
		return w.Short("Server error: " + html.UnescapeString(string(title[1])))
	}
	return w.Short(string(body))
}

// ErrorText returns the message in an error's JSON.
func ErrorText(v value.Value) string {
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
				return said + upstream(d)
			}
		case *value.Dict:
			return ErrorText(said)
		}
	}
	return "Unknown API error"
}

// upstream returns the reason of the server behind a gateway, which OpenRouter sends in
// metadata.raw: a text, or JSON in one.
func upstream(e *value.Dict) string {
	raw := Child(e, "metadata").Text("raw")
	if raw == "" {
		return ""
	}
	if v, err := value.ParseJSON([]byte(raw)); err == nil {
		if d, ok := v.(*value.Dict); ok {
			return ": " + ErrorText(d)
		}
	}
	return ": " + raw
}

// errorBody returns the object with the error in the body of a response, or nil.
func errorBody(body []byte) *value.Dict {
	v, _ := value.ParseJSON(body)
	if list, ok := v.(value.List); ok && len(list) > 0 {
		v = list[0]
	}
	d, _ := v.(*value.Dict)
	if inner := Child(d, "error"); inner != nil {
		return inner
	}
	return d
}

// retryInfo returns the delay that a server of Google requests in the details of an error, or 0.
// Source: https://cloud.google.com/apis/design/errors#error_details
func retryInfo(e *value.Dict) time.Duration {
	for _, d := range Children(e, "details") {
		if strings.HasSuffix(d.Text("@type"), ".RetryInfo") {
			delay, _ := strconv.ParseFloat(strings.TrimSuffix(d.Text("retryDelay"), "s"), 64)
			return seconds(delay)
		}
	}
	return 0
}

// dailyQuota reports whether an error of Google's is about the quota of a day.
func dailyQuota(e *value.Dict) bool {
	for _, d := range Children(e, "details") {
		for _, v := range Children(d, "violations") {
			if strings.Contains(v.Text("quotaId"), "PerDay") {
				return true
			}
		}
	}
	return false
}

// errorCode returns the code of an error. It is more specific than the message when a
// conversation is too long or an account is empty.
func errorCode(body []byte) string {
	v, _ := value.ParseJSON(body)
	d, _ := v.(*value.Dict)
	e := Child(d, "error")
	if code := e.Text("code"); code != "" {
		return code
	}
	return e.Text("type")
}

// Short makes a server's text safe for an error: one line, not too long, and without
// the key. The key is removed first: truncating could leave a part of it.
func (w *Wire) Short(text string) string {
	return value.Clean(w.hide(strings.Join(strings.Fields(text), " ")), maxSaid)
}

// FailIn returns the failure that a server reports with a status of success.
func (w *Wire) FailIn(body *value.Dict) *Failure {
	v, _ := body.Get("error")
	if v == nil {
		return nil
	}
	e, _ := v.(*value.Dict)
	status := int(e.IntOr("code", e.IntOr("status_code", 500)))
	if status < 400 || status > 599 {
		status = 500
	}
	said := ErrorText(value.NewDict("error", v))
	if code := e.Text("code"); code != "" {
		said += " (" + code + ")"
	}
	if contextWords(said) {
		status = 400
	}
	f := w.FailStatus(status, w.Short(said))
	f.Body = e
	return f
}

// lost returns why an exchange failed.
func (w *Wire) lost(ctx, inner context.Context, err error) *Failure {
	var slow interface{ Timeout() bool }
	switch {
	case ctx.Err() != nil:
		return w.Ended(ctx, err)
	case errors.Is(err, errLong):
		return w.tooLong()
	case context.Cause(inner) == errSlow, errors.As(err, &slow) && slow.Timeout():
		f := w.Fail(value.Errorf(value.Timeout, "no data from the API for %s (idle timeout)", w.Timeout).
			WithHint("check that the server works, and try again; in Go, increase HTTP.Timeout").WithLimit(value.LimitHTTP))
		f.Slow = true
		return f
	}
	var outer *url.Error // its text has the address with the path, which is not needed
	if errors.As(err, &outer) {
		err = outer.Err
	}
	e := value.Errorf(value.Unavailable, "connect to %s: %s", w.Base, w.Short(err.Error())).
		WithHint("check the network, and that the server runs")
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e = value.Errorf(value.Unavailable, "the connection was closed before the reply was complete").WithHint("try again")
	}
	f := w.Fail(e)
	f.Cut = true
	return f
}

// tooLong returns the error of an answer that exceeds its limit.
func (w *Wire) tooLong() *Failure {
	return w.Fail(LimitError(value.LimitReply, "the reply is too long: limit %d bytes", w.MaxReply).
		WithHint("ask for a shorter answer; in Go, increase HTTP.MaxReply"))
}

// Ended returns the error of the caller's context.
func (w *Wire) Ended(ctx context.Context, err error) *Failure {
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return w.Fail(value.Errorf(value.Timeout, "timeout: no complete reply within the time limit of the call").
			WithHint("allow more time; in Go, use a context with a later deadline"))
	}
	return w.Fail(value.Errorf(value.Canceled, "the request was cancelled"))
}

// BadResponse returns the failure of a response that the API does not document.
func (w *Wire) BadResponse(what string) *Failure {
	return w.Fail(value.Errorf(value.Unavailable, "invalid response: %s", what).WithHint("check the address of the API, %s", w.Base))
}

// Empty returns the failure of an answer without text and calls.
func (w *Wire) Empty() *Failure {
	f := w.Fail(value.Errorf(value.Unavailable, "%w", model.ErrEmpty).WithHint("ask again, or use another model"))
	f.Err.Err = model.ErrEmpty // fail keeps only the text
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

// keyShortest is the length at which a secret is also removed from answers. The made-up
// keys of local servers are words that an answer may contain.
const keyShortest = 20

// formsOf returns the encodings of secrets, and those of the long ones.
func formsOf(secrets []string) (all, long []string) {
	for _, secret := range secrets {
		forms := secretForms(secret)
		all = append(all, forms...)
		if len(secret) >= keyShortest {
			long = append(long, forms...)
		}
	}
	return all, long
}

// Said returns a model's text without the key and other secrets.
func (w *Wire) Said(text string) string { return without(text, w.long) }

// hide removes the key and other secrets from a text.
func (w *Wire) hide(text string) string { return without(text, w.secrets) }

func without(text string, secrets []string) string {
	for _, form := range secrets {
		text = strings.ReplaceAll(text, form, "[key]")
	}
	return text
}
