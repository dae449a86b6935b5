package forms

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

func dictOf(t *testing.T, text string) *value.Dict {
	t.Helper()
	d := &value.Dict{}
	if err := d.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return d
}

const trip = `{"type":"object","required":["city","nights"],"properties":{
 "city":{"type":"string","title":"City","description":"Where to?","minLength":2,"maxLength":20},
 "nights":{"type":"integer","minimum":1,"maximum":30,"default":2},
 "price":{"type":"number","default":95.5},
 "mail":{"type":"string","format":"email"},
 "day":{"type":"string","format":"date"},
 "seat":{"type":"string","oneOf":[{"const":"w","title":"Window"},{"const":"a","title":"Aisle"}],"default":"a"},
 "meal":{"type":"string","enum":["m1","m2"],"enumNames":["Meat","Vegetables"]},
 "extras":{"type":"array","maxItems":2,"items":{"anyOf":[{"const":"bus","title":"Bus"},{"const":"bike","title":"Bike"},{"const":"bed","title":"Bed"}]}},
 "ok":{"type":"boolean","default":true}}}`

// TestRead checks what a person can type for a form, and that it is checked and completed.
func TestRead(t *testing.T) {
	form, err := Parse(dictOf(t, trip))
	if err != nil {
		t.Fatal(err)
	}
	const defaults = `"price":95.5,"seat":"a","ok":true}}`
	for _, test := range []struct{ text, want string }{
		{`{"city":"Rome"}`, `{"action":"accept","content":{"city":"Rome","nights":2,` + defaults},
		{`{"action":"accept","content":{"city":"Rome","nights":3}}`, `{"action":"accept","content":{"city":"Rome","nights":3,` + defaults},
		{`{"action":"decline"}`, `{"action":"decline"}`},
		{`{"action":"cancel","content":{"city":"x"}}`, `{"action":"cancel"}`},
		{"city=Rome\nnights = 4\nmeal=vegetables\nextras=Bus, 3\nok=no\nday=2026-02-28\n",
			`{"action":"accept","content":{"city":"Rome","nights":4,"price":95.5,"day":"2026-02-28","seat":"a","meal":"m2","extras":["bus","bed"],"ok":false}}`},
		{"nights=1", `the field "city" of the form is missing`},
		{"city=R", `the field "city" of the form should be at least 2 characters`},
		{"city=Rome\nnights=31", `"nights" of the form should be at most 30`},
		{"city=Rome\nnights=1.5", `"nights" of the form should be an integer`},
		{"city=Rome\nnights=many", `"nights" of the form should be an integer`},
		{"city=Rome\nmail=Ann <a@b.example>", `"mail" of the form should be of the format email`},
		{"city=Rome\nday=2026-02-30", `"day" of the form should be of the format date`},
		{"city=Rome\nseat=roof", `"seat" of the form should be one of w (Window), a (Aisle)`},
		{"city=Rome\nextras=bus,bus", `has an option twice`},
		{"city=Rome\nextras=bus,bike,bed", `"extras" of the form should be at most 2 options`},
		{"city=Rome\nok=perhaps", `"ok" of the form should be yes or no`},
		{`{"city":"Rome","ok":"yes"}`, `"ok" of the form should be yes or no`},
		{`{"city":"Rome","nihgts":1}`, `the form has no field "nihgts"`},
		{" \n", `the answer is empty`},
		{"Rome", `"Rome" is not NAME=VALUE with a field of the form`},
	} {
		got, err := form.Read(test.text)
		text := value.FormatJSON(got, "")
		if err != nil {
			text = err.Error()
		}
		if err == nil && text != test.want || err != nil && (!strings.Contains(text, test.want) || value.KindOf(err) != value.Invalid) {
			t.Errorf("Read(%q) = %s, want %s", test.text, text, test.want)
		}
	}
}

// TestExample checks the example of an answer, and the descriptions of fields that end with a full stop.
func TestExample(t *testing.T) {
	for _, test := range []struct{ form, want string }{
		{trip, `{"city":"…","nights":2}`},
		{`{"properties":{"a":{"type":"boolean"},"b":{"type":"string"}}}`, `{"a":true}`},
		{`{"required":["n","o","l"],"properties":{"n":{"type":"number","maximum":0.5},"o":{"enum":["x","y"]},"l":{"type":"array","items":{"enum":["z"]}}}}`, `{"n":0.5,"o":"x","l":["z"]}`},
		{`{}`, `{}`},
	} {
		form, err := Parse(dictOf(t, test.form))
		if err != nil {
			t.Fatal(err)
		}
		if got := form.Example(); got != test.want {
			t.Errorf("the example of %s is %s, want %s", test.form, got, test.want)
		}
	}
	form, err := Parse(dictOf(t, `{"properties":{"a":{"type":"string","description":"Your name."}}}`))
	if err != nil || form.Lines()[0] != "a: text, optional. Your name" {
		t.Errorf("the lines are %q, %v", form.Lines(), err)
	}
}

