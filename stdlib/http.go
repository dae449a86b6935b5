package stdlib

import (
	"context"
	"errors"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/encoding"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

const httpModuleDoc = "Requests to servers of the public internet, over HTTP. A tool declares http.METHOD:HOST for each host and method, " +
	"or http:HOST for every method; redirects are held to the same. Addresses of this machine, of private networks and of clouds' " +
	"inner services cannot be reached, whatever name leads there, unless the user's config names them. One call may make 20 requests, " +
	"each of at most 3 redirects and 8 MB. Nothing is kept from one request to the next: no cookies, no connections. In a run that is recorded, " +
	"what may change something is sent with the header Idempotency-Key, unless the script sets it: the same for each try, so that a server " +
	"that knows it does the thing once.\n\n" +
	"An answer of any status is a result; that there is none is an error. An answer is a dict: `status` is an integer, and `ok` whether " +
	"it is less than 400; `url` is what answered in the end; `headers` go by lower-case name; `text` is the body as a text, or None where " +
	"it is not text, and only then `bytes` is the body as bytes, else None; `json` is the value of a body that is JSON of at most 2 MB, else None."

func (w *World) httpModule() tool.Module {
	m := tool.Module{Name: "http", Doc: httpModuleDoc}
	for _, f := range []struct {
		name, doc string
		kind      tool.EffectKind
	}{
		{"get", "Fetch what is at a URL. Needs http.get for its host.", tool.Repeatable},
		{"head", "Ask for the status and the headers of what is at a URL, without fetching it. Needs http.head for its host.", tool.Repeatable},
		{"post", "Send something to a URL. Needs http.post for its host.", tool.External},
		{"put", "Put something at a URL, in place of what is there. Needs http.put for its host.", tool.External},
		{"patch", "Change a part of what is at a URL. Needs http.patch for its host.", tool.External},
		{"delete", "Delete what is at a URL. Needs http.delete for its host.", tool.External},
	} {
		m.Funcs = append(m.Funcs, w.httpFunc(strings.ToUpper(f.name), tool.Func{
			Name: f.name, Doc: f.doc, Kind: f.kind, Params: httpParams(f.kind == tool.External),
		}))
	}
	method := tool.Required("method", tool.TypeString, "GET, HEAD, POST, PUT, PATCH or DELETE")
	return tool.Module{Name: m.Name, Doc: m.Doc, Funcs: append(m.Funcs, w.httpFunc("", tool.Func{
		Name: "request", Doc: "Make a request with a method that is computed. Needs http.METHOD for the URL's host.", Kind: tool.External,
		Params: append([]tool.Param{method}, httpParams(true)...),
	}))}
}

func httpParams(withBody bool) []tool.Param {
	maybe := func(p tool.Param) tool.Param {
		p.Type.Nullable = true
		return p
	}
	params := []tool.Param{
		tool.Required("url", tool.TypeString, "the URL, with http: or https:"),
		// No dict comes second: in Lua, a table there names the other arguments.
		tool.Optional("timeout", tool.TypeNumber, int64(10), "how many seconds all of it may take, redirects and the answer's body included; at most 60"),
		tool.Optional("headers", tool.TypeObject, &value.Dict{}, `headers by name, as in {"Accept": "application/json"}; a value may hold what secret gives`),
		tool.Optional("params", tool.TypeObject, &value.Dict{}, "what to add to the query of the URL, by name; lists repeat the name; a value may be what secret gives"),
	}
	if withBody {
		params = append(params,
			tool.Optional("json", tool.TypeAny, nil, "a value to send as JSON"),
			tool.Optional("form", tool.TypeObject, &value.Dict{}, "fields to send as a form does, by name"),
			tool.Optional("body", tool.TypeAny, nil, "a text or bytes to send as they are"))
	}
	auth := maybe(tool.Optional("auth", tool.TypeArray, nil, "user and password for basic authentication; either may hold what secret gives"))
	auth.Type.Items = &tool.Type{Name: tool.TypeString}
	return append(params, auth,
		tool.Optional("allow_redirects", tool.TypeBoolean, true, "whether to follow redirects; else the answer is the redirect, with where it leads in headers[\"location\"]"))
}

// httpReturns is what every function gives; the module's doc says more.
const httpReturns = `an answer: {"status", "ok", "url", "headers", "text", "bytes", "json"}`

// httpFunc completes a row. Without a method, the arguments say it.
func (w *World) httpFunc(method string, f tool.Func) tool.Func {
	f.Returns = httpReturns
	f.Target = func(args *value.Dict) ([]tool.Capability, error) {
		m, err := httpMethod(method, args)
		if err != nil {
			return nil, err
		}
		u, err := httpParse(args.Text("url"))
		if err != nil {
			return nil, w.secrets.scrubError(err)
		}
		return []tool.Capability{httpCapability(m, u)}, nil
	}
	f.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		ask, err := httpRead(method, e.Args)
		if err != nil {
			return tool.Outcome{}, w.secrets.scrubError(err)
		}
		ask.nameOnce(g.Key)
		v, err := w.httpDo(ctx, ask, g)
		return tool.Outcome{Value: v}, w.secrets.scrubError(err)
	}
	return f
}

