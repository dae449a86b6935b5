package openapi

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// Options say how tools are made.
type Options struct {
	From   string // the file or the URL, for readers of the scripts
	Base   string // the URL of the document, to which servers may be relative; "" for a file
	Server string // replaces the servers of the document unless it is ""
	Secret string // the name of the secret; "" derives one from the title
	Name   string // begins the names of the tools, and is their group; "" takes the group from the title
}

// An Operation is one operation of a document, and the plan of its tool.
type Operation struct {
	Method, Path string
	ID           string // the operationId, or ""
	Name         string // of its tool
	Summary      string
	Tags         []string
	LeftOut      string   // why it cannot become a tool, or ""
	Notes        []string // what the tool does not have

	keys  []key
	again func() *Operation // plans the operation again
	plan  *plan             // nil if it is not needed yet
}

// Label names an operation as people select it.
func (op *Operation) Label() string { return op.Method + " " + op.Path }

// A plan is what the tool of an operation takes, sends and returns.
type plan struct {
	about      string
	deprecated bool
	params     []param            // the required ones first
	body       string             // how it is sent: json, form or body; "" for none
	whole      bool               // the body is one parameter
	mediaType  string             // of a body that is sent as it is
	response   *openapi3.Response // of a success, or nil
	returns    string
	status     int
	answer     any // of the fake: a value for JSON, a string for text, or nil for none
	isText     bool
	server     string // without / at its end
	host       string // as capabilities name it
	serverErr  error
}

// A param is a parameter of a tool.
type param struct {
	name, wire string // in the script, and in the request
	in         string // path, query, header or body
	style      string // of a query: form, spaceDelimited, pipeDelimited, deepObject or json
	explode    bool
	required   bool
	kind       *kind
}

// A key is a secret that a request carries.
type key struct {
	scheme   string // its name in the document
	in, name string // header or query, and its name
	prefix   string // before the secret, as in "Bearer "
	suffix   string // of the name of the secret
}

// A planner plans the tools of a document.
type planner struct {
	doc     *openapi3.T
	options *Options
	group   string
}

// methods are the methods that scripts can use.
var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}

// operation plans the tool of an operation.
func (p *planner) operation(method, path string, item *openapi3.PathItem, o *openapi3.Operation) *Operation {
	op := &Operation{Method: method, Path: path, ID: o.OperationID, Summary: oneLine(cmp.Or(o.Summary, item.Summary), 120), plan: &plan{}}
	for _, tag := range o.Tags {
		op.Tags = append(op.Tags, oneLine(tag, 40))
	}
	op.plan.about, op.plan.deprecated = cmp.Or(o.Description, item.Description), o.Deprecated
	if op.Summary == "" {
		op.Summary = oneLine(cmp.Or(firstSentence(o.Description), op.Label()), 120)
	}
	if !slices.Contains(methods, method) {
		op.LeftOut = "scripts cannot send " + method
		return op
	}
	r, taken := newReader(), map[string]bool{}
	for _, step := range []func(){
		func() { p.parameters(op, item, o, r, taken) },
		func() { p.requestBody(op, o, r, taken) },
		func() { p.security(op, o) },
		func() { p.response(op, o) },
	} {
		if step(); op.LeftOut != "" {
			return op
		}
	}
	if len(o.Callbacks) > 0 {
		op.note("callbacks are not received")
	}
	p.server(op, item, o)
	slices.SortStableFunc(op.plan.params, func(a, b param) int {
		switch {
		case a.required == b.required:
			return 0
		case a.required:
			return -1
		}
		return 1
	})
	return op
}

func (op *Operation) note(text string) { op.Notes = append(op.Notes, text) }

func firstSentence(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// reservedHeader matches the headers that a script cannot set, or that are set otherwise.
var reservedHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(accept|content-type|authorization|host|connection|keep-alive|content-length|transfer-encoding|te|trailers?|upgrade|http2-settings|expect|cookie2?|forwarded|x-http-method|x-http-method-override|x-method-override|(proxy-|sec-|x-forwarded-).*)$`)
})

// headerName matches the names of headers.
var headerName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")
})

// pathParam matches the parameters in a path.
var pathParam = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{([^{}]*)\}`)
})

