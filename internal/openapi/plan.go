package openapi

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/secret"
	"github.com/cassidy-run/cassidy/stdlib/web"
)

// A plan is what the tool of an operation takes, sends and returns.
type plan struct {
	*Operation
	doc *Document

	leftOut   string // why there is no tool, or ""
	notes     []string
	keys      []key
	params    []param     // the required ones first
	body      string      // how it is sent: json, form or body; "" for none
	whole     bool        // the body is one parameter
	mediaType string      // of a body that is sent as it is
	response  *value.Dict // of a success, or nil
	status    int
	certain   bool // it is the only one of a success

	returns    string      // what the response is, for readers
	annotation string      // of the result; "" or any for anything
	answer     value.Value // of the fake of the server; nil for none
	field      string      // of the fake's response that has the answer; "" for json

	left    int                    // schemas that may be read
	request bool                   // what is read is sent
	canSend func(text string) bool // what the parameter that is read can be; nil for anything
	taken   map[string]bool        // names of parameters
	helpers map[string]bool        // the functions that the script loads
}

// A param is a parameter of a tool.
type param struct {
	shape
	wire    string // its name in the request
	in      string // path, query, header or body
	style   string // of a query: form, spaceDelimited, pipeDelimited, deepObject or json
	explode bool
}

// A key is a secret that a request carries.
type key struct {
	scheme   string // its name in the document
	in, name string // header or query, and its name
	prefix   string // before the secret, as in "Bearer "
	secret   string // the name of the secret
}

// plan plans the tool of an operation. It reads so many schemas.
func (d *Document) plan(op *Operation, schemas int) *plan {
	p := &plan{Operation: op, doc: d, left: schemas, request: true, taken: map[string]bool{}, helpers: map[string]bool{}}
	if !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, op.Method) {
		p.leftOut = "scripts cannot send " + op.Method
	}
	for _, step := range []func(){p.security, p.parameters, p.requestBody, p.findResponse} {
		if p.leftOut == "" {
			step()
		}
	}
	if d.object(op.spec, "callbacks").Len() > 0 {
		p.note("callbacks are not received")
	}
	p.params = requiredFirst(p.params, func(x param) bool { return !x.Required })
	return p
}

func (p *plan) note(text string) { p.notes = append(p.notes, text) }

