// Package oauth signs in at MCP servers over HTTP.
//
// A [Handler] follows the authorization of the protocol, which is OAuth 2.1 with PKCE: it finds
// the authorization server of a server, registers there, and has a person sign in. It stores the
// tokens in a file of the person, and refreshes them. The servers are not trusted: see
// [Handler.Client] for what they can make it reach.
//
// The specification is modelcontextprotocol.io/specification/2026-07-28/basic/authorization.
package oauth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/web"
)

// Options are what a Handler signs in with.
type Options struct {
	// Name is that of the server, for errors.
	Name string
	// Server is the URL of the server. Tokens are stored for this URL, and sent to nothing else.
	Server string
	// Dir is the folder of the tokens, in the user's state folder. It is created if necessary.
	Dir string
	// Show shows a person the address where they sign in, and returns without waiting for it. Nil
	// means that nobody can sign in now: then [Handler.Authorize] fails with what to type.
	Show func(ctx context.Context, address string) error
	// Port is the port of this machine to which the authorization server redirects the browser; 0
	// is any free one. A client that is registered for one address needs it.
	Port int
	// ClientID and ClientSecret are those of a client that was registered before. "" registers a new
	// one at the sign-in.
	ClientID, ClientSecret string
	// ClientMetadata is the URL of a client ID metadata document, which is used where authorization
	// servers support it. "" is none.
	ClientMetadata string
	// Patience is how long a person may take to sign in; 0 means five minutes.
	Patience time.Duration
	// Now replaces the clock. Nil means time.Now.
	Now func() time.Time
}

const defaultPatience = 5 * time.Minute

// A Handler has the tokens of one server. It is safe for concurrent use, also by several processes.
type Handler struct {
	opts   Options
	server *url.URL
	store  *store
	client *http.Client
}

// New returns the handler of a server. It fails with kind Invalid for a URL that cannot be
// used: it must begin with https:, unless its host is this machine.
func New(o Options) (*Handler, error) {
	u, err := url.Parse(o.Server)
	if err != nil || !web.AllowedServer(u) {
		return nil, value.Errorf(value.Invalid, "the URL of the server %s should begin with https: (http: is allowed only for this machine)", o.Name)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	h := &Handler{opts: o, server: u, store: newStore(o.Dir, o.Server)}
	h.client = guardedClient(u)
	return h, nil
}

// TokenSource returns what the requests to the server are signed with, or nil if nobody has signed
// in. It is part of [auth.OAuthHandler].
func (h *Handler) TokenSource(context.Context) (oauth2.TokenSource, error) {
	r, err := h.store.read()
	if err != nil || r.Token == "" {
		return nil, err
	}
	return &source{h}, nil
}

// Authorize is called with a response that asks for a sign-in or for more rights. It refreshes the
// token if the server no longer accepts it, and otherwise has a person sign in. Without
// Options.Show it fails with kind Denied, and remembers the rights for the next sign-in. It is part
// of [auth.OAuthHandler].
func (h *Handler) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	defer resp.Body.Close()
	if !web.SameOrigin(req.URL, h.server) {
		return value.Errorf(value.Denied, "the server %s redirects to %s: the token is not sent to another host", h.opts.Name, req.URL.Host)
	}
	challenges, err := oauthex.ParseWWWAuthenticate(resp.Header.Values("WWW-Authenticate"))
	if err != nil {
		return value.Errorf(value.Unavailable, "the sign-in at %s failed: the header WWW-Authenticate of the response is invalid", h.opts.Name)
	}
	missing := scopesOf(challenges)
	if resp.StatusCode == http.StatusForbidden {
		if !asksForScopes(challenges) {
			return nil // the transport reports the response
		}
	} else if used := bearerOf(req); used != "" {
		if h.refreshed(ctx, used) == nil {
			return nil
		}
	}
	if err := h.store.change(func(r *record) error {
		r.Wanted = union(r.Wanted, missing)
		return nil
	}); err != nil {
		return err
	}
	if h.opts.Show == nil {
		return h.signIn(resp.StatusCode == http.StatusForbidden, missing)
	}
	return h.authorize(ctx, req, resp)
}

// signIn returns the error of a call that needs a person.
func (h *Handler) signIn(more bool, scopes []string) error {
	what := "you have to sign in"
	if more {
		what = "more rights are needed (" + value.Clean(strings.Join(scopes, " "), 200) + ")"
	}
	return value.Errorf(value.Denied, "the server %s refuses the request: %s", h.opts.Name, what).
		WithHint("run: cassidy mcp login %s", h.opts.Name)
}

// maxBody is the limit of a response that nobody reads, in bytes.
const maxBody = 1 << 20

