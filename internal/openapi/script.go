package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/scripts"
	"github.com/cassidy-run/cassidy/stdlib/secret"
)

// MaxTools is how many tools are made at a time: more than a model can choose from.
const MaxTools = 200

// LibName is the name of [scripts.OpenAPILib] in the folder of the tools.
const LibName = "lib/openapi.star"

// A Tool is what is made of an operation. The files belong into the folder of the tools, with the one that they load.
type Tool struct {
	*Operation
	Script, Test string // NAME.star and NAME_test.star
	Host         string
	Secrets      []string
}

// Tools makes tools of some operations of a document, which can all become tools.
func Tools(d *Document, operations []*Operation) (tools []Tool, err error) {
	if len(operations) > MaxTools {
		return nil, value.Errorf(value.Limit, "import %d operations at once: the limit is %d", len(operations), MaxTools).
			WithHint("choose some: cassidy tool import FILE --openapi --tag TAG")
	}
	used := map[string]bool{}
	for _, op := range operations {
		p := d.plan(op, maxSchemas)
		server, host, err := p.server()
		if err != nil {
			return nil, err
		}
		t := Tool{Operation: op, Host: host}
		for _, k := range p.keys {
			used[k.scheme] = true
			t.Secrets = append(t.Secrets, k.secret)
		}
		if d.options.Secret != "" && len(used) > 1 {
			return nil, value.Errorf(value.Invalid, "--secret names one secret, but the operations use %d", len(used)).
				WithHint("omit the flag, and each gets a name of its own: cassidy tool import FILE --openapi")
		}
		p.result()
		call, sent := p.call(server)
		t.Script, t.Test = p.script(host, call), p.test(sent)
		tools = append(tools, t)
	}
	if d.wrong != nil {
		return nil, d.wrong
	}
	return tools, nil
}

// entries are those of a dict: as the script writes them, and their values for the samples.
type entries struct {
	code []string
	sent value.Dict
}

func (e *entries) add(name, code string, sent value.Value) {
	e.code = append(e.code, quote(name)+": "+code)
	e.sent.Put(name, sent)
}

// call plans the expression that sends the request, and the arguments that the function of http gets in the test.
func (p *plan) call(server string) (code string, sent *value.Dict) {
	address, at := p.address(server)
	args, sent := []string{address}, value.NewDict("url", at)
	part := map[string]*entries{"query": {}, "header": {}, "body": {}}
	for _, x := range p.params {
		to := part[x.in]
		switch {
		case x.in == "path" || x.isSpread():
		case x.style == "json":
			to.add(x.wire, p.use("encoded", x.Name), value.FormatJSON(x.sample, ""))
		case x.Type.Name == tool.TypeArray && (x.in == "header" || x.in == "query" && !x.explode):
			separator := cmp.Or(map[string]string{"spaceDelimited": " ", "pipeDelimited": "|"}[x.style], ",")
			to.add(x.wire, p.use("joined", x.Name, quote(separator)), strings.Join(texts(x.sample), separator))
		case x.in != "body" && !isSimple(&x.Type):
			to.add(x.wire, p.use("flat", x.Name), flat(x.sample))
		default:
			to.add(x.wire, x.Name, x.sample)
		}
	}
	for _, k := range p.keys {
		code := "secret(" + quote(k.secret) + ")"
		if k.prefix != "" {
			code = quote(k.prefix) + " + " + code
		}
		part[k.in].add(k.name, code, k.prefix+secret.Placeholder(k.secret))
	}
	if p.mediaType != "" {
		part["header"].add("Content-Type", quote(p.mediaType), p.mediaType)
	}
	var query []string
	if params := part["query"]; len(params.code) > 0 {
		query = append(query, bracket("{", params.code, "}"))
	}
	for _, x := range p.params {
		if x.isSpread() {
			deep := x.style == "deepObject"
			if deep {
				query = append(query, p.use("spread", x.Name, quote(x.wire)))
			} else {
				query = append(query, p.use("spread", x.Name))
			}
			for k, v := range x.sample.(*value.Dict).All() {
				if name := k.(string); v != nil && deep {
					part["query"].sent.Put(x.wire+"["+name+"]", flat(v))
				} else if v != nil {
					part["query"].sent.Put(name, flat(v))
				}
			}
		}
	}
	add := func(name, code string, v value.Value) {
		args = append(args, name+" = "+code)
		sent.Put(name, v)
	}
	if len(query) > 0 {
		add("params", strings.Join(query, " | "), &part["query"].sent)
	}
	if headers := part["header"]; len(headers.code) > 0 {
		add("headers", bracket("{", headers.code, "}"), &headers.sent)
	}
	switch body := part["body"]; {
	case p.body == "":
	case p.whole:
		v, _ := body.sent.Get("body")
		add(p.body, "body", v)
	case p.body == "json" && slices.ContainsFunc(p.params, func(x param) bool { return x.in == "body" && !x.Required }):
		add(p.body, p.use("given", bracket("{", body.code, "}")), &body.sent)
	default:
		add(p.body, bracket("{", body.code, "}"), &body.sent)
	}
	result := "answer"
	if p.Method == "HEAD" {
		result = "headers"
	}
	return p.use(result, bracket("http."+strings.ToLower(p.Method)+"(", args, ")")), sent
}

