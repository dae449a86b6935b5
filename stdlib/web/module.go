package web

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
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

const moduleDoc = "HTTP requests to servers of the public internet. A tool declares http.METHOD:HOST in needs for each host and method, " +
	"or http:HOST for all methods. The targets of redirects must be declared too. A redirect to another host or port is followed without secrets, auth and all headers that could hold a key, so that server may answer 401. Addresses of this machine, private networks and metadata " +
	"services of clouds are denied, unless the user's config lists them. One call of a tool may make 20 requests, or as many as the tool declares, as in limits = {\"requests\": 100}. " +
	"Each redirect counts as a request, and one function call follows at most 3 redirects. The body of a request and the body of a response have at most 8 MB each. Requests share no cookies and no connections.\n\nIn a recorded run, " +
	"a request that may change data has the header Idempotency-Key, unless the script sets the header. If the request is sent again, it has the same key. A server that supports the header carries out the request only once.\n\n" +
	"The functions return the response, even if its status is 404 or 500. If there is no response, the call fails. A response is a dict:\n\n- `status`: an integer\n- `ok`: True if " +
	"the status is less than 400\n- `url`: the URL after redirects\n- `headers`: a dict with lower-case names\n- `text`: the body as text, or None if " +
	"the body is not text\n- `bytes`: the body as bytes, or None if the body is text\n- `json`: the decoded body, or None if the body is not JSON or larger than 2 MB"

// Module returns the module http.
func (n *Network) Module() tool.Module {
	m := tool.Module{Name: "http", Doc: moduleDoc}
	for _, f := range []struct {
		name, doc string
		kind      tool.EffectKind
	}{
		{"get", "Fetch the resource at a URL. Needs `http.get:HOST`.", tool.Repeatable},
		{"head", "Request the status and the headers of a URL, without the body. Needs `http.head:HOST`.", tool.Repeatable},
		{"post", "Send data to a URL. Needs `http.post:HOST`.", tool.External},
		{"put", "Create or replace the resource at a URL. Needs `http.put:HOST`.", tool.External},
		{"patch", "Change a part of the resource at a URL. Needs `http.patch:HOST`.", tool.External},
		{"delete", "Delete the resource at a URL. Needs `http.delete:HOST`.", tool.External},
	} {
		m.Funcs = append(m.Funcs, n.row(strings.ToUpper(f.name), tool.Func{
			Name: f.name, Doc: f.doc, Kind: f.kind, Params: rowParams(f.kind == tool.External),
		}))
	}
	method := tool.Required("method", tool.TypeString, "GET, HEAD, POST, PUT, PATCH or DELETE")
	return tool.Module{Name: m.Name, Doc: m.Doc, Funcs: append(m.Funcs, n.row("", tool.Func{
		Name: "request", Doc: "Make a request with a computed method. Needs `http.METHOD:HOST`, with the method in lower case.", Kind: tool.External,
		Params: append([]tool.Param{method}, rowParams(true)...),
		ReadsOnly: func(args *value.Dict) bool {
			return slices.Contains([]string{"GET", "HEAD"}, strings.ToUpper(args.Text("method")))
		},
	}))}
}

func rowParams(withBody bool) []tool.Param {
	maybe := func(p tool.Param) tool.Param {
		p.Type.Nullable = true
		return p
	}
	params := []tool.Param{
		tool.Required("url", tool.TypeString, "the URL, with http: or https:"),
		// No dict comes second: in Lua, a table there names the other arguments.
		tool.Optional("timeout", tool.TypeNumber, int64(10), "the timeout in seconds, including redirects and the body of the response; at most 60"),
		tool.Optional("headers", tool.TypeObject, &value.Dict{}, `headers by name, as in {"Accept": "application/json"}; a value may contain the placeholder of a secret`),
		tool.Optional("params", tool.TypeObject, &value.Dict{}, "values to add to the query of the URL, by name; a list repeats the name; a value may be the placeholder of a secret"),
	}
	if withBody {
		params = append(params,
			tool.Optional("json", tool.TypeAny, nil, "a value to send as JSON"),
			tool.Optional("form", tool.TypeObject, &value.Dict{}, "form fields to send, by name"),
			tool.Optional("body", tool.TypeAny, nil, "text or bytes to send unchanged; json, form and body are mutually exclusive. None of them may contain the placeholder of a secret"))
	}
	auth := maybe(tool.Optional("auth", tool.TypeArray, nil, "[user, password] for basic authentication; both may contain placeholders of secrets"))
	auth.Type.Items = &tool.Type{Name: tool.TypeString}
	return append(params, auth,
		tool.Optional("allow_redirects", tool.TypeBoolean, true, "whether to follow redirects; if False, the redirect itself is the response, and headers[\"location\"] is the target"))
}