// TestOneField checks that a form with one field is answered by its value.
func TestOneField(t *testing.T) {
	form, err := Parse(dictOf(t, `{"properties":{"action":{"type":"string"}},"required":["action"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"two words":                  `{"action":"accept","content":{"action":"two words"}}`,
		`{"action":"decline"}`:       `{"action":"accept","content":{"action":"decline"}}`,
		"action=run":                 `{"action":"accept","content":{"action":"run"}}`,
		`{"action":"x","content":1}`: "",
		"":                           "",
	} {
		got, err := form.Read(text)
		if want == "" && err == nil || want != "" && value.FormatJSON(got, "") != want {
			t.Errorf("Read(%q) = %v, %v, want %s", text, got, err, want)
		}
	}
}

// TestEmptyText checks that an empty text does not accept the defaults, unlike an empty object.
func TestEmptyText(t *testing.T) {
	form, err := Parse(dictOf(t, `{"properties":{"a":{"type":"string","default":"x"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", " ", "\r\n"} {
		if got, err := form.Read(text); value.KindOf(err) != value.Invalid {
			t.Errorf("Read(%q) = %v, %v, want an error", text, got, err)
		}
	}
	if got, err := form.Read("{}"); err != nil || value.FormatJSON(got, "") != `{"action":"accept","content":{"a":"x"}}` {
		t.Errorf("Read({}) = %v, %v", got, err)
	}
}

// TestSchema checks that a form is the same after its own schema was read, and how it is described.
func TestSchema(t *testing.T) {
	form, err := Parse(dictOf(t, trip))
	if err != nil {
		t.Fatal(err)
	}
	again, err := Parse(form.Schema())
	if err != nil || fmt.Sprint(again) != fmt.Sprint(form) {
		t.Errorf("after its schema: %v, %v, want %v", again, err, form)
	}
	for i, want := range []string{
		"city (City): text, at least 2 characters, at most 20 characters, required. Where to?",
		"nights: integer, at least 1, at most 30, default 2",
		"price: number, default 95.5",
		"mail: email, optional",
		"day: date, optional",
		"seat: one of w (Window), a (Aisle), default a",
		"meal: one of m1 (Meat), m2 (Vegetables), optional",
		"extras: any of bus (Bus), bike (Bike), bed (Bed), at most 2 options, optional",
		"ok: yes or no, default yes",
	} {
		if got := form.Lines()[i]; got != want {
			t.Errorf("line %d is %q, want %q", i, got, want)
		}
	}
}

// TestHostile checks that schemas which are no forms are refused, and that texts are cleaned.
func TestHostile(t *testing.T) {
	many := strings.Repeat(`"a",`, maxOptions) + `"a"`
	fields := &value.Dict{}
	for i := range maxFields + 1 {
		fields.Put(fmt.Sprint("f", i), value.NewDict("type", "string"))
	}
	for name, schema := range map[string]*value.Dict{
		"a list":                     dictOf(t, `{"type":"array"}`),
		"a nested object":            dictOf(t, `{"properties":{"a":{"type":"object","properties":{"b":{"type":"string"}}}}}`),
		"a reference":                dictOf(t, `{"properties":{"a":{"type":"string","$ref":"#"}}}`),
		"a free list":                dictOf(t, `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`),
		"a field without type":       dictOf(t, `{"properties":{"a":{}}}`),
		"a field that is no schema":  dictOf(t, `{"properties":{"a":true}}`),
		"a name with a line end":     dictOf(t, `{"properties":{"a\nb":{"type":"string"}}}`),
		"a name with an escape":      dictOf(t, `{"properties":{"a\u001b[2J":{"type":"string"}}}`),
		"a name with =":              dictOf(t, `{"properties":{"a=b":{"type":"string"}}}`),
		"an empty name":              dictOf(t, `{"properties":{"":{"type":"string"}}}`),
		"an option with an escape":   dictOf(t, `{"properties":{"a":{"type":"string","enum":["\u001b[2J"]}}}`),
		"an option that is a number": dictOf(t, `{"properties":{"a":{"enum":[1]}}}`),
		"many options":               dictOf(t, `{"properties":{"a":{"type":"string","enum":[`+many+`]}}}`),
		"a required unknown field":   dictOf(t, `{"properties":{},"required":["a"]}`),
		"many fields":                value.NewDict("properties", fields),
		"a huge schema":              value.NewDict("properties", value.NewDict("a", value.NewDict("type", "string", "description", strings.Repeat("x", maxSize)))),
	} {
		if form, err := Parse(schema); err == nil {
			t.Errorf("%s is read as %v", name, form)
		}
	}
	form, err := Parse(dictOf(t, `{"properties":{"a":{"type":"string","title":"A\u001b[2J\nyes?","description":"\u202egnp.exe","default":7,"maxLength":3}}}`))
	if err != nil || form.Lines()[0] != `a (A\u001b[2J yes?): text, at most 3 characters, optional. \u202egnp.exe` {
		t.Errorf("Lines = %q, %v", form.Lines(), err)
	}
}