// isSpread reports whether the fields of a parameter are values of the query.
func (x *param) isSpread() bool {
	return x.in == "query" && x.style != "json" && x.Type.Name == tool.TypeObject
}

// address returns the URL as the script writes it, with parameters as parts of the path, and the one for the samples.
func (p *plan) address(server string) (code, text string) {
	var parts []string
	fixed, at := server, 0
	add := func(end int) {
		if fixed += escapePath(p.Path[at:end]); fixed != "" {
			parts = append(parts, quote(fixed))
		}
		text += fixed
	}
	for _, m := range pathParam().FindAllStringSubmatchIndex(p.Path, -1) {
		add(m[0])
		fixed, at = "", m[1]
		x := p.params[slices.IndexFunc(p.params, func(x param) bool { return x.in == "path" && x.wire == p.Path[m[2]:m[3]] })]
		values := []string{value.Display(x.sample)}
		if x.Type.Name == tool.TypeArray {
			values = texts(x.sample)
			parts = append(parts, `",".join([`+p.use("segment", "v")+" for v in "+x.Name+"])")
		} else {
			parts = append(parts, p.use("segment", x.Name))
		}
		text += strings.Join(value.Map(values, func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }), ",")
	}
	add(len(p.Path))
	return strings.Join(parts, " + "), text
}

// texts writes a value, or each one in a list, as text.
func texts(v value.Value) []string {
	if list, ok := v.(value.List); ok {
		return value.Map(list, value.Display)
	}
	return []string{value.Display(v)}
}

// flat does what the function of the scripts does.
func flat(v value.Value) value.Value {
	if list, ok := v.(value.List); ok {
		return value.List(value.Map(list, func(v value.Value) value.Value { return value.Display(v) }))
	}
	return value.Display(v)
}

// use returns the call of a function that scripts load.
func (p *plan) use(name string, args ...string) string {
	p.helpers[name] = true
	return name + "(" + strings.Join(args, ", ") + ")"
}

// script writes the script.
func (p *plan) script(host, call string) string {
	name := scripts.Function(p.Name)
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\"%s, from %s.\n\nMade by cassidy tool import.\n\"\"\"\n\n", inDoc(p.Label(), 200), inDoc(p.doc.options.From, 200))
	b.WriteString(bracket("load(", value.Map(append([]string{LibName}, slices.Sorted(maps.Keys(p.helpers))...), quote), ")") + "\n\n")
	var signature []string
	for _, x := range p.params {
		text := x.Name + ": " + annotation(x.Type)
		if x.HasDefault && !x.Required {
			text += " = " + indented(literal(x.Default))[4:]
		} else if !x.Required {
			text += " = None"
		}
		signature = append(signature, text)
	}
	returns := ":"
	if p.annotation != "" && p.annotation != tool.TypeAny {
		returns = " -> " + p.annotation + ":"
	}
	if line := "def " + name + "(" + strings.Join(signature, ", ") + ")" + returns; len(line) <= width {
		b.WriteString(line + "\n")
	} else { // as cassidy fmt does it
		b.WriteString("def " + name + "(\n        " + strings.Join(signature, ",\n        ") + ")" + returns + "\n")
	}
	b.WriteString(p.docstring() + indented("return "+call) + "\n\n" + p.declaration(name, host))
	return b.String()
}