// answerDoc describes the result of every function; the documentation of the module has more.
const answerDoc = `a response: {"status", "ok", "url", "headers", "text", "bytes", "json"}`

// row completes a function. Without a method, the arguments name it.
func (n *Network) row(method string, f tool.Func) tool.Func {
	f.Returns, f.Result = answerDoc, row.Fields("status", "ok", "url", "headers", "text", "bytes", "json")
	f.Target = func(args *value.Dict) ([]tool.Capability, error) {
		m, err := methodOf(method, args)
		if err != nil {
			return nil, err
		}
		u, err := parseURL(args.Text("url"))
		if err != nil {
			return nil, n.secrets.ScrubError(err)
		}
		takes := []tool.Capability{capabilityOf(m, u)}
		for _, name := range secretsIn(args) { // one question is about the host and what it gets
			takes = append(takes, secretFor(name, u))
		}
		return takes, nil
	}
	f.Do = func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
		ask, err := readRequest(method, e.Args)
		if err != nil {
			return tool.Outcome{}, n.secrets.ScrubError(err)
		}
		ask.nameOnce(g.Key)
		v, err := n.do(ctx, ask, g)
		return tool.Outcome{Value: v}, n.secrets.ScrubError(err)
	}
	return f
}

// secretsIn returns the names of the secrets that a request sends.
func secretsIn(args *value.Dict) []string {
	var names []string
	for _, v := range args.Dict("headers").All() {
		text, _ := row.Scalar(v)
		names = append(names, secret.Names(text)...)
	}
	for _, v := range args.Dict("params").All() {
		if text, _ := v.(string); isPlaceholder(text) {
			names = append(names, secret.Names(text)...)
		}
	}
	for _, v := range args.Elements("auth") {
		text, _ := v.(string)
		names = append(names, secret.Names(text)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// do makes a request and shapes the answer. It ends when its time is
// over, whatever the server does.
func (n *Network) do(ctx context.Context, ask *request, g tool.Grant) (value.Value, error) {
	if err := row.Stopped(ctx); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, ask.timeout)
	defer cancel()
	answer, unsent, err := n.exchange(limited, ask, g)
	var ours *value.Error
	switch stopped := row.Stopped(ctx); {
	case err == nil:
		return answer.value(n.secrets)
	case stopped != nil:
		return nil, stopped
	case errors.As(err, &ours):
	case limited.Err() != nil:
		ours = timeoutError(ask.timeout)
	default:
		return nil, err
	}
	if unsent && !ours.Limit.Unsent() && (ours.Kind == value.Unavailable || ours.Kind == value.Timeout) {
		ours = ours.WithLimit(value.LimitUnsent)
	}
	return nil, ours
}

// exchange makes a request. unsent reports that it failed before anything was sent.
func (n *Network) exchange(ctx context.Context, ask *request, g tool.Grant) (answer *response, unsent bool, err error) {
	leave, err := n.queues.enter(ctx, g.Call.Tool)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	x := &exchange{
		net: n, grant: g,
		method: ask.method, url: ask.url, fields: ask.fields, auth: ask.auth, body: ask.body,
	}
	answer, err = x.run(context.WithValue(ctx, deliveryKey{}, &x.delivery), ask)
	return answer, x.unsent, err
}

// A request is a request as the script describes it.
type request struct {
	method  string
	url     *hostURL
	fields  []field
	params  *value.Dict
	auth    []string
	body    []byte
	timeout time.Duration
	follow  bool
}

func readRequest(method string, args *value.Dict) (*request, error) {
	method, err := methodOf(method, args)
	if err != nil {
		return nil, err
	}
	ask := &request{method: method, follow: args.Bool("allow_redirects")}
	if ask.url, err = parseURL(args.Text("url")); err != nil {
		return nil, err
	}
	if text := strings.ToLower(args.Text("url")); strings.Contains(text, secret.Mark) || strings.Contains(text, strings.ToLower(secret.MarkInQuery)) {
		return nil, noSecret("in the URL")
	}
	headers := args.Dict("headers")
	if ask.fields, err = readFields(headers); err != nil {
		return nil, err
	}
	ask.params = args.Dict("params")
	if err := ask.readAuth(args); err != nil {
		return nil, err
	}
	if err := ask.readBody(args); err != nil {
		return nil, err
	}
	return ask, ask.readTimeout(row.Arg(args, "timeout"))
}

func methodOf(method string, args *value.Dict) (string, error) {
	if method != "" {
		return method, nil
	}
	methods := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	method = strings.ToUpper(args.Text("method"))
	if !slices.Contains(methods, method) {
		return "", value.Errorf(value.Invalid, "unsupported method %q", row.Short(args.Text("method"))).
			WithHint("methods are %s", strings.Join(methods, ", "))
	}
	return method, nil
}

// onlyReads reports whether a method only reads, and so may be repeated.
func onlyReads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead
}

// keyField is the header by which a server knows that a request with the same value is
// the same request, as the draft of the IETF's working group HTTPAPI has it.
const keyField = "Idempotency-Key"

// nameOnce gives a request that must not be done twice the key of its effect,
// unless the script gives one.
func (a *request) nameOnce(key string) {
	if key == "" || onlyReads(a.method) || slices.ContainsFunc(a.fields, func(f field) bool { return f.name == keyField }) {
		return
	}
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"` // a string of RFC 9651
	a.fields = append(a.fields, field{keyField, quoted})
}

func (a *request) readAuth(args *value.Dict) error {
	for _, v := range args.Elements("auth") {
		text, _ := v.(string)
		a.auth = append(a.auth, text)
	}
	switch {
	case len(a.auth) == 0:
		return nil
	case len(a.auth) != 2:
		return value.Errorf(value.Invalid, "argument 'auth' should be a list of two strings: the user name and the password")
	case strings.Contains(secret.Replace(a.auth[0], func(string) string { return "" }), ":"):
		return value.Errorf(value.Invalid, "argument 'auth': the user name must not contain a colon")
	case slices.ContainsFunc(a.fields, func(f field) bool { return f.name == "Authorization" }):
		return value.Errorf(value.Invalid, "argument 'auth' and the header Authorization are mutually exclusive").WithHint("remove one of them")
	}
	return nil
}

// readBody reads what is sent, and what kind of thing it is where the script
// does not say. A secret cannot stand in it: what comes from elsewhere and is
// sent on, as the text of a comment, could hold a placeholder.
func (a *request) readBody(args *value.Dict) error {
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
		text, err := row.Query(fields)
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
		return value.Errorf(value.Invalid, "arguments 'json', 'form' and 'body' are mutually exclusive").WithHint("remove one of them")
	case given > 0 && onlyReads(a.method):
		return value.Errorf(value.Invalid, "a %s request cannot have a body", a.method).WithHint("pass params, to add values to the URL")
	case len(a.body) > maxBody:
		return limitError("the body is longer than %d MB", maxBody>>20)
	}
	if text := string(a.body); strings.Contains(text, secret.Mark) || strings.Contains(text, secret.MarkInQuery) {
		return noSecret("in the body")
	}
	if kind != "" && !slices.ContainsFunc(a.fields, func(f field) bool { return f.name == "Content-Type" }) {
		a.fields = append(a.fields, field{"Content-Type", kind})
	}
	return nil
}

func noSecret(where string) error {
	return value.Errorf(value.Denied, "the placeholder of a secret is not allowed %s", where).
		WithHint("use the placeholder in headers, in auth, or as a complete value of params")
}

func (a *request) readTimeout(v value.Value) error {
	seconds := row.Seconds(v)
	if math.IsNaN(seconds) || seconds <= 0 || seconds > maxTimeout {
		return value.Errorf(value.Invalid, "argument 'timeout' should be more than 0 and at most %d seconds", maxTimeout)
	}
	a.timeout = max(time.Duration(seconds*float64(time.Second)), time.Nanosecond)
	return nil
}
