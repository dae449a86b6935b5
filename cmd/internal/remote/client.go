// Package remote lets the command talk to a server: it is a client of the API of cassidy serve.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/keyring"
	"github.com/cassidy-run/cassidy/internal/describe"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	maxAnswer  = 256 << 20        // bytes of an answer of the server
	maxNodes   = 32 << 20         // values in it
	answerTime = 90 * time.Second // until an answer begins; a call may take a minute
	tokenTime  = time.Minute      // for a keyring that asks its user
)

// A Client sends requests to a server.
type Client struct {
	*app.App
	base    *url.URL
	token   string
	project string // the value of --project
	http    *http.Client
}

// open returns a client of the server of the command line.
func open(ctx context.Context, a *app.App, project string) (*Client, error) {
	base, err := parseURL(a.Server)
	if err != nil {
		return nil, err
	}
	token, err := tokenOf(ctx, a, base)
	if err != nil {
		return nil, err
	}
	if ip, _ := netip.ParseAddr(base.Hostname()); base.Scheme == "http" && base.Hostname() != "localhost" && !ip.IsLoopback() {
		a.Warn("the connection to %s is not encrypted: others can read the token", base.Host)
	}
	transport := &http.Transport{}
	if usual, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = usual.Clone() // with its time for connecting
	}
	transport.Proxy, transport.ResponseHeaderTimeout = nil, answerTime
	refuse := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the token is for this server
	return &Client{App: a, base: base, token: token, project: project, http: &http.Client{Transport: transport, CheckRedirect: refuse}}, nil
}

// parseURL reads the address of a server.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(text, "/"))
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, value.Errorf(value.Invalid, "the server %q is not an address", value.Clean(text, 120)).WithHint("cassidy serve prints the address of a server, such as http://127.0.0.1:7457")
	}
	return u, nil
}

const tokenVariable = "CASSIDY_TOKEN"

// tokenOf returns the token for a server.
func tokenOf(ctx context.Context, a *app.App, base *url.URL) (string, error) {
	hint := "export " + tokenVariable + "=…"
	if a.Keyring != nil {
		hint += ", or keep it in the keyring: cassidy secret set " + base.String()
	}
	if token, set := a.Env(tokenVariable); set && token != "" {
		if strings.Trim(token, "!#$%&'*+-./=^_`|~:0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
			return "", value.Errorf(value.Invalid, "%s is not a token: it has a character that no token has", tokenVariable).WithHint("%s", hint)
		}
		return token, nil
	}
	if a.Keyring != nil {
		ctx, cancel := context.WithTimeout(ctx, tokenTime)
		defer cancel()
		token, err := keyring.Within(ctx, func() (string, error) { return a.Keyring.Get(base.String()) })
		if err == nil {
			return token, nil
		}
		if value.KindOf(err) != value.NotFound {
			return "", value.Errorf(value.Unavailable, "read the token from the keyring: %w", err).WithHint("export %s=…", tokenVariable)
		}
	}
	return "", value.Errorf(value.Denied, "there is no token for the server %s", base).WithHint("%s", hint)
}

// request sends a request. The caller closes the body of the answer.
func (c *Client) request(ctx context.Context, method, path string, body []byte, headers ...string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base.String()+path, bytes.NewReader(body))
	if err != nil {
		return nil, value.Errorf(value.Internal, "%w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("User-Agent", "cassidy/"+app.Version())
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.gone(ctx, err)
	}
	return answer, nil
}

// gone returns the error of a server that does not answer.
func (c *Client) gone(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return value.AsError(context.Cause(ctx), value.Canceled)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	return value.Errorf(value.Unavailable, "the server %s does not answer: %w", c.base, err).WithHint("check that it runs, and its address: --server URL")
}