// docstring writes the docstring of the handler.
func (p *plan) docstring() string {
	const indent = "    "
	lines := wrap(sentence(inDoc(p.Summary, 120)), indent)
	about := cmp.Or(p.spec.Text("description"), p.item.Text("description"))
	if about = inDoc(about, 1000); about != "" && about != inDoc(p.Summary, 1000) {
		lines = append(append(lines, ""), wrap(about, indent)...)
	}
	if len(p.params) > 0 {
		lines = append(lines, "", indent+"Args:")
	}
	for _, x := range p.params {
		about := inDoc(x.Description, 2*maxText)
		if about == "" || about[0] == '(' {
			about = sentence(strings.TrimSpace("The " + strings.TrimSpace(strings.ReplaceAll(x.Name, "_", " ")) + " " + about))
		}
		part := wrap(x.Name+": "+about, indent+"  ")
		lines = append(lines, part[0])
		for _, line := range part[1:] {
			lines = append(lines, "  "+line)
		}
	}
	if p.returns != "" {
		lines = append(append(lines, "", indent+"Returns:"), wrap(sentence(inDoc(p.returns, 500)), indent+"  ")...)
	}
	return indent + `"""` + strings.TrimLeft(strings.Join(lines, "\n"), " ") + "\n" + indent + "\"\"\"\n"
}

// declaration writes the declaration of the tool.
func (p *plan) declaration(name, host string) string {
	list := []string{name}
	put := func(name, text string) { list = append(list, name+" = "+text) }
	if name != p.Name {
		put("name", quote(p.Name))
	}
	put("group", quote(p.doc.Group))
	hints := map[string]string{"GET": "read_only", "HEAD": "read_only", "PUT": "idempotent", "DELETE": "idempotent"}
	if hint := hints[p.Method]; hint != "" {
		put("hints", `{"`+hint+`": True, "open_world": True}`)
	} else {
		put("hints", `{"open_world": True}`)
	}
	needs := []string{"http." + strings.ToLower(p.Method) + ":" + host}
	for _, k := range p.keys {
		needs = append(needs, "secret:"+k.secret+"@"+host)
	}
	put("needs", bracket("[", value.Map(slices.Compact(needs), quote), "]"))
	var params []string
	for _, x := range p.params {
		if fields := fieldsOf(x.Type); len(fields) > 0 {
			params = append(params, quote(x.Name)+": "+bracket("param(", fields, ")"))
		}
	}
	if len(params) > 0 {
		put("params", bracket("{", params, "}"))
	}
	if len(p.Tags) > 0 {
		put("tags", bracket("[", value.Map(p.Tags[:min(len(p.Tags), 5)], quote), "]"))
	}
	if p.spec.Bool("deprecated") {
		put("deprecated", quote("The document of the API says that this operation is deprecated."))
	}
	return "tool(\n" + indented(strings.Join(list, ",\n")) + ",\n)\n"
}

// test writes the tests: what is sent, and what is returned.
func (p *plan) test(sent *value.Dict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The server and the secret are fakes: cassidy test %s\n", p.Name)
	def := func(name, body string) { b.WriteString("def " + name + "(t):\n" + indented(body) + "\n\n") }
	secrets := &value.Dict{}
	for _, k := range p.keys {
		secrets.Put(k.secret, "a-value-for-tests")
	}
	if secrets.Len() > 0 {
		def("setup", "t.secret("+literal(secrets)+")")
	}
	call := []string{quote(p.Name)}
	for _, x := range p.params {
		call = append(call, x.Name+" = "+literal(x.sample))
	}
	def("call", "return "+bracket("t.call(", call, ")"))
	answer := value.NewDict("status", p.status)
	if p.answer != nil && p.Method != "HEAD" {
		answer.Put(cmp.Or(p.field, "json"), p.answer)
	}
	test := `t.http({"*": ` + literal(answer) + "})\n"
	if p.Method == "HEAD" {
		test += "call(t)\n"
	} else {
		test += "t.eq(call(t), " + literal(p.answer) + ")\n"
	}
	effect := value.NewDict("func", "http."+strings.ToLower(p.Method), "args", sent, "tool", p.Name)
	def("test_call", test+"t.eq(t.effects(\"http\"), "+literal(value.List{effect})+")")
	missing, match := "", "404"
	if p.Method != "HEAD" {
		missing, match = `, "json": {"message": "no such thing"}`, "404.*no such thing"
	}
	def("test_error", `t.http({"*": {"status": 404`+missing+"}})\nt.fails(lambda: call(t), match = "+quote(match)+")")
	return strings.TrimSuffix(b.String(), "\n")
}
