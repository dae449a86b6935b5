package oauth

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A source returns the stored token, and refreshes it. Another process may have done that before,
// or deleted it.
type source struct{ h *Handler }

const (
	// early is how long before its end a token is refreshed: a request takes some time.
	early = 30 * time.Second
	// refreshTimeout bounds a refresh, during which other processes wait.
	refreshTimeout = 30 * time.Second
)

// Token returns a token that is valid. It fails with kind Denied if the user has to sign in again.
func (s *source) Token() (*oauth2.Token, error) {
	r, err := s.h.store.read()
	if err != nil {
		return nil, err
	}
	if r.Token == "" {
		return nil, s.h.signIn(false, nil)
	}
	if s.h.expired(r) && (r.Refresh != "" || s.h.opts.Now().After(r.Expiry)) {
		ctx, cancel := context.WithTimeout(context.Background(), refreshTimeout)
		defer cancel()
		if err := s.h.refreshed(ctx, r.Token); err != nil {
			return nil, err
		}
		if r, err = s.h.store.read(); err != nil {
			return nil, err
		}
	}
	return &oauth2.Token{AccessToken: r.Token, TokenType: "Bearer", Expiry: r.Expiry}, nil
}

func (h *Handler) expired(r *record) bool {
	return !r.Expiry.IsZero() && h.opts.Now().Add(early).After(r.Expiry)
}

// refreshed replaces a token that is no longer valid. If another process has replaced it, nothing
// is done.
func (h *Handler) refreshed(ctx context.Context, used string) error {
	return h.store.change(func(r *record) error {
		if r.Token != used && r.Token != "" && !h.expired(r) {
			return nil
		}
		if r.Refresh == "" {
			return h.signIn(false, nil)
		}
		t, err := h.refresh(ctx, r)
		if err == nil {
			r.take(t)
		}
		return err
	})
}

// refresh asks the authorization server for a new token, by section 6 of RFC 6749 and with the
// resource of RFC 8707.
func (h *Handler) refresh(ctx context.Context, r *record) (*oauth2.Token, error) {
	form := url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.Refresh}, "resource": {r.Server}}
	header := r.SecretInHeader && r.ClientSecret != ""
	if !header {
		form.Set("client_id", r.ClientID)
		if r.ClientSecret != "" {
			form.Set("client_secret", r.ClientSecret)
		}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.TokenURL, strings.NewReader(form.Encode()))
	if err != nil {
		return nil, h.signIn(false, nil)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	if header {
		req.SetBasicAuth(url.QueryEscape(r.ClientID), url.QueryEscape(r.ClientSecret))
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return nil, h.failure(ctx, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	switch {
	case err != nil:
		return nil, h.failure(ctx, err)
	case resp.StatusCode >= 500:
		return nil, value.Errorf(value.Unavailable, "refresh the sign-in at %s: HTTP status %d", h.opts.Name, resp.StatusCode)
	case resp.StatusCode != http.StatusOK:
		return nil, h.signIn(false, nil) // the refresh token is no longer valid
	}
	return h.token(body)
}

// maxLifetime is the longest lifetime of a token that is believed, in seconds.
const maxLifetime = 10 * 365 * 24 * 3600

// token reads the answer to a refresh.
func (h *Handler) token(body []byte) (*oauth2.Token, error) {
	invalid := value.Errorf(value.Unavailable, "refresh the sign-in at %s: the answer of the authorization server is invalid", h.opts.Name)
	v, err := value.ReadJSON(body, 8, 1000)
	if err != nil {
		return nil, invalid
	}
	d, _ := v.(*value.Dict)
	t := &oauth2.Token{AccessToken: d.Text("access_token"), RefreshToken: d.Text("refresh_token"), TokenType: d.Text("token_type")}
	if t.AccessToken == "" || !strings.EqualFold(t.Type(), "bearer") {
		return nil, invalid
	}
	if seconds := d.Int("expires_in"); seconds > 0 {
		t.Expiry = h.opts.Now().Add(time.Duration(min(seconds, maxLifetime)) * time.Second)
	}
	return t, nil
}
