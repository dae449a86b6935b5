package main

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"expvar"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
)

const (
	maxBody   = 1 << 20          // bytes
	writeTime = 20 * time.Second // for a client to take an event
)

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /tenants/{tenant}/tools", s.tenant(asJSON(tools)))
	mux.Handle("POST /tenants/{tenant}/tools/{tool}", s.tenant(asJSON(call)))
	mux.Handle("POST /tenants/{tenant}/sessions/{session}", s.tenant(asJSON(s.send)))
	mux.Handle("GET /tenants/{tenant}/runs/{run}", s.tenant(asJSON(show)))
	mux.Handle("GET /tenants/{tenant}/runs/{run}/events", s.tenant(events))
	mux.Handle("POST /tenants/{tenant}/runs/{run}/cancel", s.tenant(asJSON(cancel)))
	mux.Handle("GET /tenants/{tenant}/questions", s.tenant(asJSON(questions)))
	mux.Handle("POST /tenants/{tenant}/questions/{question}", s.tenant(asJSON(answer)))
	mux.HandleFunc("GET /metrics", s.showMetrics)
	return http.MaxBytesHandler(mux, maxBody)
}

func authorized(r *http.Request, token string) bool {
	got, want := r.Header.Get("Authorization"), "Bearer "+token
	return token != "" && subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

// tenant serves requests with the token of their tenant, with the tenant's host.
func (s *server) tenant(serve func(http.ResponseWriter, *http.Request, *cassidy.Host)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		tenant := r.PathValue("tenant")
		if !authorized(r, s.Tenants[tenant]) {
			http.Error(w, "unknown token", http.StatusUnauthorized)
			return
		}
		serve(w, r, s.hosts[tenant])
	}
}

// asJSON answers with the result of serve; nil is no content.
func asJSON(serve func(*http.Request, *cassidy.Host) (any, error)) func(http.ResponseWriter, *http.Request, *cassidy.Host) {
	return func(w http.ResponseWriter, r *http.Request, h *cassidy.Host) {
		switch body, err := serve(r, h); {
		case err != nil:
			fail(w, err)
		case body == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			reply(w, http.StatusOK, body)
		}
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // it fails when the client has left
}

// fail answers with an error. A waiting run is not a failure: it is accepted, and the
// answer has its questions.
func fail(w http.ResponseWriter, err error) {
	if parked, ok := errors.AsType[*cassidy.ParkedError](err); ok {
		reply(w, http.StatusAccepted, parked)
		return
	}
	body := map[string]string{"error": err.Error()}
	if e, ok := errors.AsType[*cassidy.Error](err); ok {
		body["hint"] = e.Hint
	}
	for _, s := range []struct {
		kind error
		code int
	}{
		{cassidy.ErrInvalid, http.StatusBadRequest},
		{cassidy.ErrDenied, http.StatusForbidden},
		{cassidy.ErrUnanswered, http.StatusForbidden},
		{cassidy.ErrNotFound, http.StatusNotFound},
		{cassidy.ErrConflict, http.StatusConflict},
		{cassidy.ErrFailed, http.StatusUnprocessableEntity}, // the tool ran, and could not do it
		{cassidy.ErrLimit, http.StatusUnprocessableEntity},
		{cassidy.ErrBusy, http.StatusTooManyRequests},
		{cassidy.ErrUnavailable, http.StatusBadGateway},
		{cassidy.ErrCanceled, http.StatusServiceUnavailable},
		{cassidy.ErrClosed, http.StatusServiceUnavailable},
		{cassidy.ErrTimeout, http.StatusGatewayTimeout},
	} {
		if errors.Is(err, s.kind) {
			reply(w, s.code, body)
			return
		}
	}
	reply(w, http.StatusInternalServerError, body)
}

// read decodes the body of a request, which may be empty.
func read(r *http.Request, into any) error {
	body, err := io.ReadAll(r.Body)
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, into)
	}
	if err != nil {
		return fmt.Errorf("read the body: %w: %w", cassidy.ErrInvalid, err)
	}
	return nil
}

