package main

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/serve"
)

// user returns who makes a request, and the tenant, or nil for nobody. Another program would look into its sessions
// here.
func (s *server) user(r *http.Request) (*serve.User, *tenant) {
	name, password, _ := r.BasicAuth()
	a := s.Users[name]
	if a.Password == "" || subtle.ConstantTimeCompare([]byte(a.Password), []byte(password)) != 1 {
		return nil, nil
	}
	role, _ := serve.RoleNamed(a.Role) // newServer has checked it
	return &serve.User{Name: name, Role: role}, s.tenants[a.Tenant]
}

// handler serves what the server of a tenant has to its users, and a route of its own.
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /sessions/{session}", s.signedIn(s.send))
	mux.HandleFunc("/", s.signedIn(func(w http.ResponseWriter, r *http.Request, _ *serve.User, t *tenant) { t.Handler().ServeHTTP(w, r) }))
	return http.NewCrossOriginProtection().Handler(mux) // browsers send passwords with requests of other sites, too
}

// signedIn asks for a name and a password.
func (s *server) signedIn(serve func(http.ResponseWriter, *http.Request, *serve.User, *tenant)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		user, tenant := s.user(r)
		if user == nil {
			w.Header().Set("WWW-Authenticate", `Basic realm="tools"`)
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		serve(w, r, user, tenant)
	}
}

// send has the model answer a message of a session. Each turn is a recorded run, and
// nothing of the session is in memory between two of them.
func (s *server) send(w http.ResponseWriter, r *http.Request, user *serve.User, t *tenant) {
	if user.Role < serve.Run {
		http.Error(w, "this needs the role run", http.StatusForbidden)
		return
	}
	var message struct{ Text string }
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&message); err != nil {
		http.Error(w, "read the body: "+err.Error(), http.StatusBadRequest)
		return
	}
	ctx := host.StartedBy(context.WithoutCancel(r.Context()), user.Name) // the turn continues when the client leaves
	reply, err := s.turn(ctx, t.host, r.PathValue("session"), message.Text)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, http.StatusOK, reply)
}

func (s *server) turn(ctx context.Context, h *cassidy.Host, id, text string) (agent.Reply, error) {
	a, err := agent.New(h, &s.agents)
	if err != nil {
		return agent.Reply{}, err
	}
	session, err := a.Session(ctx, id)
	if err != nil {
		return agent.Reply{}, err
	}
	return session.Send(ctx, text)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // it fails when the client has left
}

// fail answers with an error. A turn that waits is not a failure: it is accepted, and the answer has its questions.
func fail(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	for _, s := range []struct {
		kind error
		code int
	}{
		{cassidy.ErrInvalid, http.StatusBadRequest},
		{cassidy.ErrConflict, http.StatusConflict},
		{cassidy.ErrUnavailable, http.StatusBadGateway},
		{cassidy.ErrClosed, http.StatusServiceUnavailable},
	} {
		if errors.Is(err, s.kind) {
			status = s.code
		}
	}
	if parked, ok := errors.AsType[*cassidy.ParkedError](err); ok {
		answer(w, http.StatusAccepted, parked)
		return
	}
	http.Error(w, err.Error(), status)
}