// pathParam matches the parameters in a path.
var pathParam = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{([^{}]*)\}`)
})

// parameters plans the parameters of the path, the query and the header.
func (p *plan) parameters() {
	if strings.ContainsAny(p.Path, "?#") || !strings.HasPrefix(p.Path, "/") {
		p.leftOut = "its path has a query, or does not begin with /"
		return
	}
	found, inPath := &value.Dict{}, map[string]bool{}
	for _, x := range slices.Concat(p.doc.list(p.item, "parameters"), p.doc.list(p.spec, "parameters")) {
		found.Put(wireID(x.Text("in"), x.Text("name")), x) // those of the operation replace those of the path
	}
	for _, m := range pathParam().FindAllStringSubmatch(p.Path, -1) {
		if inPath[m[1]] = true; !found.Has("path " + m[1]) {
			found.Put("path "+m[1], value.NewDict("name", m[1], "in", "path", "schema", value.NewDict("type", "string")))
		}
	}
	var cookies []string
	ignored := map[value.Value]bool{"header accept": true, "header content-type": true, "header authorization": true} // as the specification says
	for _, k := range p.keys {
		ignored[wireID(k.in, k.name)] = true // the secret is sent instead
	}
	for id, v := range found.All() {
		x := v.(*value.Dict)
		name := oneLine(x.Text("name"), 60)
		why := ""
		switch in := x.Text("in"); {
		case ignored[id] || in == "path" && !inPath[x.Text("name")]:
		case in == "cookie" && !x.Bool("required"):
			cookies = append(cookies, name)
		default:
			why = p.parameter(x)
		}
		switch {
		case why != "" && (x.Bool("required") || x.Text("in") == "path"):
			p.leftOut = "its parameter " + name + " " + why
			return
		case why != "":
			p.note("without the parameter " + name + ", which " + why)
		}
	}
	if len(cookies) > 0 {
		p.note("without its cookies, which a script cannot send: " + oneLine(strings.Join(cookies, ", "), 200))
	}
}

// wireID identifies a parameter of a request: the case of the name of a header does not matter.
func wireID(in, name string) string {
	if in == "header" {
		name = strings.ToLower(name)
	}
	return in + " " + name
}

// parameter plans a parameter, or says why it cannot be one of a tool.
func (p *plan) parameter(o *value.Dict) (why string) {
	x := param{wire: o.Text("name"), in: o.Text("in"), style: o.Text("style")}
	from := o
	if media := p.doc.object(p.doc.object(o, "content"), "application/json"); media != nil {
		from, x.style = media, "json"
	}
	schema, _ := from.Get("schema")
	p.canSend = canSend[x.in]
	x.shape = p.shape(schema, o.Text("description"), p.doc.examples(from), 1)
	p.canSend = nil
	x.Required = o.Bool("required") || x.in == "path"
	simple := isSimple(&x.Type) || x.Type.Name == tool.TypeAny
	switch x.in {
	case "path":
		if x.style != "" && x.style != "simple" || !simple {
			return "has a style that is not supported"
		}
	case "header":
		if !web.CanSetHeader(x.wire) {
			return "cannot be set by a script"
		} else if !simple {
			return "has a style that is not supported"
		}
	case "query":
		x.style = cmp.Or(x.style, "form")
		x.explode = x.style == "form"
		if o.Has("explode") {
			x.explode = o.Bool("explode")
		}
		if x.Type.Name == tool.TypeObject && x.style == "form" && !x.explode || !slices.Contains([]string{"form", "json", "spaceDelimited", "pipeDelimited", "deepObject"}, x.style) {
			return "has a style that is not supported"
		}
	case "cookie":
		return "is a cookie, which a script cannot send"
	default:
		return "is in " + oneLine(x.in, 20) + ", which is not supported"
	}
	if strings.Contains(x.wire, secret.Mark) {
		return "has the placeholder of a secret in its name"
	}
	p.add(x)
	return ""
}

// canSend reports what a parameter in a part of the request can be.
var canSend = map[string]func(text string) bool{
	"path": func(text string) bool { return text != "" && text != "." && text != ".." },
	"header": func(text string) bool {
		return strings.TrimSpace(text) == text && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	},
}

// add adds a parameter.
func (p *plan) add(x param) {
	if x.in == "body" && p.taken[paramName(x.wire, map[string]bool{})] {
		x.Name = paramName("body_"+x.wire, p.taken)
	} else {
		x.Name = paramName(x.wire, p.taken)
	}
	for _, what := range x.unchecked {
		p.note("the " + what + " of " + x.Name + " is not checked")
	}
	p.params = append(p.params, x)
}

// maxFields is how many fields of a body become parameters.
const maxFields = 30

// requestBody plans the body.
func (p *plan) requestBody() {
	body := p.doc.object(p.spec, "requestBody")
	mediaType, media, how := p.bodyOf(body)
	switch {
	case mediaType == "":
		return
	case p.Method == "GET" || p.Method == "HEAD":
		p.leftOut = "scripts cannot send a body with " + p.Method
		return
	case how == "":
		p.leftOut = "its body is " + oneLine(mediaType, 60) + ", which is not supported"
		return
	}
	p.body = how
	about := body.Text("description")
	if how == "body" {
		p.mediaType, p.whole = mediaType, true
		s := p.shape(value.NewDict("type", "string"), cmp.Or(about, "The text to send."), nil, 1)
		s.Required = body.Bool("required")
		p.add(param{wire: "body", in: "body", shape: s})
		return
	}
	schema, _ := media.Get("schema")
	s := p.shape(schema, "", p.doc.examples(media), 1)
	switch isForm, n := how == "form", len(s.fields); {
	case n > 0 && n <= maxFields && !s.Type.Nullable && !slices.ContainsFunc(s.fields, func(f shape) bool { return !isSimple(&f.Type) }):
		for _, f := range s.fields {
			if v, ok := s.sample.(*value.Dict).Get(f.Name); ok && v != nil {
				f.sample = v
			}
			p.add(param{wire: f.Name, in: "body", shape: f})
		}
	case isForm:
		p.leftOut = "its form has fields that are not supported"
	default:
		p.whole = true
		s.Description = cmp.Or(oneLine(about, maxText), s.Description, "The body of the request.")
		s.Required = body.Bool("required")
		p.add(param{wire: "body", in: "body", shape: s})
	}
}

// bodyOf chooses the form of a body. how is "" if there is none that a script can send.
func (p *plan) bodyOf(o *value.Dict) (mediaType string, media *value.Dict, how string) {
	content := p.doc.object(o, "content")
	names := sortedKeys(content)
	for _, try := range []struct {
		how string
		is  func(name string) bool
	}{
		{"json", func(name string) bool {
			return name == "application/json" || strings.HasSuffix(name, "+json") || name == "*/*"
		}},
		{"form", func(name string) bool { return name == "application/x-www-form-urlencoded" }},
		{"body", func(name string) bool { return strings.HasPrefix(name, "text/") || strings.HasSuffix(name, "xml") }},
	} {
		for _, name := range names {
			base, _, _ := strings.Cut(strings.ToLower(name), ";")
			if base = strings.TrimSpace(base); try.is(base) {
				return base, p.doc.object(content, name), try.how
			}
		}
	}
	return strings.Join(names[:min(len(names), 1)], ""), nil, ""
}

// security plans the secrets: those of the first requirement that a script can fulfil.
func (p *plan) security() {
	from := p.doc.root
	if p.spec.Has("security") {
		from = p.spec
	}
	requirements := p.doc.list(from, "security")
	why, optional := "", len(requirements) == 0
	for _, alternative := range requirements {
		if alternative.Len() == 0 {
			optional = true
			continue
		}
		var keys []key
		var notes []string
		failed := ""
		for _, name := range sortedKeys(alternative) {
			k, note, problem := p.key(name)
			if keys = append(keys, k); note != "" {
				notes = append(notes, note)
			}
			failed = cmp.Or(failed, problem)
		}
		if failed == "" {
			p.keys, p.notes = keys, append(p.notes, notes...)
			return
		}
		why = cmp.Or(why, failed)
	}
	switch {
	case !optional:
		p.leftOut = why
	case why != "":
		p.note("without a secret: " + why)
	}
}

// key plans the secret of a security scheme.
func (p *plan) key(name string) (k key, note, problem string) {
	schemes := p.doc.object(p.doc.object(p.doc.root, "components"), "securitySchemes")
	scheme := p.doc.object(schemes, name)
	k = key{scheme: name, in: "header", name: "Authorization"}
	its := "its security scheme " + oneLine(name, 60)
	in, wire := strings.ToLower(scheme.Text("in")), scheme.Text("name")
	switch kind, how := strings.ToLower(scheme.Text("type")), strings.ToLower(scheme.Text("scheme")); {
	case scheme == nil:
		problem = its + " is not defined"
	case kind == "http" && how == "bearer":
		k.prefix, k.secret = "Bearer ", "TOKEN"
	case kind == "http" && how == "basic":
		k.prefix, k.secret = "Basic ", "BASIC"
		note = "the secret is USER:PASSWORD in base64"
	case kind == "oauth2" || kind == "openidconnect":
		k.prefix, k.secret = "Bearer ", "TOKEN"
		note = "the secret is an access token, because there is no sign-in by " + oneLine(scheme.Text("type"), 20)
	case kind == "apikey" && in == "header" && web.CanSetHeader(wire):
		k.name, k.secret = wire, "KEY"
	case kind == "apikey" && in == "query" && wire != "" && !strings.Contains(wire, secret.Mark):
		k.in, k.name, k.secret = "query", wire, "KEY"
	case kind == "apikey":
		problem = its + " is in a cookie or header that a script cannot send"
	default:
		problem = its + " is not supported"
	}
	if schemes.Len() > 1 {
		k.secret = cmp.Or(identifier(name), k.secret)
	}
	k.secret = cmp.Or(p.doc.options.Secret, strings.ToUpper(cutName(p.doc.Group+"_"+k.secret, 90)))
	return k, note, problem
}

// findResponse finds the response of a success.
func (p *plan) findResponse() {
	responses := p.doc.object(p.spec, "responses")
	p.status = 200
	for _, code := range append(sortedKeys(responses), "default") {
		r := p.doc.object(responses, code)
		if r == nil || !strings.HasPrefix(code, "2") && (code != "default" || p.response != nil) {
			continue
		}
		if p.certain = p.response == nil && code != "default"; p.response == nil {
			p.response = r
			if n, err := strconv.Atoi(code); err == nil && n >= 200 && n < 300 {
				p.status = n
			}
		}
	}
	if responses.Len() == 0 {
		p.note("the document describes no response")
	} else if p.response == nil {
		p.note("the document describes no response that is a success")
	}
}

// result plans what a call returns. Of the schema, only the outer type is declared: servers differ from their documents, and a
// call with a result of another type fails.
func (p *plan) result() {
	if p.response == nil {
		p.answer = &value.Dict{}
		return
	}
	p.returns = oneLine(p.response.Text("description"), 200)
	mediaType, media, how := p.bodyOf(p.response)
	if mediaType == "" {
		return
	}
	if how != "json" {
		p.answer, p.field = "text", "body"
		p.returns = strings.TrimSpace(p.returns + " (" + oneLine(mediaType, 60) + ")")
		return
	}
	p.left, p.request = maxSchemas, false
	schema, _ := media.Get("schema")
	examples := p.doc.examples(media)
	s := p.shape(schema, "", examples, 1)
	parts, about := s.Type.Fields, "a dict with "
	outer := tool.Type{Name: tool.TypeAny}
	if p.certain {
		outer = tool.Type{Name: s.Type.Name, Nullable: s.Type.Nullable}
	}
	if item := s.Type.Items; item != nil {
		parts, about = item.Fields, "a list of dicts with "
		outer.Items = &tool.Type{Name: item.Name, Nullable: item.Nullable}
	}
	p.annotation = annotation(outer)
	p.answer, _ = p.first(outer, 1, slices.Concat(examples, []value.Value{s.sample}, made(outer, nil, &value.Dict{})))
	const most = 15
	if names := value.Map(parts, func(f tool.Param) string { return oneLine(f.Name, 60) }); len(names) > 0 {
		if len(names) > most {
			names = append(names[:most], "…")
		}
		p.returns = strings.TrimPrefix(strings.TrimSuffix(p.returns, ".")+": "+about+strings.Join(names, ", "), ": ")
	}
}

// server returns the server, which must be one host, without / at its end, and the host as capabilities name it.
func (p *plan) server() (server, host string, err error) {
	servers := p.doc.list(p.spec, "servers")
	for _, o := range []*value.Dict{p.item, p.doc.root} {
		if len(servers) == 0 {
			servers = p.doc.list(o, "servers")
		}
	}
	address := "/"
	if len(servers) > 0 {
		address = servers[0].Text("url")
		variables := p.doc.object(servers[0], "variables")
		for _, name := range sortedKeys(variables) {
			otherwise, _ := p.doc.object(variables, name).Get("default")
			address = strings.ReplaceAll(address, "{"+name+"}", value.Display(otherwise))
		}
	}
	address = cmp.Or(p.doc.options.Server, address)
	fail := func(format string) error {
		return value.Errorf(value.Invalid, format, oneLine(address, 200)).WithHint("name one: cassidy tool import FILE --openapi --server https://HOST/PATH")
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", "", fail("the server %q is not a URL")
	}
	if u.Host == "" && u.Scheme == "" {
		from, err := url.Parse(p.doc.options.Base)
		if err != nil || p.doc.options.Base == "" {
			return "", "", fail("the document does not say which host its server %q is on")
		}
		u = from.ResolveReference(u)
	}
	host = strings.ToLower(u.Host)
	if u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || !hostPattern().MatchString(host) {
		return "", "", fail("the server %q is not the http or https URL of one host")
	}
	host = strings.TrimSuffix(host, map[string]string{"https": ":443", "http": ":80"}[u.Scheme])
	return u.Scheme + "://" + host + escapePath(strings.TrimRight(u.Path, "/")), host, nil
}

// hostPattern matches one host: no wildcard of a capability is one.
var hostPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9_]([a-z0-9._-]*[a-z0-9_])?|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$`)
})

// escapePath escapes what cannot be in a path.
func escapePath(path string) string {
	return (&url.URL{Path: path}).EscapedPath()
}
