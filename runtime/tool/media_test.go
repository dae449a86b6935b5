package tool

import (
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestMediaType checks arguments and results that are images or documents, and their schema.
func TestMediaType(t *testing.T) {
	m, err := value.NewMedia([]byte("\x89PNG\r\n\x1a\ndata"))
	if err != nil {
		t.Fatal(err)
	}
	url, err := m.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	typ, err := ParseAnnotation("list[media]")
	if err != nil || typ.String() != "array of media" || !typ.Known() {
		t.Fatalf("ParseAnnotation = %v, %v", typ, err)
	}
	d := Tool{Name: "show", Params: []Param{{Name: "image", Type: *typ.Items, Required: true}}, Returns: typ.Items}
	for _, given := range []value.Value{m, string(url)} {
		args, err := d.Check(value.NewDict("image", given))
		if got, _ := args.Get("image"); err != nil || !value.Equal(got, m) {
			t.Errorf("the argument %v = %v, %v", given, got, err)
		}
		if got, err := d.CheckResult(given); err != nil || !value.Equal(got, m) {
			t.Errorf("the result %v = %v, %v", given, got, err)
		}
	}
	for given, want := range map[string]string{"hello": "as a data URL", "data:image/gif;base64,iVBORw0KGgo=": "the data is image/png, not image/gif"} {
		if _, err := d.Check(value.NewDict("image", given)); value.KindOf(err) != value.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("the argument %s: %v", given, err)
		}
	}
	if _, err := d.Check(value.NewDict("image", 1)); err == nil || !strings.Contains(err.Error(), "should be media but got number") {
		t.Errorf("the argument 1: %v", err)
	}
	schema, err := d.ArgsSchema()
	if err != nil {
		t.Fatal(err)
	}
	image := schema.Dict("properties").Dict("image")
	if pattern := regexp.MustCompile(image.Text("pattern")); image.Text("type") != "string" || !pattern.Match(url) || pattern.MatchString("hello") {
		t.Errorf("the schema is %v", image)
	}
	if text := Succeed(Outcome{Value: m}).Text(); text != "[image/png, 12 bytes]" {
		t.Errorf("the text of the result is %s", text)
	}
	if text, err := Succeed(Outcome{Value: m}).MarshalJSON(); err != nil || !strings.Contains(string(text), `"result":"`+string(url)+`"`) {
		t.Errorf("the JSON of the result is %s, %v", text, err)
	}
}
