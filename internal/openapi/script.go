package openapi

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxTools is how many tools are made at a time: more than a model can choose from.
const MaxTools = 200

// A Tool is what is made of an operation. The files belong into the folder of the tools.
type Tool struct {
	*Operation
	Script, Test string // NAME.star and NAME_test.star
	Host         string
	Secrets      []string
}

// Tools makes tools of some operations of a document, which can all become tools. lib reports whether they load [Lib].
func Tools(d *Document, operations []*Operation, o *Options) (tools []Tool, lib bool, err error) {
	if len(operations) > MaxTools {
		return nil, false, value.Errorf(value.Limit, "import %d operations at once: the limit is %d", len(operations), MaxTools).
			WithHint("choose some: cassidy tool import FILE --openapi --tag TAG")
	}
	schemes := map[string]string{} // the names of secrets by their security schemes
	for _, op := range operations {
		op.plan = op.again().plan
		if op.plan.serverErr != nil {
			return nil, false, op.plan.serverErr
		}
		w := &writer{Operation: op, plan: op.plan, document: d, options: o, secrets: schemes, helpers: map[string]bool{}}
		op.planAnswer()
		t := Tool{Operation: op, Host: op.plan.host}
		for _, k := range op.keys {
			schemes[k.scheme] = cmp.Or(o.Secret, secretName(d, k))
			t.Secrets = append(t.Secrets, schemes[k.scheme])
		}
		if o.Secret != "" && len(schemes) > 1 {
			return nil, false, value.Errorf(value.Invalid, "--secret names one secret, but the operations use %d", len(schemes)).
				WithHint("omit the flag, and each gets a name of its own: cassidy tool import FILE --openapi")
		}
		t.Script, t.Test = w.script(), w.test()
		lib = lib || len(w.helpers) > 0
		tools = append(tools, t)
	}
	return tools, lib, nil
}

// secretName returns the name of the secret for a security scheme: the name of the scheme is in it if the document uses several.
func secretName(d *Document, k key) string {
	name := k.suffix
	for _, op := range d.Operations {
		if slices.ContainsFunc(op.keys, func(other key) bool { return other.scheme != k.scheme }) {
			name = cmp.Or(identifier(k.scheme), name)
		}
	}
	return strings.ToUpper(cutName(d.Group+"_"+name, 90))
}

// A writer writes the script and the test of a tool.
type writer struct {
	*Operation
	*plan
	document *Document
	options  *Options
	secrets  map[string]string // the names of secrets by their security schemes
	helpers  map[string]bool   // the functions of Lib that the script uses
}

// use returns the call of a function of Lib.
func (w *writer) use(name string, args ...string) string {
	w.helpers[name] = true
	return name + "(" + strings.Join(args, ", ") + ")"
}

// script writes the script.
func (w *writer) script() string {
	name := handler(w.Name)
	call := w.call()
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\"%s, from %s.\n\nMade by cassidy tool import.\n\"\"\"\n\n", inDoc(w.Label(), 200), inDoc(w.options.From, 200))
	loads := []string{quote("lib/" + LibName)}
	for _, helper := range slices.Sorted(maps.Keys(w.helpers)) {
		loads = append(loads, quote(helper))
	}
	b.WriteString(bracket("load(", loads, ")", "") + "\n\n")
	var signature []string
	for _, p := range w.params {
		text := p.name + ": " + p.kind.annotation()
		switch {
		case p.required:
		case p.kind.fallback != nil:
			text += " = " + literal(p.kind.fallback, "    ")
		default:
			text += " = None"
		}
		signature = append(signature, text)
	}
	if line := "def " + name + "(" + strings.Join(signature, ", ") + "):"; len(line) <= width {
		b.WriteString(line + "\n")
	} else { // as cassidy fmt does it
		b.WriteString("def " + name + "(\n        " + strings.Join(signature, ",\n        ") + "):\n")
	}
	w.docstring(&b)
	b.WriteString("    return " + call + "\n\n")
	b.WriteString(w.declaration(name))
	return b.String()
}

// docstring writes the docstring of the handler.
func (w *writer) docstring(b *strings.Builder) {
	const indent = "    "
	lines := wrap(sentence(inDoc(w.Summary, 120)), indent)
	if about := inDoc(w.about, 1000); about != "" && about != inDoc(w.Summary, 1000) {
		lines = append(append(lines, ""), wrap(about, indent)...)
	}
	if len(w.params) > 0 {
		lines = append(lines, "", indent+"Args:")
	}
	for _, p := range w.params {
		about := inDoc(p.kind.description(), 2*maxText)
		if about == "" || about[0] == '(' {
			about = sentence(strings.TrimSpace("The " + strings.TrimSpace(strings.ReplaceAll(p.name, "_", " ")) + " " + about))
		}
		part := wrap(p.name+": "+about, indent+"  ")
		for i := range part {
			if i > 0 {
				part[i] = "  " + part[i]
			}
		}
		lines = append(lines, part...)
	}
	if w.returns != "" {
		lines = append(lines, "", indent+"Returns:")
		lines = append(lines, wrap(sentence(inDoc(w.returns, 500)), indent+"  ")...)
	}
	lines[0] = indent + `"""` + strings.TrimLeft(lines[0], " ")
	b.WriteString(strings.Join(lines, "\n") + "\n" + indent + "\"\"\"\n")
}

