package page

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// zurich is the zone of tests, an hour or two after UTC.
func zurich(t testing.TB) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Zurich")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

// formOf returns the form of a JSON Schema, and the check of a tool that has it.
func formOf(t testing.TB, schema string) (*Form, func(*value.Dict) error) {
	t.Helper()
	x := &tool.Tool{Name: "f", Description: "Does it.", Schema: []byte(schema)}
	return formOfTool(t, x)
}

func formOfTool(t testing.TB, x *tool.Tool) (*Form, func(*value.Dict) error) {
	t.Helper()
	if err := x.Validate(); err != nil {
		t.Fatal(err)
	}
	s, err := x.ArgsSchema()
	if err != nil {
		t.Fatal(err)
	}
	return NewForm(s, zurich(t), clock()), func(args *value.Dict) error {
		_, _, err := x.ReadArgs(&tool.Call{Tool: "f", Args: args, Caller: tool.ByPerson})
		return err
	}
}

// object returns the schema of an object with a field x.
func object(schema string, required bool) string {
	if required {
		return `{"type":"object","properties":{"x":` + schema + `},"required":["x"]}`
	}
	return `{"type":"object","properties":{"x":` + schema + `}}`
}

// wellFormed checks the HTML of a part of a page.
func wellFormed(t *testing.T, p *Pages, name, part string) {
	t.Helper()
	icons, err := p.RenderPart("icons", nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Run(name, func(t *testing.T) {
		text := "<main><h1>Form</h1><h2>of it</h2>" + icons + part + "</main>"
		checkNesting(t, "<html><head></head><body>"+text+"</body></html>")
		root, err := html.Parse(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		checkTree(t, root)
		if t.Failed() {
			t.Log(part)
		}
	})
}

// TestFormRows has a row for each row of the table of schemas and controls: what the HTML has, and what
// values become.
func TestFormRows(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	const list = `{"type":"array","items":{"type":"string"}}`
	const dict = `{"type":"object","additionalProperties":{"type":"integer"}}`
	const nested = `{"type":"object","properties":{"from":{"type":"string","format":"date"},"name":{"type":"string"}},"required":["name"]}`
	const shape = `{"oneOf":[{"title":"circle","type":"object","properties":{"kind":{"const":"circle"},"r":{"type":"number"}},"required":["kind","r"]},` +
		`{"title":"square","type":"object","properties":{"kind":{"const":"square"},"a":{"type":"number"}},"required":["kind"]}]}`
	for _, c := range []struct {
		schema   string
		required bool
		part     string // a part of the HTML
		in       string // a query
		want     string // the arguments, or the error after "!"
	}{
		// Texts.
		{`{"type":"string"}`, false, `<input id="f.x" name="/x" value="">`, "/x=", `{}`},
		{`{"type":"string"}`, false, `>send as empty text</label>`, "/x=&_empty=/x", `{"x":""}`},
		{`{"type":"string"}`, true, `aria-required="true" value="">`, "/x=", `{"x":""}`},
		{`{"type":"string"}`, false, ``, "/x=+a%0D%0Ab", `{"x":" a\nb"}`},
		{`{"type":"string","maxLength":201}`, false, `<textarea id="f.x" name="/x" rows="3">`, "/x=a", `{"x":"a"}`},
		{`{"type":"string","maxLength":3}`, false, `text, at most 3 characters`, "/x=abcd", `!/x: must have at most 3 characters (you gave 4)`},
		{`{"type":"string","default":"a b"}`, false, `Left empty: <bdi>a b</bdi>.`, "/x=", `{}`},
		{`{"type":"string","pattern":"^a$"}`, true, ``, "/x=", `!/x: must match pattern: ^a$`},
		{`{"type":"string","format":"password"}`, false, `type="password" autocomplete="off">`, "/x=a", `{"x":"a"}`},
		{`{"type":"string","format":"date"}`, false, `type="date" value="">`, "/x=2026-04-01", `{"x":"2026-04-01"}`},
		{`{"type":"string","format":"date-time"}`, false, `date and time in Europe/Zurich`, "/x=2026-04-01T12:30", `{"x":"2026-04-01T12:30:00+02:00"}`},
		{`{"type":"string","format":"time"}`, false, `type="time" step="1"`, "/x=12:30", `{"x":"12:30:00+01:00"}`},
		// Choices.
		{`{"enum":["a","b"]}`, false, `<input type="radio" name="/x" value="" checked><bdi>not set</bdi>`, "/x=", `{}`},
		{`{"enum":["a","b"]}`, true, `<input type="radio" name="/x" value="a">`, "", `!/x: is required`},
		{`{"enum":["a","b"]}`, false, ``, "/x=b", `{"x":"b"}`},
		{`{"enum":["a","b"]}`, false, ``, "/x=c", `!/x: must be one of the choices (you gave c)`},
		{`{"enum":[1,"1",null,""]}`, false, `value="&#34;1&#34;"`, `/x="1"`, `{"x":"1"}`},
		{`{"enum":[1,"1",null,""]}`, false, ``, `/x=null`, `{"x":null}`},
		{`{"enum":[1,"1",null,""]}`, false, ``, `/x=""`, `{"x":""}`},
		{`{"enum":["a","b","c","d","e","f"]}`, false, `<option value="" selected>not set</option>`, "/x=f", `{"x":"f"}`},
		{`{"enum":["a","b","c","d","e","f"]}`, true, `<option value="" selected>choose one</option>`, "/x=", `!/x: is required`},
		{`{"oneOf":[{"const":1,"title":"one"},{"const":2,"title":"two"}]}`, false, `<bdi>two</bdi>`, "/x=2", `{"x":2}`},
		// Numbers.
		{`{"type":"integer","minimum":1,"maximum":100}`, false, `type="number" inputmode="numeric" min="1" max="100" step="1"`, "/x=250", `!/x: must be 100 or less (you gave 250)`},
		{`{"type":"integer"}`, false, ``, "/x=9007199254740993", `{"x":9007199254740993}`},
		{`{"type":"integer"}`, false, ``, "/x=1.5", `!/x: should be integer but got number`},
		{`{"type":"integer"}`, false, ``, "/x=a", `!/x: must be a number (you gave “a”)`},
		{`{"type":"integer"}`, true, ``, "/x=", `!/x: is required`},
		{`{"type":"number"}`, false, `step="any"`, "/x=-.5", `{"x":-0.5}`},
		{`{"type":"number","default":10}`, false, `placeholder="10"`, "/x=", `{}`},
		// Booleans.
		{`{"type":"boolean","default":false}`, false, `type="checkbox" value="true">`, "", `{}`},
		{`{"type":"boolean","default":false}`, false, ``, "/x=true", `{"x":true}`},
		{`{"type":"boolean","default":true}`, false, `Not set: <bdi>yes</bdi>.`, "/x=false", `{"x":false}`},
		{`{"type":"boolean","default":true}`, false, `checked><bdi>not set</bdi>`, "/x=", `{}`},
		{`{"type":"boolean"}`, true, `<input type="radio" name="/x" value="true"><bdi>yes</bdi>`, "/x=true", `{"x":true}`},
		// Lists.
		{list, false, `<button class="mini" name="_add" value="/x" formnovalidate>Add an item`, "", `{}`},
		{list, true, ``, "", `{"x":[]}`},
		{list, false, ``, "_row=/x/0&_row=/x/2&/x/0=a&/x/2=b", `{"x":["a","b"]}`},
		{list, false, ``, "_row=/x/2&_row=/x/0&/x/0=a&/x/2=b", `{"x":["b","a"]}`},
		{list, false, ``, "/x/10=b&/x/9=a", `{"x":["a","b"]}`},
		{list, false, ``, "_row=/x/0&/x/0=", `{}`},
		{`{"type":"array","items":{"type":"integer"},"minItems":2}`, false, `at least 2 items`, "/x/0=1", `!/x: must have at least 2 items (you gave 1)`},
		{`{"type":"array","items":{"type":"integer"}}`, false, ``, "_row=/x/4&/x/4=a&_row=/x/5&/x/5=1.5", `!/x/4: must be a number (you gave “a”)|/x/5: should be integer but got number`},
		{`{"type":"array","items":` + nested + `}`, false, ``, "_row=/x/0&/x/0/from=2026-04-01&_row=/x/1", `{"x":[{"from":"2026-04-01","name":""}]}`},
		{`{"type":"array","items":` + list + `}`, false, ``, "_row=/x/0&_row=/x/0/0&/x/0/0=a", `{"x":[["a"]]}`},
		{`{"type":"array"}`, false, `<textarea class="mono"`, "/x=[1]", `{"x":[1]}`},
		// Dicts.
		{dict, false, `Add a pair`, "_row=/x/0&/x/0/key=a&/x/0/value=1", `{"x":{"a":1}}`},
		{dict, false, ``, "_row=/x/0&/x/0/key=&/x/0/value=", `{}`},
		{dict, false, ``, "_row=/x/0&/x/0/key=&/x/0/value=1", `!/x/0/key: a name is missing`},
		{dict, false, ``, "_row=/x/0&/x/0/key=a&/x/0/value=", `!/x/0/value: the value of “a” is missing`},
		{dict, false, ``, "_row=/x/0&/x/0/key=a&/x/0/value=1&_row=/x/1&/x/1/key=a&/x/1/value=2", `!/x/1/key: the name “a” is there twice`},
		{dict, false, ``, "_row=/x/3&/x/3/key=a.b&/x/3/value=1.5", `!/x/3/value: should be integer but got number`},
		// Objects.
		{nested, false, `<fieldset class="f" id="f.x">`, "/x/from=&/x/name=", `{}`},
		{nested, false, ``, "/x/from=2026-04-01&/x/name=", `{"x":{"from":"2026-04-01","name":""}}`},
		{nested, true, ``, "/x/from=&/x/name=", `{"x":{"name":""}}`},
		// Null.
		{`{"type":["integer","null"]}`, false, `<input type="checkbox" name="_null" value="/x">`, "/x=&_null=/x", `{"x":null}`},
		{`{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null}`, false, `type="number"`, "/x=3", `{"x":3}`},
		{`{"type":["integer","null"]}`, true, ``, "_null=/x", `{"x":null}`},
		{`{"type":"integer"}`, false, ``, "_null=/x", `{}`},
		// Variants.
		{shape, false, `<input type="radio" name="/x" value="0">`, "/x=0&/x/0/r=2", `{"x":{"kind":"circle","r":2}}`},
		{shape, false, ``, "/x=1&/x/0/r=2", `{"x":{"kind":"square"}}`},
		{shape, false, ``, "/x=&/x/0/r=2", `{}`},
		{shape, true, ``, "/x=0", `!/x/0/r: is required`},
		{`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, false, `name="/x/1"`, "/x=1&/x/1=5", `{"x":"5"}`},
		{`{"anyOf":[{"type":"integer"},{"type":"string"}]}`, false, ``, "/x=0&/x/0=5", `{"x":5}`},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, false, `<textarea class="mono"`, `/x={"a":1}`, `{"x":{"a":1}}`},
		// Anything else.
		{`{}`, false, `JSON of this schema`, `/x={"a":[1]}`, `{"x":{"a":[1]}}`},
		{`{}`, false, ``, "/x=", `{}`},
		{`{}`, false, ``, "/x=hello", `!/x: is not JSON: invalid JSON at line 1, column 1: expected a value but got 'h'. Write a text in quotes: "hello"`},
		{`{"const":"a"}`, true, `always a`, "", `{"x":"a"}`},
		{`{"const":"a"}`, false, `type="checkbox"`, "", `{}`},
		{`{"type":["string","integer"]}`, false, `<textarea class="mono"`, "/x=5", `{"x":5}`},
	} {
		name := fmt.Sprintf("%s %v %s", c.schema, c.required, c.in)
		f, check := formOf(t, object(c.schema, c.required))
		v := FormView{Deed: "Run f", Can: true}
		f.Show(&v, nil)
		text, err := p.RenderPart("form", &v)
		if err != nil || !strings.Contains(text, c.part) {
			t.Errorf("%s: %v: there is no %s in\n%s", name, err, c.part, text)
		}
		wellFormed(t, p, name, text)
		values, err := url.ParseQuery(strings.ReplaceAll(c.in, `"`, "%22"))
		if err != nil {
			t.Fatal(err)
		}
		s := f.Submit(Input{Values: values}, check)
		if got := submitted(s); got != c.want {
			t.Errorf("%s:\n  is   %s\n  want %s", name, got, c.want)
		}
		f.Show(&v, s)
		text, err = p.RenderPart("form", &v)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wellFormed(t, p, name, text)
		if again := f.Submit(f.Filled(s.Args), check); s.Run && submitted(again) != c.want && !strings.Contains(c.schema, "password") {
			t.Errorf("%s: filled again it is %s: %v", name, submitted(again), again.input.Values)
		}
	}
}

// submitted returns the arguments, or the errors after "!".
func submitted(s *Submission) string {
	if s.Run {
		return value.FormatJSON(s.Args, "")
	}
	var texts []string
	for _, e := range s.errors {
		texts = append(texts, e.At+": "+e.Text)
	}
	slices.Sort(texts)
	return "!" + strings.Join(texts, "|")
}

// show returns the HTML of a form.
func show(t *testing.T, p *Pages, f *Form, s *Submission) string {
	t.Helper()
	v := FormView{Deed: "Run f", Command: "cassidy tool run f", Can: true}
	f.Show(&v, s)
	text, err := p.RenderPart("form", &v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestFormHostileNames reads and shows fields whose names could be taken for something else.
func TestFormHostileNames(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	names := []string{
		"a/b", "~", "~1", "a b", "_key", "_act", "0", "-", `"><script>alert(1)</script>`, "è́", "\u202eabc", "' onfocus='x", "{{.}}", "x\ny", ".", "a.b", "[0]", "__proto__", "javascript:x",
	}
	properties, values, want := &value.Dict{}, url.Values{}, &value.Dict{}
	for _, name := range names {
		properties.Put(name, value.NewDict("type", "integer", "title", name+"!", "description", name))
		values.Set(join("", name), "1")
		want.Put(name, int64(1))
	}
	f, check := formOf(t, value.FormatJSON(value.NewDict("type", "object", "properties", properties), ""))
	s := f.Submit(Input{Values: values}, check)
	if !s.Run || !value.EqualJSON(s.Args, want) {
		t.Errorf("the arguments are %s: %s", s.Args, submitted(s))
	}
	text := show(t, p, f, s)
	wellFormed(t, p, "names", text)
	if strings.Contains(text, "<script") || strings.Contains(text, "\u202e") && !strings.Contains(text, "⟨U+202E⟩") {
		t.Errorf("it has\n%s", text)
	}
	for _, name := range names {
		values.Set(join("", name), "x")
	}
	s = f.Submit(Input{Values: values}, check)
	if len(s.errors) != len(names) {
		t.Errorf("there are %d errors: %v", len(s.errors), s.errors)
	}
	for _, name := range names {
		if !slices.ContainsFunc(s.errors, func(e FieldError) bool { return e.At == join("", name) }) {
			t.Errorf("there is no error at %q", join("", name))
		}
		values.Set(join("", name), "1.5")
	}
	wellFormed(t, p, "errors", show(t, p, f, s))
	s = f.Submit(Input{Values: values}, check)
	for _, name := range names {
		if !slices.ContainsFunc(s.errors, func(e FieldError) bool { return e.At == join("", name) }) && name != "x\ny" {
			t.Errorf("there is no error of the tool at %q: %v", join("", name), s.errors)
		}
	}
}

// TestFormRowsChange adds and removes rows, and says where the focus goes.
func TestFormRowsChange(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	f, check := formOf(t, object(`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"l":{"type":"array","items":{"type":"integer"}}}}}`, false))
	values := url.Values{addName: {"/x"}}
	for _, c := range []struct{ act, at, want string }{
		{addName, "/x", `name="/x/0/a" autofocus`},
		{addName, "/x", `name="/x/1/a" autofocus`},
		{addName, "/x/1/l", `name="/x/1/l/0"`},
		{delName, "/x/0", `name="/x/1/l/0"`},
		{addName, "/x", `name="/x/2/a" autofocus`},
		{delName, "/x/1/l/0", `name="_add" value="/x/1/l" formnovalidate autofocus`},
		{addName, "/nothing", `name="/x/2/a"`},
		{delName, "/nothing", `name="/x/2/a"`},
		{delName, "nothing", `name="/x/2/a"`},
	} {
		values.Del(addName)
		values.Del(delName)
		values.Set(c.act, c.at)
		s := f.Submit(Input{Values: values}, check)
		if s.Run || len(s.errors) > 0 {
			t.Errorf("%s %s: it runs, or has %v", c.act, c.at, s.errors)
		}
		text := show(t, p, f, s)
		wellFormed(t, p, c.act+c.at, text)
		if !strings.Contains(text, c.want) {
			t.Errorf("%s %s: there is no %s in\n%s", c.act, c.at, c.want, text)
		}
		values = s.input.Values
	}
}

// TestFormJSON changes between fields and JSON, which keeps what was entered.
func TestFormJSON(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	f, check := formOf(t, `{"type":"object","properties":{"n":{"type":"integer"},"list":{"type":"array","items":{"type":"string"}},"pw":{"type":"string","format":"password"}}}`)
	s := f.Submit(Input{Values: url.Values{"/n": {"3"}, "/list/0": {"a"}, "/pw": {"hunter2"}, actName: {"json"}, keyName: {"k1"}}}, check)
	text := show(t, p, f, s)
	if s.Run || !strings.Contains(text, `name="_json"`) || !strings.Contains(text, "&#34;n&#34;: 3") || strings.Contains(text, "hunter2") || !strings.Contains(text, `name="_key" value="k1"`) {
		t.Errorf("the JSON is\n%s", text)
	}
	wellFormed(t, p, "JSON", text)
	s.input.Values.Set(actName, "form")
	s = f.Submit(s.input, check)
	if text = show(t, p, f, s); s.Run || !strings.Contains(text, `name="/n" type="number" inputmode="numeric" step="1" value="3"`) || !strings.Contains(text, `name="/list/0"`) {
		t.Errorf("the form is\n%s", text)
	}
	for text, want := range map[string]string{
		`{"n":4}`:       `{"n":4}`,
		``:              `{}`,
		`{"n":`:         `!_json: is not JSON: invalid JSON at line 1, column 6: expected a value but got the end of the text`,
		`[1]`:           `!_json: must be an object, as in {"name": "value"}`,
		`{"n":"x"}`:     `!_json: Parameter 'n' should be integer but got string`,
		`{"n":{"a":1}}`: `!_json: Parameter 'n' should be integer but got object`,
	} {
		if s := f.Submit(Input{Values: url.Values{jsonName: {text}}}, check); submitted(s) != want {
			t.Errorf("%s: %s, want %s", text, submitted(s), want)
		} else {
			wellFormed(t, p, text, show(t, p, f, s))
		}
	}
	// A choice that is the default stays a choice.
	g, check := formOf(t, `{"type":"object","properties":{"a":{"enum":["x","y"],"default":"x"},"b":{"type":"boolean","default":false}}}`)
	s = g.Submit(Input{Values: url.Values{"/a": {"x"}, actName: {"json"}}}, check)
	if s.input.Values.Set(actName, "form"); !strings.Contains(show(t, p, g, g.Submit(s.input, check)), `value="x" checked`) {
		t.Errorf("the choice is lost: %v", s.input.Values)
	}
	if in := g.Filled(value.NewDict("a", "x", "b", false)); len(in.Values) > 0 {
		t.Errorf("defaults fill %v", in.Values)
	}
	// What the fields cannot hold is shown as JSON.
	for args, want := range map[string]string{
		`{"n":"x"}`:         `name="_code" value="/n"`,
		`{"list":["a",1]}`:  `name="_code" value="/list"`,
		`{"list":[""]}`:     `name="_code" value="/list"`,
		`{"other":1}`:       `name="_json"`,
		`{"list":["a\nb"]}`: `<textarea id="f.list.0"`,
	} {
		v, _ := value.ParseJSON([]byte(args))
		s := f.Fill(f.Filled(v.(*value.Dict)))
		text := show(t, p, f, s)
		wellFormed(t, p, args, text)
		if !strings.Contains(text, want) || !value.EqualJSON(s.Args, v) {
			t.Errorf("%s is %s, and there is no %s in\n%s", args, s.Args, want, text)
		}
	}
}

// TestFormBounds submits and shows what is too large.
func TestFormBounds(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	f, check := formOf(t, object(`{"type":"array","items":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}}`, false))
	many := url.Values{}
	for i := range 10_001 {
		many.Set(fmt.Sprintf("/x/%d/%d/a", i/100, i%100), "a")
	}
	s := f.Submit(Input{Values: many}, check)
	if s.Run || len(s.errors) != 1 || !strings.Contains(s.errors[0].Text, "more than 10,000 values") {
		t.Errorf("it has %v", s.errors)
	}
	wellFormed(t, p, "10,001 values", show(t, p, f, s))
	many.Del("/x/100/0/a")
	s = f.Submit(Input{Values: many}, check)
	text := show(t, p, f, s)
	if s.Run || !strings.Contains(submitted(s), "too many rows") || strings.Count(text, "<input") > 2*maxShown+20 {
		t.Errorf("%d values are shown, and it has %v", strings.Count(text, "<input"), s.errors)
	}
	wellFormed(t, p, "10,000 values", text)

	properties := &value.Dict{}
	for i := range 10_000 {
		properties.Put(fmt.Sprint("p", i), value.NewDict("type", "string"))
	}
	wide := NewForm(value.NewDict("type", "object", "properties", properties), time.UTC, clock())
	v := FormView{}
	if wide.Show(&v, nil); v.JSON == nil || v.CanForm {
		t.Errorf("a schema with 10,000 fields has %d of them", len(v.Fields))
	}
	self, _ := formOf(t, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/c"},"l":{"type":"array","items":{"$ref":"#"}}}},"c":{"$ref":"#/$defs/c"}}}`)
	if text := show(t, p, self, nil); len(text) > 60_000 || !strings.Contains(text, `name="/a/a/a/a/a"`) {
		t.Errorf("a schema of itself has %d bytes\n%s", len(text), text)
	}
	one, _ := formOf(t, object(`{"type":"string"}`, false))
	large := strings.Repeat("a ", 1<<20)
	if s := one.Submit(Input{Values: url.Values{"/x": {large}}}, func(*value.Dict) error { return nil }); s.Args.Text("x") != large {
		t.Error("a large text was changed")
	}
}

// TestFormNames names fields in errors as the form shows them, in its order.
func TestFormNames(t *testing.T) {
	t.Parallel()
	f, check := formOf(t, `{"type":"object","properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"integer"}}},"b":{"type":"object","additionalProperties":{"type":"integer"}},"c":{"type":"integer"}}}`)
	values := url.Values{"/c": {"x"}, rowName: {"/a/4", "/a/4/7", "/a/4/2", "/b/3", "/b/5"}, "/a/4/7": {"1"}, "/a/4/2": {"x"}, "/b/3/key": {"k"}, "/b/3/value": {"1.5"}, "/b/5/value": {"1"}}
	var got []string
	for _, e := range f.Submit(Input{Values: values}, check).errors {
		got = append(got, e.Name+" "+e.Text)
	}
	want := "a, item 1, item 2 must be a number (you gave “x”)|b, item 1 should be integer but got number|b a name is missing|c must be a number (you gave “x”)"
	if strings.Join(got, "|") != want {
		t.Errorf("got %q, want %q", strings.Join(got, "|"), want)
	}
}

// TestFormFiles reads files, which a form never shows again.
func TestFormFiles(t *testing.T) {
	t.Parallel()
	p := newPages(t)
	f, check := formOfTool(t, &tool.Tool{Name: "f", Description: "Does it.", Params: []tool.Param{{Name: "logo", Type: tool.Type{Name: tool.TypeMedia}}}})
	if text := show(t, p, f, nil); !strings.Contains(text, `type="file"`) || !strings.Contains(text, `enctype="multipart/form-data"`) {
		t.Errorf("there is no field for a file in\n%s", text)
	}
	for name, c := range map[string]struct {
		file Upload
		want string
	}{
		"png":   {Upload{Name: "a.png", Data: []byte("\x89PNG\r\n\x1a\nabc")}, `{"logo":"[image/png, 11 bytes]"}`},
		"text":  {Upload{Name: "a.png", Data: []byte("abc")}, `!/logo: the data is neither an image nor a PDF. use PNG, JPEG, GIF, WebP or PDF`},
		"empty": {Upload{Name: "a.png"}, `!/logo: the image or document is empty`},
		"large": {Upload{Name: "a.png", TooLarge: true}, `!/logo: is larger than 8 MB`},
	} {
		s := f.Submit(Input{Files: map[string]Upload{"/logo": c.file}}, check)
		if got := submitted(s); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		wellFormed(t, p, name, show(t, p, f, s))
		if name == "png" {
			if text := show(t, p, f, s); !strings.Contains(text, "cassidy tool run f logo=@FILE") {
				t.Errorf("the command is not in\n%s", text)
			}
		}
	}
}

// TestFormOfParams has the form of declared parameters, whose errors have their own words.
func TestFormOfParams(t *testing.T) {
	t.Parallel()
	text, whole := tool.Type{Name: tool.TypeString}, tool.Type{Name: tool.TypeInteger}
	f, check := formOfTool(t, &tool.Tool{Name: "f", Description: "Does it.", Params: []tool.Param{
		{Name: "path", Type: text, Required: true},
		{Name: "limit", Type: tool.Type{Name: tool.TypeInteger, Min: int64(1), Max: int64(100)}, HasDefault: true, Default: int64(10)},
		{Name: "period", Type: tool.Type{Name: tool.TypeObject, Fields: []tool.Param{{Name: "from", Type: whole, Required: true}, {Name: "to", Type: text}}}},
		{Name: "cities", Type: tool.Type{Name: tool.TypeCharacter}},
		{Name: "hidden", FromHost: true, Type: text},
	}})
	for in, want := range map[string]string{
		"/path=a":                           `{"path":"a"}`,
		"/path=a&/limit=250":                `!/limit: must be 100 or less (you gave 250)`,
		"/path=a&/period/to=b":              `!/period/from: is required`,
		"/path=a&/period/from=1.5":          `!/period/from: should be integer but got number`,
		"/path=a&/cities/0=b":               `{"path":"a","cities":["b"]}`,
		"/path=a&/hidden=b":                 `{"path":"a"}`,
		"/path=a&/limit=b&/period/from=1.5": `!/limit: must be a number (you gave “b”)|/period/from: should be integer but got number`,
	} {
		values, err := url.ParseQuery(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := submitted(f.Submit(Input{Values: values}, check)); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for want, args := range map[string]*value.Dict{
		"c":                              {},
		"c a=b":                          value.NewDict("a", "b"),
		`c --input '{"a":"3"}'`:          value.NewDict("a", "3"),
		`c --input '{"a":""}'`:           value.NewDict("a", ""),
		`c --input '{"a=b":1}'`:          value.NewDict("a=b", int64(1)),
		`c 'x y'=1`:                      value.NewDict("x y", int64(1)),
		`c --input '{"-x":"$(reboot)"}'`: value.NewDict("-x", "$(reboot)"),
	} {
		if got := commandLine("c", args); got != want {
			t.Errorf("commandLine(%s) = %s, want %s", args, got, want)
		}
	}
}
