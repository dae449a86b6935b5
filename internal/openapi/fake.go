package openapi

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// test writes the tests: what is sent, and what is returned.
func (w *writer) test() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# The server and the secret are fakes: cassidy test %s\n", w.Name)
	if len(w.keys) > 0 {
		secrets := map[string]any{}
		for _, k := range w.keys {
			secrets[w.secrets[k.scheme]] = "a-value-for-tests"
		}
		b.WriteString("def setup(t):\n    t.secret(" + literal(secrets, "    ") + ")\n\n")
	}
	call := []string{quote(w.Name)}
	for _, p := range w.params {
		call = append(call, p.name+" = "+literal(p.kind.sample(), "        "))
	}
	b.WriteString("def call(t):\n    return " + bracket("t.call(", call, ")", "    ") + "\n\n")
	address, want := w.expected()

	seen := []string{`"method": r["method"]`, `"url": r["url"]`}
	expect := []string{`"method": ` + quote(w.Method), `"url": ` + quote(address)}
	for _, name := range slices.Sorted(maps.Keys(want.headers)) {
		lower := strings.ToLower(name)
		seen = append(seen, quote(lower)+`: r["headers"][`+quote(lower)+"]")
		expect = append(expect, quote(lower)+": "+quote(want.headers[name]))
	}
	if w.body != "" {
		field := map[bool]string{true: "json", false: "body"}[w.body == "json"]
		seen = append(seen, `"body": r["`+field+`"]`)
		expect = append(expect, `"body": `+literal(want.body, "        "))
	}
	b.WriteString("def test_request(t):\n")
	if w.Method == "HEAD" { // which has no body to return what was sent
		b.WriteString("    t.http({" + quote("HEAD "+address) + ": {}})\n    call(t)\n")
		b.WriteString("    t.eq(len(t.effects(\"http\")), 1)\n")
		return b.String()
	}
	b.WriteString("    t.http({\"*\": lambda r: {\"json\": " + bracket("{", seen, "}", "    ") + "}})\n")
	b.WriteString("    t.eq(call(t), " + bracket("{", expect, "}", "    ") + ")\n\n")

	response := []string{}
	if w.status != 200 {
		response = append(response, `"status": `+strconv.Itoa(w.status))
	}
	switch {
	case w.isText:
		response = append(response, `"body": `+literal(w.answer, "        "))
	case w.answer != nil:
		response = append(response, `"json": `+literal(w.answer, "        "))
	}
	key := quote(w.Method + " " + strings.SplitN(address, "?", 2)[0])
	b.WriteString("def test_answer(t):\n    t.http({" + key + ": " + bracket("{", response, "}", "    ") + "})\n")
	b.WriteString("    t.eq(call(t), " + literal(w.answer, "    ") + ")\n\n")
	b.WriteString("def test_error(t):\n    t.http({" + key + ": {\"status\": 404, \"json\": {\"message\": \"no such thing\"}}})\n")
	b.WriteString("    t.fails(lambda: call(t), match = \"404.*no such thing\")\n")
	return b.String()
}

// A sent is what a test expects a request to have.
type sent struct {
	headers map[string]string
	body    any
}

// expected returns the request of the call in the test.
func (w *writer) expected() (address string, s sent) {
	address = w.server
	w.eachPart(func(fixed string) { address += fixed }, func(p *param) {
		address += strings.Join(value.Map(items(p.kind.sample()), func(v any) string { return escape(plain(v)) }), ",")
	})
	s.headers = map[string]string{}
	body := map[string]any{}
	var query []string
	add := func(name string, v any) {
		for _, item := range items(v) {
			query = append(query, url.QueryEscape(name)+"="+url.QueryEscape(plain(item)))
		}
	}
	var last []func()
	for _, p := range w.params {
		v := p.kind.sample()
		joined := strings.Join(value.Map(items(v), plain), p.separator())
		switch {
		case p.in == "header":
			s.headers[p.wire] = joined
		case p.in == "body" && w.whole:
			s.body = v
		case p.in == "body":
			body[p.wire] = v
		case p.in != "query":
		case p.style == "json":
			add(p.wire, compact(v))
		case p.kind.name == "object":
			last = append(last, func() {
				d, _ := v.(map[string]any)
				for _, name := range slices.Sorted(maps.Keys(d)) {
					if p.style == "deepObject" {
						add(p.wire+"["+name+"]", d[name])
					} else {
						add(name, d[name])
					}
				}
			})
		case p.kind.name == "array" && !p.explode:
			add(p.wire, joined)
		default:
			add(p.wire, v)
		}
	}
	for _, k := range w.keys {
		placeholder := "{{secret:" + w.secrets[k.scheme] + "}}"
		if k.in == "query" {
			add(k.name, placeholder)
		} else {
			s.headers[k.name] = k.prefix + placeholder
		}
	}
	for _, add := range last {
		add()
	}
	if s.body == nil && w.body == "json" {
		s.body = body
	} else if s.body == nil && w.body == "form" {
		s.body = ""
		var pairs []string
		for _, p := range w.params {
			if p.in == "body" {
				for _, item := range items(p.kind.sample()) {
					pairs = append(pairs, url.QueryEscape(p.wire)+"="+url.QueryEscape(plain(item)))
				}
			}
		}
		s.body = strings.Join(pairs, "&")
	}
	if len(query) > 0 {
		address += "?" + strings.Join(query, "&")
	}
	return address, s
}

// items returns the items of a list, or a list of the value itself.
func items(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// plain writes a value as the query and the path have it.
func plain(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	return compact(v)
}

// compact writes a value as JSON.
func compact(v any) string {
	converted, err := value.FromGo(v)
	if err != nil {
		return ""
	}
	if f, ok := v.(float64); ok {
		return number(f)
	}
	return value.FormatJSON(converted, "")
}

// escape escapes a text as a part of a path.
func escape(text string) string {
	return strings.ReplaceAll(url.QueryEscape(text), "+", "%20")
}