// call writes the request.
func (w *writer) call() string {
	const indent = "    "
	fields := map[string][]string{} // query, header and body
	merged := []string{}            // dicts that the query has, too
	for _, p := range w.params {
		add := func(text string) { fields[p.in] = append(fields[p.in], quote(p.wire)+": "+text) }
		isList := p.kind.name == "array"
		switch {
		case p.in == "path" || p.in == "body":
			if p.in == "body" {
				add(p.name)
			}
		case p.style == "json":
			add(w.use("encoded", p.name))
		case p.style == "deepObject":
			merged = append(merged, w.use("deep", quote(p.wire), p.name))
		case p.kind.name == "object":
			merged = append(merged, w.use("given", p.name))
		case isList && (p.in == "header" || !p.explode):
			add(w.use("joined", p.name, quote(p.separator())))
		default:
			add(p.name)
		}
	}
	headers := fields["header"]
	query := fields["query"]
	for _, k := range w.keys {
		text := "secret(" + quote(w.secrets[k.scheme]) + ")"
		if k.prefix != "" {
			text = quote(k.prefix) + " + " + text
		}
		if k.in == "query" {
			query = append(query, quote(k.name)+": "+text)
		} else {
			headers = append(headers, quote(k.name)+": "+text)
		}
	}
	args := []string{w.address()}
	if len(query) > 0 || len(merged) > 0 {
		text := ""
		if len(query) > 0 {
			text = bracket("{", query, "}", indent+indent)
		}
		args = append(args, "params = "+strings.Join(slices.DeleteFunc(append([]string{text}, merged...), func(s string) bool { return s == "" }), " | "))
	}
	if w.mediaType != "" {
		headers = append(headers, `"Content-Type": `+quote(w.mediaType))
	}
	if len(headers) > 0 {
		args = append(args, "headers = "+bracket("{", headers, "}", indent+indent))
	}
	if w.body != "" {
		args = append(args, w.body+" = "+w.sent(fields["body"]))
	}
	result := "answer"
	if w.Method == "HEAD" {
		result = "headers"
	}
	return w.use(result, bracket("http."+strings.ToLower(w.Method)+"(", args, ")", indent))
}

// separator returns what is between the items of a list in one value.
func (p *param) separator() string {
	return cmp.Or(map[string]string{"spaceDelimited": " ", "pipeDelimited": "|"}[p.style], ",")
}

// sent writes the body.
func (w *writer) sent(fields []string) string {
	if w.whole {
		return "body"
	}
	text := bracket("{", fields, "}", "        ")
	if w.body == "json" && slices.ContainsFunc(w.params, func(p param) bool { return p.in == "body" && !p.required }) {
		return w.use("given", text)
	}
	return text
}

// address writes the URL, in which parameters are parts of the path.
func (w *writer) address() string {
	var parts []string
	text := w.server
	w.eachPart(func(fixed string) { text += fixed }, func(p *param) {
		parts = append(parts, quote(text))
		text = ""
		if p.kind.name == "array" {
			parts = append(parts, `",".join([`+w.use("segment", "v")+" for v in "+p.name+"])")
		} else {
			parts = append(parts, w.use("segment", p.name))
		}
	})
	if text != "" {
		parts = append(parts, quote(text))
	}
	return strings.Join(parts, " + ")
}

// eachPart goes through the parts of the path: fixed texts, and parameters.
func (w *writer) eachPart(fixed func(text string), of func(p *param)) {
	at := 0
	for _, m := range pathParam().FindAllStringSubmatchIndex(w.Path, -1) {
		name := w.Path[m[2]:m[3]]
		i := slices.IndexFunc(w.params, func(p param) bool { return p.in == "path" && p.wire == name })
		fixed(escapePath(w.Path[at:m[0]]))
		of(&w.params[i])
		at = m[1]
	}
	fixed(escapePath(w.Path[at:]))
}

// declaration writes the declaration of the tool.
func (w *writer) declaration(name string) string {
	fields := []string{name}
	put := func(name, text string) { fields = append(fields, name+" = "+text) }
	if name != w.Name {
		put("name", quote(w.Name))
	}
	put("group", quote(w.document.Group))
	hints := []string{`"open_world": True`}
	switch w.Method {
	case "GET", "HEAD":
		hints = append([]string{`"read_only": True`}, hints...)
	case "PUT", "DELETE":
		hints = append([]string{`"idempotent": True`}, hints...)
	}
	put("hints", bracket("{", hints, "}", "    "))
	needs := []string{quote("http." + strings.ToLower(w.Method) + ":" + w.host)}
	for _, k := range w.keys {
		needs = append(needs, quote("secret:"+w.secrets[k.scheme]+"@"+w.host))
	}
	put("needs", bracket("[", slices.Compact(needs), "]", "    "))
	var params []string
	for _, p := range w.params {
		if f := p.kind.fields("            "); len(f) > 0 {
			params = append(params, quote(p.name)+": "+bracket("param(", f, ")", "        "))
		}
	}
	if len(params) > 0 {
		put("params", bracket("{", params, "}", "    "))
	}
	var tags []any
	for _, tag := range w.Tags[:min(len(w.Tags), 5)] {
		tags = append(tags, tag)
	}
	if len(tags) > 0 {
		put("tags", literal(tags, "    "))
	}
	if w.deprecated {
		put("deprecated", quote("The document of the API says that this operation is deprecated."))
	}
	var b strings.Builder
	b.WriteString("tool(\n")
	for _, f := range fields {
		b.WriteString("    " + f + ",\n")
	}
	return b.String() + ")\n"
}
