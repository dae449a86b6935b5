package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy"
)

// handler returns what the server answers. All but /metrics belongs to the tenant of
// the token: no address and no body names another.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/tools", s.as(tools))
	mux.HandleFunc("POST /v1/tools/{name}", s.as(call))
	mux.HandleFunc("GET /v1/runs/{id}", s.as(show))
	mux.HandleFunc("GET /v1/runs/{id}/events", s.as(events))
	mux.HandleFunc("POST /v1/runs/{id}/resume", s.as(resume))
	mux.HandleFunc("POST /v1/runs/{id}/cancel", s.as(cancel))
	mux.HandleFunc("GET /v1/questions", s.as(questions))
	mux.HandleFunc("POST /v1/questions/{id}", s.as(s.answer))
	mux.Handle("GET /metrics", &s.metrics)
	return mux
}

// A request is one of a tenant that is known, with its body.
type request struct {
	*http.Request
	w    http.ResponseWriter // for events; other answers are returned
	host *cassidy.Host
	body []byte
}

// A streamed is returned where the answer was sent already.
type streamed struct{}

// as returns a handler that finds the tenant of a request, and answers with what serve
// returns as JSON.
func (s *server) as(serve func(*request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tenant, known := s.tokens[sha256.Sum256([]byte(token(r)))]
		if !known {
			w.Header().Set("WWW-Authenticate", "Bearer")
			reply(w, http.StatusUnauthorized, problem{Error: "unknown token"})
			return
		}
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil {
			status := http.StatusBadRequest
			if _, large := errors.AsType[*http.MaxBytesError](err); large {
				status = http.StatusRequestEntityTooLarge
			}
			reply(w, status, problem{Error: err.Error()})
			return
		}
		out := http.NewResponseController(w)
		_ = out.SetReadDeadline(time.Time{}) // a call may take longer than its request
		var answer any
		h, err := s.host(tenant)
		if err == nil {
			answer, err = serve(&request{r, w, h, body})
		}
		_ = out.SetWriteDeadline(time.Now().Add(writeTime))
		if err != nil {
			status, body := failure(err)
			reply(w, status, body)
			return
		}
		switch answer.(type) {
		case nil:
			w.WriteHeader(http.StatusNoContent)
		case streamed:
		default:
			reply(w, http.StatusOK, answer)
		}
	}
}

// token returns the token of a request, or "", which is nobody's.
func token(r *http.Request) string {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return ""
	}
	return token
}

// A problem is the answer to what failed.
type problem struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}

// statuses are those of the kinds of errors.
var statuses = []struct {
	kind   error
	status int
}{
	{cassidy.ErrInvalid, http.StatusBadRequest},
	{cassidy.ErrDenied, http.StatusForbidden},
	{cassidy.ErrUnanswered, http.StatusForbidden},
	{cassidy.ErrNotFound, http.StatusNotFound},
	{cassidy.ErrConflict, http.StatusConflict},
	{cassidy.ErrFailed, http.StatusUnprocessableEntity}, // the tool ran, and could not do it
	{cassidy.ErrLimit, http.StatusUnprocessableEntity},
	{cassidy.ErrBusy, http.StatusTooManyRequests},
	{cassidy.ErrClosed, http.StatusServiceUnavailable},
	{cassidy.ErrCanceled, http.StatusServiceUnavailable},
	{cassidy.ErrUnavailable, http.StatusBadGateway},
	{cassidy.ErrTimeout, http.StatusGatewayTimeout},
}

// failure is the answer to an error. A call that is parked is accepted, and has no
// result yet.
func failure(err error) (status int, body any) {
	if parked, ok := errors.AsType[*cassidy.ParkedError](err); ok {
		return http.StatusAccepted, parked
	}
	answer := problem{Error: err.Error()}
	if e, ok := errors.AsType[*cassidy.Error](err); ok {
		answer.Hint = e.Hint
	}
	for _, s := range statuses {
		if errors.Is(err, s.kind) {
			return s.status, answer
		}
	}
	return http.StatusInternalServerError, answer
}