func tools(_ *http.Request, h *cassidy.Host) (any, error) {
	list := []*cassidy.Dict{}
	for _, t := range h.Tools() {
		schema, err := t.ArgsSchema()
		if err != nil {
			return nil, err
		}
		list = append(list, cassidy.NewDict("name", t.Name, "description", t.Description, "parameters", schema, "state", string(t.State)))
	}
	return list, nil
}

// call makes a call, which ends when its client disconnects. With an Idempotency-Key it
// is recorded as the run with that ID, and continues: the same request gets its result,
// also after a restart.
func call(r *http.Request, h *cassidy.Host) (any, error) {
	c := cassidy.Call{Tool: r.PathValue("tool"), Args: &cassidy.Dict{}}
	if err := read(r, c.Args); err != nil {
		return nil, err
	}
	if id := r.Header.Get("Idempotency-Key"); id != "" {
		return h.Call(context.WithoutCancel(r.Context()), c, cassidy.Durable(id))
	}
	return h.Call(r.Context(), c)
}

// send has the model answer a message of a session. Each turn is a recorded run, and
// nothing of the session is in memory between two of them.
func (s *server) send(r *http.Request, h *cassidy.Host) (any, error) {
	var message struct{ Text string }
	if err := read(r, &message); err != nil {
		return nil, err
	}
	a, err := agent.New(h, &s.agents)
	if err != nil {
		return nil, err
	}
	session, err := a.Session(r.Context(), r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	return session.Send(context.WithoutCancel(r.Context()), message.Text)
}

func show(r *http.Request, h *cassidy.Host) (any, error) {
	run, err := h.Recorded(r.Context(), r.PathValue("run"))
	return run.Run, err
}

func cancel(r *http.Request, h *cassidy.Host) (any, error) {
	return nil, h.Cancel(r.Context(), r.PathValue("run"))
}

func questions(r *http.Request, h *cassidy.Host) (any, error) {
	list := []cassidy.Question{}
	for q, err := range h.Waiting(r.Context()) {
		if err != nil {
			return nil, err
		}
		list = append(list, q)
	}
	return list, nil
}

// answer records an answer. ResumeDue continues the run, for which the client does not wait.
func answer(r *http.Request, h *cassidy.Host) (any, error) {
	var a cassidy.Answer
	if err := read(r, &a); err != nil {
		return nil, err
	}
	return nil, h.Answer(r.Context(), r.PathValue("question"), a)
}

// events streams the events of a run as server-sent events, until the run has ended. A
// client that was disconnected continues after Last-Event-ID. Pieces of text and
// progress have no ID, and are not sent again. Status 204 stops a browser from asking
// again.
func events(w http.ResponseWriter, r *http.Request, h *cassidy.Host) {
	last, err := strconv.ParseUint(cmp.Or(r.Header.Get("Last-Event-ID"), "0"), 10, 64)
	if err != nil {
		fail(w, fmt.Errorf("read Last-Event-ID: %w: %w", cassidy.ErrInvalid, err))
		return
	}
	run, err := h.Recorded(r.Context(), r.PathValue("run"))
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	if !run.State.Ended() {
		_ = out.Flush() // the next event may be days away
	}
	sent := false
	for e, err := range h.Follow(r.Context(), run.ID, last) {
		if err != nil {
			return // the client asks again
		}
		text, err := json.Marshal(e)
		if err != nil {
			return
		}
		_ = out.SetWriteDeadline(time.Now().Add(writeTime))
		if e.Seq != 0 {
			fmt.Fprintf(w, "id: %d\n", e.Seq)
		}
		fmt.Fprintf(w, "data: %s\n\n", text)
		if out.Flush() != nil { // the client has left
			return
		}
		sent = true
	}
	if run.State.Ended() && !sent {
		w.WriteHeader(http.StatusNoContent)
	}
}

// showMetrics writes the numbers of all tenants in the text form of Prometheus.
func (s *server) showMetrics(w http.ResponseWriter, r *http.Request) {
	if !authorized(r, s.Operator) {
		http.Error(w, "unknown token", http.StatusUnauthorized)
		return
	}
	s.metrics.Do(func(number expvar.KeyValue) { fmt.Fprintln(w, number.Key, number.Value) })
}