// parameters plans the parameters of the path, the query and the header.
func (p *planner) parameters(op *Operation, item *openapi3.PathItem, o *openapi3.Operation, r *reader, taken map[string]bool) {
	found := map[string]*openapi3.Parameter{}
	var order []string
	for _, ref := range slices.Concat(item.Parameters, o.Parameters) { // those of the operation replace those of the path
		if ref == nil || ref.Value == nil {
			continue
		}
		id := ref.Value.In + " " + ref.Value.Name
		if found[id] == nil {
			order = append(order, id)
		}
		found[id] = ref.Value
	}
	if strings.ContainsAny(op.Path, "?#") || !strings.HasPrefix(op.Path, "/") {
		op.LeftOut = "its path has a query, or does not begin with /"
		return
	}
	inPath := map[string]bool{}
	for _, m := range pathParam().FindAllStringSubmatch(op.Path, -1) {
		inPath[m[1]] = true
		if found["path "+m[1]] == nil {
			found["path "+m[1]] = &openapi3.Parameter{Name: m[1], In: "path", Required: true, Schema: openapi3.NewStringSchema().NewRef()}
			order = append(order, "path "+m[1])
		}
	}
	for _, id := range order {
		if x := found[id]; x.In != "path" || inPath[x.Name] {
			p.parameter(op, x, r, taken)
		}
	}
}

// parameter plans a parameter.
func (p *planner) parameter(op *Operation, o *openapi3.Parameter, r *reader, taken map[string]bool) {
	x := param{wire: o.Name, in: o.In, style: o.Style, explode: true, required: o.Required || o.In == "path"}
	schema := o.Schema
	if media := o.Content.Get("application/json"); schema == nil && media != nil {
		schema, x.style = media.Schema, "json"
	}
	x.kind = r.kind(schema, 1)
	x.kind.about = cmp.Or(o.Description, x.kind.about)
	x.kind.examples = append(examplesOf(o.Example, o.Examples), x.kind.examples...)
	why := ""
	switch o.In {
	case "path":
		if x.style != "" && x.style != "simple" || !x.kind.isSimple() && x.kind.name != "any" {
			why = "has a style that is not supported"
		}
	case "header":
		switch {
		case slices.Contains([]string{"accept", "content-type", "authorization"}, strings.ToLower(o.Name)):
			return // as the specification says
		case reservedHeader().MatchString(o.Name) || !headerName().MatchString(o.Name):
			why = "cannot be set by a script"
		case !x.kind.isSimple() && x.kind.name != "any":
			why = "has a style that is not supported"
		}
	case "query":
		x.style = cmp.Or(x.style, "form")
		x.explode = x.style == "form"
		if o.Explode != nil {
			x.explode = *o.Explode
		}
		if x.kind.name == "object" && x.style == "form" && !x.explode || !slices.Contains([]string{"form", "json", "spaceDelimited", "pipeDelimited", "deepObject"}, x.style) {
			why = "has a style that is not supported"
		}
	default:
		why = "is a cookie, which a script cannot send"
	}
	if strings.Contains(o.Name, secret.Mark) {
		why = "has the placeholder of a secret in its name"
	}
	switch {
	case why != "" && x.required:
		op.LeftOut = "its parameter " + oneLine(o.Name, 60) + " " + why
	case why != "":
		op.note("without the parameter " + oneLine(o.Name, 60) + ", which " + why)
	default:
		op.add(x, taken)
	}
}

// add adds a parameter.
func (op *Operation) add(x param, taken map[string]bool) {
	if x.in == "body" && taken[paramName(x.wire, map[string]bool{})] {
		x.name = paramName("body_"+x.wire, taken)
	} else {
		x.name = paramName(x.wire, taken)
	}
	for _, what := range x.kind.settle() {
		op.note("the " + what + " of " + x.name + " is not checked")
	}
	op.plan.params = append(op.plan.params, x)
}

