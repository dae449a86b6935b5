package serve

import (
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A refusal is an answer of the server that no [value.Kind] stands for.
type refusal struct {
	status        int
	kind          string
	message, hint string
	more          *value.Dict // beside the error, such as what the client has not seen
}

func (e *refusal) Error() string { return e.message }

// unauthenticated returns the error of who has not signed in.
func unauthenticated(message string) error {
	return &refusal{status: http.StatusUnauthorized, kind: "unauthenticated", message: message, hint: "send the header Authorization: Bearer TOKEN"}
}

// conflict returns the error of a request that is too late, with what is there now.
func conflict(more *value.Dict, message, hint string) error {
	return &refusal{status: http.StatusConflict, kind: value.Conflict.String(), message: message, hint: hint, more: more}
}

// statuses are those of the kinds of errors; that of others is 422: what was asked for was tried.
var statuses = map[value.Kind]int{
	value.Invalid: http.StatusBadRequest, value.Denied: http.StatusForbidden, value.Security: http.StatusForbidden, value.Unanswered: http.StatusForbidden,
	value.NotFound: http.StatusNotFound, value.Conflict: http.StatusConflict, value.Limit: http.StatusRequestEntityTooLarge,
	value.Unavailable: http.StatusServiceUnavailable, value.Busy: http.StatusServiceUnavailable, value.Closed: http.StatusServiceUnavailable, value.Canceled: http.StatusServiceUnavailable,
	value.Timeout: http.StatusGatewayTimeout, value.Internal: http.StatusInternalServerError,
}

// refusalOf returns the answer to an error.
func (r *request) refusalOf(err error) *refusal {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &refusal{status: http.StatusRequestEntityTooLarge, kind: value.Limit.String(), message: "the request has more than " + strconv.FormatInt(e.Limit>>10, 10) + " KB"}
	}
	e := describe.ForUsers(value.ErrorOf(err, value.Internal))
	status := statuses[e.Kind]
	switch {
	case e.Kind == value.Limit && e.Limit == value.LimitRate:
		status = http.StatusTooManyRequests
	case e.Kind == value.Internal:
		r.s.opts.Logger.Error("a request failed", "pattern", r.route.pattern, "request", r.id, "kind", e.Kind.String())
		return &refusal{status: status, kind: e.Kind.String(), message: "the server failed; the request is " + r.id, hint: "find the request in the log of the server"}
	case isFull(e):
		e.Kind, status = value.Unavailable, http.StatusServiceUnavailable
	case status == 0:
		status = http.StatusUnprocessableEntity
	}
	if e.After > 0 {
		r.w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(e.After.Seconds()))))
	}
	return &refusal{status: status, kind: e.Kind.String(), message: e.Message(), hint: e.Hint}
}

// fail answers with an error, unless an answer has begun.
func (r *request) fail(err error) {
	e := r.refusalOf(err)
	if r.w.status != 0 {
		return
	}
	own, _ := errors.AsType[*pageProblem](err)
	if r.problem(e, own) {
		return
	}
	if e.status == http.StatusUnauthorized {
		r.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	body := value.NewDict("error", value.NewDict("kind", e.kind, "message", e.message, "hint", e.hint))
	for k, v := range e.more.All() {
		_ = body.Set(k, v) // the keys are strings
	}
	_ = r.reply(e.status, body) // it fails when the client has left
}

// reply answers with JSON; nil is no content.
func (r *request) reply(status int, body *value.Dict) error {
	if body == nil {
		r.w.WriteHeader(status)
		return nil
	}
	r.w.Header().Set("Content-Type", "application/json")
	r.w.WriteHeader(status)
	_, _ = io.WriteString(r.w, describe.JSON(body)+"\n") // it fails when the client has left
	return nil
}

// bodyTime is how long a client may take to send a body.
const bodyTime = 30 * time.Second

// fields reads the body of a request: an object with some of these fields, or a form with them. A request
// without a body has none.
func (r *request) fields(names ...string) (*value.Dict, error) {
	conn := http.NewResponseController(r.w)
	_ = conn.SetReadDeadline(time.Now().Add(bodyTime))
	defer conn.SetReadDeadline(time.Time{}) // afterwards it would end the request
	if r.isForm() {
		return r.formFields(names)
	}
	text, err := io.ReadAll(r.Body)
	if err != nil {
		if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, e
		}
		return nil, value.Errorf(value.Invalid, "read the body: %w", err)
	}
	if len(text) == 0 {
		return &value.Dict{}, nil
	}
	v, err := value.ParseJSON(text)
	if err != nil {
		return nil, value.Errorf(value.Invalid, "read the body: %w", err)
	}
	d, ok := v.(*value.Dict)
	if !ok {
		return nil, value.Errorf(value.Invalid, "the body should be a JSON object but is %s", value.TypeOf(v))
	}
	for k := range d.All() {
		if name, _ := k.(string); !slices.Contains(names, name) {
			return nil, value.Errorf(value.Invalid, "the body has the unknown field %q%s", value.Clean(name, 80), value.DidYouMean(name, names))
		}
	}
	return d, nil
}

// formFields reads a form. Its other fields are left out.
func (r *request) formFields(names []string) (*value.Dict, error) {
	if err := r.ParseMultipartForm(maxBody); err != nil && !errors.Is(err, http.ErrNotMultipart) {
		if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, e
		}
		return nil, value.Errorf(value.Invalid, "read the form: %w", err)
	}
	d := &value.Dict{}
	for _, name := range names {
		if v := r.PostForm.Get(name); v != "" {
			d.Put(name, v)
		}
	}
	return d, nil
}

// typed reads a field of a type, or returns its zero if it is missing or null.
func typed[T any](d *value.Dict, name string) (got T, err error) {
	v, _ := d.Get(name)
	if v == nil {
		return got, nil
	}
	got, ok := v.(T)
	if !ok {
		err = value.Errorf(value.Invalid, "the field %q should not be %s", name, value.TypeOf(v))
	}
	return got, err
}

// queryText writes a text for a query.
func queryText(text string) string { return url.QueryEscape(text) }