// text sends a request, and returns the body of the answer. key is the Idempotency-Key, or "".
func (c *Client) text(ctx context.Context, method, path string, body *value.Dict, key string) ([]byte, error) {
	var sent []byte
	if body != nil {
		var err error
		if sent, err = value.AppendJSON(nil, body); err != nil {
			return nil, err
		}
	}
	answer, err := c.request(ctx, method, path, sent, "Idempotency-Key", key)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }() // it has been read
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.gone(ctx, err)
	case len(text) > maxAnswer:
		return nil, value.Errorf(value.Limit, "the answer of the server %s has more than %d MB", c.base, maxAnswer>>20)
	case answer.StatusCode < 200 || answer.StatusCode > 299:
		return nil, c.refusal(answer, text)
	}
	return text, nil
}

// do is text for an answer that is an object.
func (c *Client) do(ctx context.Context, method, path string, body *value.Dict, key string) (*value.Dict, error) {
	text, err := c.text(ctx, method, path, body, key)
	if err != nil {
		return nil, err
	}
	return c.parse(text)
}

// parse reads an answer that is an object.
func (c *Client) parse(text []byte) (*value.Dict, error) {
	v, err := value.ParseJSONWithin(text, value.MaxDepth, maxNodes)
	d, ok := v.(*value.Dict)
	if err != nil || !ok {
		return nil, value.Errorf(value.Unavailable, "the server %s does not answer as cassidy serve does", c.base).WithHint("check the address: --server URL")
	}
	return d, nil
}

// Get gets an object.
func (c *Client) Get(ctx context.Context, path string, query map[string]string) (*value.Dict, error) {
	values := url.Values{}
	for name, text := range query {
		values.Set(name, text)
	}
	if len(values) > 0 {
		path += "?" + values.Encode()
	}
	return c.do(ctx, http.MethodGet, path, nil, "")
}

// Post sends an object.
func (c *Client) Post(ctx context.Context, path string, body *value.Dict, key string) (*value.Dict, error) {
	return c.do(ctx, http.MethodPost, path, body.OrEmpty(), key)
}

// refusal returns the error of an answer. A hint that is for those who use the API is left out.
func (c *Client) refusal(answer *http.Response, text []byte) error {
	status := answer.StatusCode
	if status < 400 {
		return value.Errorf(value.Unavailable, "the server %s redirects to another address, which is not followed", c.base).WithHint("use that address: --server URL")
	}
	d := &value.Dict{}
	if v, err := value.ParseJSON(text); err == nil {
		if body, ok := v.(*value.Dict); ok {
			d = body.Dict("error")
		}
	}
	message := cmp.Or(d.Text("message"), "the server answered with the status "+strconv.Itoa(status))
	kind, known := value.KindNamed(d.Text("kind"))
	switch {
	case status == http.StatusUnauthorized:
		return value.Errorf(value.Denied, "the server %s does not accept the token", c.base).WithHint("export %s=…, with the token that cassidy serve user add has printed", tokenVariable)
	case !known: // it is not of cassidy serve
		kind = value.Unavailable
	}
	e := value.Errorf(kind, "%s", message)
	if status == http.StatusTooManyRequests {
		e = e.WithLimit(value.LimitRate)
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After")) // else soon
		e.After = time.Duration(min(max(seconds, 0), 60)) * time.Second
	}
	if hint := d.Text("hint"); !strings.Contains(hint, "/v1/") && !strings.Contains(hint, "Idempotency-Key") {
		e = e.WithHint("%s", hint)
	}
	return e
}

// Path returns a path of the API, whose words are escaped.
func Path(words ...string) string {
	path := "/v1"
	for _, word := range words {
		path += "/" + url.PathEscape(word)
	}
	return path
}

// inProject returns a query for the project of --project.
func (c *Client) inProject() map[string]string {
	if c.project == "" {
		return nil
	}
	return map[string]string{"project": c.project}
}

// record reads a run with its steps.
func (c *Client) record(ctx context.Context, id string) (*describe.Record, error) {
	d, err := c.Get(ctx, Path("runs", id), nil)
	if err != nil {
		return nil, err
	}
	return describe.ReadRecord(d), nil
}