// examplesOf returns the examples of a parameter or a body.
func examplesOf(one any, several openapi3.Examples) (list []any) {
	if one != nil {
		list = append(list, one)
	}
	for _, name := range slices.Sorted(maps.Keys(several)) {
		if e := several[name]; e != nil && e.Value != nil && e.Value.Value != nil {
			list = append(list, e.Value.Value)
		}
	}
	return list
}

// maxFields is how many fields of a body become parameters.
const maxFields = 30

// requestBody plans the body.
func (p *planner) requestBody(op *Operation, o *openapi3.Operation, r *reader, taken map[string]bool) {
	if o.RequestBody == nil || o.RequestBody.Value == nil || len(o.RequestBody.Value.Content) == 0 {
		return
	}
	if op.Method == "GET" || op.Method == "HEAD" {
		op.LeftOut = "scripts cannot send a body with " + op.Method
		return
	}
	body := o.RequestBody.Value
	mediaType, media, how := bodyOf(body.Content)
	if how == "" {
		op.LeftOut = "its body is " + oneLine(mediaType, 60) + ", which is not supported"
		return
	}
	op.plan.body = how
	k := r.kind(media.Schema, 1)
	k.writable()
	k.examples = append(examplesOf(media.Example, media.Examples), k.examples...)
	if how == "body" {
		op.plan.mediaType, op.plan.whole = mediaType, true
		op.add(param{wire: "body", in: "body", required: body.Required, kind: &kind{name: "string", about: cmp.Or(body.Description, "The text to send.")}}, taken)
		return
	}
	fields := k.name == "object" && len(k.props) > 0 && len(k.props) <= maxFields && !k.nullable &&
		!slices.ContainsFunc(k.props, func(p prop) bool { return !p.kind.isSimple() })
	if how == "form" && !fields {
		op.LeftOut = "its form has fields that are not supported"
		return
	}
	if !fields {
		op.plan.whole = true
		k.about = cmp.Or(body.Description, k.about, "The body of the request.")
		op.add(param{wire: "body", in: "body", required: body.Required, kind: k}, taken)
		return
	}
	for _, f := range k.props {
		for _, example := range k.examples {
			if d, ok := example.(map[string]any); ok && d[f.name] != nil {
				f.kind.examples = append([]any{d[f.name]}, f.kind.examples...)
			}
		}
		op.add(param{wire: f.name, in: "body", required: f.required, kind: f.kind}, taken)
	}
}