// Login has a person sign in, also if there is a token. It fails with kind Invalid if the server
// needs no sign-in, Denied if the person declines or the authorization server is not acceptable,
// Timeout, or Unavailable.
func (h *Handler) Login(ctx context.Context) error {
	if h.opts.Show == nil {
		return h.signIn(false, nil)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"cassidy","version":"1"}}}`
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.opts.Server, bytes.NewReader([]byte(hello)))
	if err != nil {
		return value.Errorf(value.Invalid, "the sign-in at %s failed: the URL is not valid", h.opts.Name)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := h.client.Do(req)
	if err != nil {
		return h.failure(ctx, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return h.authorize(ctx, req, resp)
	case http.StatusOK, http.StatusAccepted:
		return value.Errorf(value.Invalid, "the server %s needs no sign-in", h.opts.Name)
	}
	return value.Errorf(value.Unavailable, "the sign-in at %s failed: expected HTTP status 401 but got %d", h.opts.Name, resp.StatusCode)
}

// Logout deletes the tokens of a server. had is false if there were none. It does not need a valid
// URL, and reaches no server.
func Logout(dir, server string) (had bool, err error) { return newStore(dir, server).remove() }

// SignedIn reports whether there is a token of a server, which may have expired. A record that cannot
// be read has none.
func SignedIn(dir, server string) bool {
	r, err := newStore(dir, server).read()
	return err == nil && r.Token != ""
}

// authorize has a person sign in.
func (h *Handler) authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	ctx, cancel := context.WithTimeoutCause(ctx, h.opts.Patience,
		value.Errorf(value.Timeout, "the sign-in at %s failed: nobody has signed in within %v", h.opts.Name, h.opts.Patience).WithLimit(value.LimitWall))
	defer cancel()
	back, err := listen(h.opts.Port)
	if err != nil {
		return err
	}
	defer back.close()
	before, err := h.store.read()
	if err != nil {
		return err
	}
	flow, err := auth.NewAuthorizationCodeHandler(h.config(back, before))
	if err != nil {
		return value.Errorf(value.Invalid, "the sign-in at %s failed: %w", h.opts.Name, err)
	}
	resp.Body = io.NopCloser(io.LimitReader(resp.Body, maxBody))
	clean := req.Clone(ctx)
	clean.URL = h.server // the resource is what the user has named
	if err := flow.Authorize(ctx, clean, resp); err != nil {
		return h.failure(ctx, err)
	}
	if r, err := h.store.read(); err != nil || r.Token == "" {
		return errors.Join(value.Errorf(value.Denied, "the sign-in at %s failed: the authorization server returned no token", h.opts.Name), err)
	}
	return nil
}

// config returns the configuration of one sign-in.
func (h *Handler) config(back *callback, before *record) *auth.AuthorizationCodeHandlerConfig {
	c := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:         back.url,
		RequestRefreshToken: true,
		Client:              h.client,
		ScopeFilter:         func(found []string) []string { return union(found, before.Wanted) },
		NewTokenSource:      h.keep,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "cassidy", RedirectURIs: []string{back.url}, ResponseTypes: []string{"code"},
			GrantTypes: []string{"authorization_code", "refresh_token"},
		}},
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return h.fetch(ctx, back, args.URL)
		},
	}
	if h.opts.ClientMetadata != "" {
		c.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: h.opts.ClientMetadata}
	}
	if h.opts.ClientID != "" {
		c.PreregisteredClient = &oauthex.ClientCredentials{ClientID: h.opts.ClientID}
		if h.opts.ClientSecret != "" {
			c.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: h.opts.ClientSecret}
		}
		c.DynamicClientRegistrationConfig = nil
	}
	return c
}

// fetch shows the address where a person signs in, and waits for the browser to come back.
func (h *Handler) fetch(ctx context.Context, back *callback, address string) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || !web.AllowedScheme(h.server, u) {
		return nil, value.Errorf(value.Denied, "the sign-in at %s failed: the address of its authorization server is invalid or does not use HTTPS", h.opts.Name)
	}
	back.expect(u.Query().Get("state"))
	if err := h.opts.Show(ctx, address); err != nil {
		return nil, err
	}
	r, err := back.wait(ctx)
	if t, ok := h.client.Transport.(*transport); ok && err == nil {
		r.Iss = t.issued(r.Iss)
	}
	return r, err
}

// keep stores a new token. It is called with the token of a sign-in.
func (h *Handler) keep(_ context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
	if !strings.EqualFold(t.Type(), "bearer") {
		return nil, value.Errorf(value.Denied, "the sign-in at %s failed: the token is not a bearer token", h.opts.Name)
	}
	err := h.store.change(func(r *record) error {
		*r = record{
			Server: h.opts.Server, TokenURL: c.Endpoint.TokenURL, ClientID: c.ClientID, ClientSecret: c.ClientSecret,
			SecretInHeader: c.Endpoint.AuthStyle != oauth2.AuthStyleInParams, Wanted: c.Scopes,
		}
		r.take(t)
		return nil
	})
	return &source{h}, err
}

// failure returns an error without what an untrusted server may have put into it, or what is
// secret.
func (h *Handler) failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return value.AsError(cause, value.Canceled)
	}
	var own *value.Error
	if errors.As(err, &own) {
		return own
	}
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) && refused.Response != nil {
		return value.Errorf(value.Denied, "the sign-in at %s failed: the authorization server refused to issue a token: %s", h.opts.Name, value.Clean(cmp.Or(refused.ErrorCode, refused.Response.Status), 80))
	}
	// The SDK appends the answer to a registration, which may have a secret, in parentheses.
	text, _, _ := strings.Cut(err.Error(), " ({")
	return value.Errorf(value.Unavailable, "the sign-in at %s failed: %s", h.opts.Name, value.Clean(text, 300))
}

// scopesOf returns the rights that a response asks for.
func scopesOf(challenges []oauthex.Challenge) (scopes []string) {
	for _, c := range challenges {
		if c.Scheme == "bearer" {
			scopes = append(scopes, strings.Fields(c.Params["scope"])...)
		}
	}
	return scopes[:min(len(scopes), maxScopes)]
}

// maxScopes is how many rights a server may ask for.
const maxScopes = 100

func asksForScopes(challenges []oauthex.Challenge) bool {
	return slices.ContainsFunc(challenges, func(c oauthex.Challenge) bool {
		return c.Scheme == "bearer" && c.Params["error"] == "insufficient_scope"
	})
}

// union returns the texts of two lists, each once, in their order.
func union(a, b []string) (all []string) {
	for _, text := range slices.Concat(a, b) {
		if !slices.Contains(all, text) && len(all) < maxScopes {
			all = append(all, text)
		}
	}
	return all
}

// bearerOf returns the token of a request, or "".
func bearerOf(req *http.Request) string {
	token, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	return token
}