// httpDo makes a request and shapes what comes of it. It ends when its time is
// over, whatever the server does.
func (w *World) httpDo(ctx context.Context, ask *httpAsk, g tool.Grant) (value.Value, error) {
	if err := row.Stopped(ctx); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, ask.timeout)
	defer cancel()
	answer, err := w.httpExchange(limited, ask, g)
	var ours *value.Error
	switch stopped := row.Stopped(ctx); {
	case err == nil:
		return answer.value(w.secrets)
	case stopped != nil:
		return nil, stopped
	case errors.As(err, &ours):
		return nil, ours
	case limited.Err() != nil:
		return nil, httpTimeout(ask.timeout)
	}
	return nil, err
}

func (w *World) httpExchange(ctx context.Context, ask *httpAsk, g tool.Grant) (*httpAnswer, error) {
	leave, err := w.http.turns.enter(ctx, g.Call.Tool)
	if err != nil {
		return nil, err
	}
	defer leave()
	x := &httpExchange{
		net: w.http, secrets: w.secrets, grant: g,
		method: ask.method, url: ask.url, fields: ask.fields, auth: ask.auth, body: ask.body,
	}
	return x.run(ctx, ask)
}

// An httpAsk is a request as the script describes it.
type httpAsk struct {
	method  string
	url     *httpURL
	fields  []httpField
	params  *value.Dict
	auth    []string
	body    []byte
	timeout time.Duration
	follow  bool
}

func httpRead(method string, args *value.Dict) (*httpAsk, error) {
	method, err := httpMethod(method, args)
	if err != nil {
		return nil, err
	}
	ask := &httpAsk{method: method, follow: args.Bool("allow_redirects")}
	if ask.url, err = httpParse(args.Text("url")); err != nil {
		return nil, err
	}
	if text := strings.ToLower(args.Text("url")); strings.Contains(text, secretMark) || strings.Contains(text, strings.ToLower(secretMarkEncoded)) {
		return nil, httpNoSecret("in the URL")
	}
	headers, _ := row.Arg(args, "headers").(*value.Dict)
	if ask.fields, err = httpFields(headers); err != nil {
		return nil, err
	}
	ask.params, _ = row.Arg(args, "params").(*value.Dict)
	if err := ask.readAuth(args); err != nil {
		return nil, err
	}
	if err := ask.readBody(args); err != nil {
		return nil, err
	}
	return ask, ask.readTimeout(row.Arg(args, "timeout"))
}

func httpMethod(method string, args *value.Dict) (string, error) {
	if method != "" {
		return method, nil
	}
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	method = strings.ToUpper(args.Text("method"))
	if !slices.Contains(methods, method) {
		return "", value.Errorf(value.Invalid, "%q is not a method that can be used", row.Short(args.Text("method"))).
			WithHint("methods are %s", strings.Join(methods, ", "))
	}
	return method, nil
}