// bodyOf chooses the form of a body. how is "" if there is none that a script can send.
func bodyOf(content openapi3.Content) (mediaType string, media *openapi3.MediaType, how string) {
	names := slices.Sorted(maps.Keys(content))
	for _, try := range []struct {
		is  func(name string) bool
		how string
	}{
		{isJSON, "json"},
		{func(name string) bool { return name == "application/x-www-form-urlencoded" }, "form"},
		{func(name string) bool { return strings.HasPrefix(name, "text/") || strings.HasSuffix(name, "xml") }, "body"},
	} {
		for _, name := range names {
			base, _, _ := strings.Cut(strings.ToLower(name), ";")
			if try.is(strings.TrimSpace(base)) && content[name] != nil {
				return strings.TrimSpace(base), content[name], try.how
			}
		}
	}
	return names[0], nil, ""
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" || strings.HasSuffix(mediaType, "+json") || mediaType == "*/*"
}

// security plans the secrets: those of the first requirement that a script can fulfil.
func (p *planner) security(op *Operation, o *openapi3.Operation) {
	requirements := p.doc.Security
	if o.Security != nil {
		requirements = *o.Security
	}
	why, optional := "", len(requirements) == 0
	for _, alternative := range requirements {
		if len(alternative) == 0 {
			optional = true
			continue
		}
		var keys []key
		var notes []string
		failed := ""
		for _, name := range slices.Sorted(maps.Keys(alternative)) {
			k, note, problem := p.key(name)
			if keys = append(keys, k); note != "" {
				notes = append(notes, note)
			}
			failed = cmp.Or(failed, problem)
		}
		if failed == "" {
			op.keys, op.Notes = keys, append(op.Notes, notes...)
			return
		}
		why = cmp.Or(why, failed)
	}
	switch {
	case !optional:
		op.LeftOut = why
	case why != "":
		op.note("without a secret: " + why)
	}
}

// key plans the secret of a security scheme.
func (p *planner) key(name string) (k key, note, problem string) {
	var scheme *openapi3.SecurityScheme
	if p.doc.Components != nil && p.doc.Components.SecuritySchemes[name] != nil {
		scheme = p.doc.Components.SecuritySchemes[name].Value
	}
	k = key{scheme: name, in: "header", name: "Authorization"}
	shown := oneLine(name, 60)
	if scheme == nil {
		return k, "", "its security scheme " + shown + " is not defined"
	}
	switch kind, how := strings.ToLower(scheme.Type), strings.ToLower(scheme.Scheme); {
	case kind == "http" && how == "bearer":
		k.prefix, k.suffix = "Bearer ", "TOKEN"
	case kind == "http" && how == "basic":
		k.prefix, k.suffix = "Basic ", "BASIC"
		note = "the secret is USER:PASSWORD in base64"
	case kind == "oauth2" || kind == "openidconnect":
		k.prefix, k.suffix = "Bearer ", "TOKEN"
		note = "the secret is an access token, because there is no sign-in by " + oneLine(scheme.Type, 20)
	case kind == "apikey" && strings.EqualFold(scheme.In, "header") && headerName().MatchString(scheme.Name) &&
		(strings.EqualFold(scheme.Name, "Authorization") || !reservedHeader().MatchString(scheme.Name)):
		k.name, k.suffix = scheme.Name, "KEY"
	case kind == "apikey" && strings.EqualFold(scheme.In, "query") && scheme.Name != "" && !strings.Contains(scheme.Name, secret.Mark):
		k.in, k.name, k.suffix = "query", scheme.Name, "KEY"
	case kind == "apikey":
		problem = "its security scheme " + shown + " is in a cookie or header that a script cannot send"
	default:
		problem = "its security scheme " + shown + " is not supported"
	}
	return k, note, problem
}

// response finds the response of a success.
func (p *planner) response(op *Operation, o *openapi3.Operation) {
	op.plan.status = 200
	if o.Responses == nil || o.Responses.Len() == 0 {
		op.note("the document describes no response")
		return
	}
	var found *openapi3.Response
	codes := slices.Sorted(maps.Keys(o.Responses.Map()))
	for _, code := range append(codes, "default") {
		ref := o.Responses.Value(code)
		if (strings.HasPrefix(code, "2") || code == "default" && len(codes) > 0) && ref != nil && ref.Value != nil {
			found = ref.Value
			if n, err := strconv.Atoi(code); err == nil && n >= 200 && n < 300 {
				op.plan.status = n
			}
			break
		}
	}
	if found == nil {
		op.note("the document describes no response that is a success")
	}
	op.plan.response = found
}

// planAnswer plans what a call returns, and the answer of the fake.
func (op *Operation) planAnswer() {
	found := op.plan.response
	if found == nil {
		op.plan.answer = map[string]any{}
		return
	}
	if found.Description != nil {
		op.plan.returns = oneLine(*found.Description, 200)
	}
	if len(found.Content) == 0 {
		return
	}
	mediaType, media, how := bodyOf(found.Content)
	if how != "json" {
		op.plan.answer, op.plan.isText = "text", true
		op.plan.returns = strings.TrimSpace(op.plan.returns + " (" + oneLine(mediaType, 60) + ")")
		return
	}
	k := newReader().kind(media.Schema, 1)
	k.examples = append(examplesOf(media.Example, media.Examples), k.examples...)
	op.plan.answer = k.answer()
	list := k
	shape := ""
	if k.name == "array" && k.items != nil {
		list, shape = k.items, "a list of dicts with "
	} else if k.name == "object" {
		shape = "a dict with "
	}
	const most = 15
	if names := value.Map(list.props, func(p prop) string { return oneLine(p.name, 60) }); shape != "" && len(names) > 0 {
		if len(names) > most {
			names = append(names[:most], "…")
		}
		op.plan.returns = strings.TrimSpace(strings.TrimSuffix(op.plan.returns, ".") + ": " + shape + strings.Join(names, ", "))
		op.plan.returns = strings.TrimPrefix(op.plan.returns, ": ")
	}
}

// answer returns an example of a response, which need not fit.
func (k *kind) answer() any {
	for _, v := range k.examples {
		if len(literal(v, "")) <= maxAnswer {
			return v
		}
	}
	if v := k.sample(); len(literal(v, "")) <= maxAnswer {
		return v
	}
	return map[string]any{}
}

// server finds the server, which must be one host.
func (p *planner) server(op *Operation, item *openapi3.PathItem, o *openapi3.Operation) {
	servers := p.doc.Servers
	if len(item.Servers) > 0 {
		servers = item.Servers
	}
	if o.Servers != nil && len(*o.Servers) > 0 {
		servers = *o.Servers
	}
	address := "/"
	if len(servers) > 0 && servers[0] != nil {
		address = servers[0].URL
		for name, v := range servers[0].Variables {
			if v != nil {
				address = strings.ReplaceAll(address, "{"+name+"}", v.Default)
			}
		}
	}
	op.plan.server, op.plan.host, op.plan.serverErr = serverOf(cmp.Or(p.options.Server, address), p.options)
}

// hostPattern matches one host: no wildcard of a capability is one.
var hostPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)
})

// serverOf reads the URL of a server.
func serverOf(address string, o *Options) (server, host string, err error) {
	shown := oneLine(address, 200)
	u, err := url.Parse(address)
	if err != nil {
		return "", "", value.Errorf(value.Invalid, "the server %q is not a URL", shown).WithHint("name another one: cassidy tool import FILE --openapi --server https://HOST/PATH")
	}
	if u.Host == "" && u.Scheme == "" {
		base, err := url.Parse(o.Base)
		if err != nil || o.Base == "" {
			return "", "", value.Errorf(value.Invalid, "the document does not say which host its server %q is on", shown).
				WithHint("name it: cassidy tool import FILE --openapi --server https://HOST/PATH")
		}
		u = base.ResolveReference(u)
	}
	host = strings.ToLower(u.Host)
	if u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !hostPattern().MatchString(host) {
		return "", "", value.Errorf(value.Invalid, "the server %q is not the http or https URL of one host", shown).
			WithHint("name another one: cassidy tool import FILE --openapi --server https://HOST/PATH")
	}
	host = strings.TrimSuffix(host, map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
	return u.Scheme + "://" + host + escapePath(strings.TrimRight(u.Path, "/")), host, nil
}

// escapePath escapes what cannot be in a path.
func escapePath(path string) string {
	return (&url.URL{Path: path}).EscapedPath()
}

// toolName returns the name of the tool of an operation: its operationId, or else its method and path.
func toolName(prefix string, op *Operation) string {
	name := identifier(op.ID)
	if name == "" {
		name = identifier(op.Method + " " + op.Path)
	}
	if prefix = identifier(prefix); prefix != "" && !strings.HasPrefix(name, prefix+"_") {
		name = prefix + "_" + name
	}
	if name[0] < 'a' || name[0] > 'z' {
		name = "call_" + name
	}
	name = cutName(name, tool.MaxName)
	if strings.HasSuffix(name, "_test") { // the file would be one with tests
		name = cutName(name, tool.MaxName-len("_call")) + "_call"
	}
	return name
}