func reply(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"the answer has no JSON form"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n'))
}

// read decodes the body, which may be empty.
func (r *request) read(into any) error {
	if len(r.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		return fmt.Errorf("read the body: %w: %w", cassidy.ErrInvalid, err)
	}
	return nil
}

func tools(r *request) (any, error) {
	list := []any{}
	for _, t := range r.host.Tools() {
		schema, err := t.ArgsSchema()
		if err != nil {
			return nil, err
		}
		list = append(list, cassidy.NewDict("name", t.Name, "description", t.Description, "parameters", schema, "state", string(t.State), "reason", t.Reason))
	}
	return list, nil
}

// call makes a call. With an Idempotency-Key it is recorded as the run of that ID: the
// same request continues it or has its result, also after a restart. A recorded call
// continues when its client leaves; any other ends.
func call(r *request) (any, error) {
	c := cassidy.Call{Tool: r.PathValue("name"), Args: &cassidy.Dict{}}
	if err := r.read(c.Args); err != nil {
		return nil, err
	}
	if id := r.Header.Get("Idempotency-Key"); id != "" {
		return r.host.Call(context.WithoutCancel(r.Context()), c, cassidy.Durable(id))
	}
	return r.host.Call(r.Context(), c)
}

func show(r *request) (any, error) {
	run, err := r.host.Recorded(r.Context(), r.PathValue("id"))
	return run.Run, err
}

func resume(r *request) (any, error) {
	return r.host.Resume(context.WithoutCancel(r.Context()), r.PathValue("id"))
}

func cancel(r *request) (any, error) { return nil, r.host.Cancel(r.Context(), r.PathValue("id")) }

func questions(r *request) (any, error) {
	list := []cassidy.Question{}
	for q, err := range r.host.Waiting(r.Context()) {
		if err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	return list, nil
}

// answer records an answer and continues the run, for which the client does not wait.
func (s *server) answer(r *request) (any, error) {
	var a cassidy.Answer
	if err := r.read(&a); err != nil {
		return nil, err
	}
	if err := r.host.Answer(r.Context(), r.PathValue("id"), a); err != nil {
		return nil, err
	}
	return nil, s.resumeDue(r.Context(), r.host)
}

// events streams the events of a run as server-sent events: those after Last-Event-ID,
// the recorded ones and then the live ones, until the run has ended. Pieces of text and
// progress have no ID, and are not sent again. Where the run has ended and nothing is
// left the answer is 204, after which a browser does not reconnect.
func events(r *request) (any, error) {
	var last uint64
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		var err error
		if last, err = strconv.ParseUint(id, 10, 64); err != nil {
			return nil, fmt.Errorf("read Last-Event-ID: %w: %w", cassidy.ErrInvalid, err)
		}
	}
	run, err := r.host.Recorded(r.Context(), r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	out := http.NewResponseController(r.w)
	r.w.Header().Set("Content-Type", "text/event-stream")
	r.w.Header().Set("Cache-Control", "no-store")
	var sent any
	if !run.State.Ended() {
		sent = streamed{}
		_ = out.Flush() // the next event may be days away
	}
	for e, err := range r.host.Follow(r.Context(), run.ID, last) {
		if err != nil {
			return streamed{}, nil // the client asks again, with the ID of its last event
		}
		text, err := json.Marshal(e)
		if err != nil {
			return streamed{}, nil
		}
		id := ""
		if e.Seq != 0 {
			id = fmt.Sprintf("id: %d\n", e.Seq)
		}
		_ = out.SetWriteDeadline(time.Now().Add(writeTime))
		_, _ = fmt.Fprintf(r.w, "%sdata: %s\n\n", id, text)
		if err := out.Flush(); err != nil { // the client has left
			return streamed{}, nil
		}
		sent = streamed{}
	}
	return sent, nil
}