// httpReads reports whether a method only reads, and so may be repeated.
func httpReads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead
}

// httpKeyField tells a server that what comes again with the same value is the
// same request, as the draft of the IETF's working group HTTPAPI has it.
const httpKeyField = "Idempotency-Key"

// nameOnce gives a request that must not be done twice the key of its effect,
// unless the script gives one.
func (a *httpAsk) nameOnce(key string) {
	if key == "" || httpReads(a.method) || slices.ContainsFunc(a.fields, func(f httpField) bool { return f.name == httpKeyField }) {
		return
	}
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"` // a string of RFC 9651
	a.fields = append(a.fields, httpField{httpKeyField, quoted})
}

func (a *httpAsk) readAuth(args *value.Dict) error {
	for _, v := range row.Elements(args, "auth") {
		text, _ := v.(string)
		a.auth = append(a.auth, text)
	}
	switch {
	case len(a.auth) == 0:
		return nil
	case len(a.auth) != 2:
		return value.Errorf(value.Invalid, "auth should be a list of two texts, the user and the password")
	case strings.Contains(secretPlaceholder().ReplaceAllLiteralString(a.auth[0], ""), ":"):
		return value.Errorf(value.Invalid, "the user in auth may not hold a colon")
	case slices.ContainsFunc(a.fields, func(f httpField) bool { return f.name == "Authorization" }):
		return value.Errorf(value.Invalid, "both auth and the header Authorization are given").WithHint("give one of them")
	}
	return nil
}

// readBody reads what is sent, and what kind of thing it is where the script
// does not say. A secret cannot stand in it: what comes from elsewhere and is
// sent on, as the text of a comment, could hold a placeholder.
func (a *httpAsk) readBody(args *value.Dict) error {
	json, form, body := row.Arg(args, "json"), row.Arg(args, "form"), row.Arg(args, "body")
	fields, _ := form.(*value.Dict)
	given, kind := 0, ""
	if json != nil {
		text, err := value.AppendJSON(nil, json)
		if err != nil {
			return value.AsError(err, value.Invalid)
		}
		a.body, kind, given = text, "application/json", given+1
	}
	if fields.Len() > 0 {
		text, err := encoding.EncodeQuery(fields)
		if err != nil {
			return err
		}
		a.body, kind, given = []byte(text), "application/x-www-form-urlencoded", given+1
	}
	if body != nil {
		var err error
		if a.body, err = row.Bytes(args, "body"); err != nil {
			return err
		}
		kind, given = "", given+1
	}
	switch {
	case given > 1:
		return value.Errorf(value.Invalid, "json, form and body exclude each other").WithHint("give one of them")
	case given > 0 && httpReads(a.method):
		return value.Errorf(value.Invalid, "a %s request has no body", a.method).WithHint("give params, which go into the URL")
	case len(a.body) > httpMaxBody:
		return httpLimit("the body is longer than %d MB", httpMaxBody>>20)
	}
	if text := string(a.body); strings.Contains(text, secretMark) || strings.Contains(text, secretMarkEncoded) {
		return httpNoSecret("in the body")
	}
	if kind != "" && !slices.ContainsFunc(a.fields, func(f httpField) bool { return f.name == "Content-Type" }) {
		a.fields = append(a.fields, httpField{"Content-Type", kind})
	}
	return nil
}

func httpNoSecret(where string) error {
	return value.Errorf(value.Denied, "a secret's placeholder cannot stand %s", where).
		WithHint("a secret is sent in headers, in auth, or as a whole value of params")
}

func (a *httpAsk) readTimeout(v value.Value) error {
	seconds := row.Seconds(v)
	if math.IsNaN(seconds) || seconds <= 0 || seconds > httpMaxTimeout {
		return value.Errorf(value.Invalid, "the timeout should be more than 0 and at most %d seconds", httpMaxTimeout)
	}
	a.timeout = max(time.Duration(seconds*float64(time.Second)), time.Nanosecond)
	return nil
}
