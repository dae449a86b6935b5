package value_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const pngHead = "\x89PNG\r\n\x1a\n"

func TestMediaType(t *testing.T) {
	for _, test := range []struct{ data, want string }{
		{pngHead + "rest", "image/png"}, {"\xff\xd8\xff\xe0", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a.", "image/gif"},
		{"RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp"}, {"%PDF-1.7\n", "application/pdf"},
		{"", ""}, {"\x89PN", ""}, {"RIFF\x10\x00\x00\x00WAVE", ""}, {"<svg/>", ""}, {" %PDF-1.7", ""},
	} {
		if got := value.MediaType([]byte(test.data)); got != test.want {
			t.Errorf("MediaType(%q) = %q, want %q", test.data, got, test.want)
		}
	}
}

func TestMediaCheck(t *testing.T) {
	if m, err := value.NewMedia([]byte(pngHead)); err != nil || m.Type != "image/png" {
		t.Errorf("an image: %v, %v", m, err)
	}
	if _, err := value.NewMedia(append([]byte("%PDF-"), make([]byte, value.MaxMedia-5)...)); err != nil {
		t.Errorf("a document of the maximum size: %v", err)
	}
	for _, test := range []struct {
		name string
		m    value.Media
		kind value.Kind
		want string
	}{
		{"nothing", value.Media{}, value.Invalid, "empty"},
		{"text", value.Media{Type: "text/plain", Data: []byte("hello")}, value.Invalid, "neither an image nor a PDF"},
		{"another type", value.Media{Type: "application/pdf", Data: []byte(pngHead)}, value.Invalid, "the data is image/png, not application/pdf"},
		{"too large", value.Media{Type: "image/png", Data: append([]byte(pngHead), make([]byte, value.MaxMedia)...)}, value.Limit, "limit 8 MB"},
	} {
		err := test.m.Check()
		if value.KindOf(err) != test.kind || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", test.name, err, test.want)
		}
		// Media that are invalid are never encoded, so they cannot leave a worker.
		for where, encode := range map[string]func() error{
			"Append":     func() error { _, err := value.Append(nil, test.m); return err },
			"AppendJSON": func() error { _, err := value.AppendJSON(nil, test.m); return err },
			"FromGo":     func() error { _, err := value.FromGo(struct{ M value.Media }{test.m}); return err },
		} {
			if err := encode(); value.KindOf(err) != test.kind {
				t.Errorf("%s of %s: %v", where, test.name, err)
			}
		}
	}
}

// TestMediaForms converts media to each form and back.
func TestMediaForms(t *testing.T) {
	m, err := value.NewMedia([]byte(pngHead + "data"))
	if err != nil {
		t.Fatal(err)
	}
	url := "data:image/png;base64," + base64.StdEncoding.EncodeToString(m.Data)
	coded, err := value.Append(nil, value.List{m})
	if back, failure := value.Decode(coded); err != nil || failure != nil || !cmp.Equal(back, value.Value(value.List{m})) {
		t.Errorf("Decode = %v, %v, %v", back, err, failure)
	}
	if forged := bytes.Replace(coded, []byte("image/png"), []byte("image/gif"), 1); bytes.Equal(forged, coded) {
		t.Error("the type is not in the binary form")
	} else if v, err := value.Decode(forged); err == nil {
		t.Errorf("Decode of media with a forged type = %v", v)
	}
	if text, err := value.AppendJSON(nil, value.NewDict("chart", m)); err != nil || string(text) != `{"chart":"`+url+`"}` {
		t.Errorf("AppendJSON = %s, %v", text, err)
	}
	if text := value.FormatJSON(value.NewDict("chart", m), ""); text != `{"chart":"[image/png, 12 bytes]"}` {
		t.Errorf("FormatJSON = %s", text)
	}
	if text := value.Display(m); strings.Contains(text, "data:") {
		t.Errorf("Display = %s", text)
	}
	if text, err := json.Marshal(m); err != nil || string(text) != `"`+url+`"` {
		t.Errorf("json.Marshal = %s, %v", text, err)
	}
	type chart struct {
		Image value.Media  `json:"image"`
		Extra *value.Media `json:"extra"`
	}
	v, err := value.FromGo(chart{Image: m})
	if want := value.NewDict("image", m, "extra", nil); err != nil || !value.Equal(v, want) {
		t.Errorf("FromGo = %v, %v", v, err)
	}
	for _, from := range []value.Value{v, value.NewDict("image", url), value.NewDict("image", m, "extra", m)} {
		if c, err := value.ToGo[chart](from); err != nil || !cmp.Equal(c.Image, m) {
			t.Errorf("ToGo(%v) = %v, %v", from, c, err)
		}
	}
	for text, want := range map[string]string{
		"hello":                        "as a data URL",
		"data:image/gif;base64,iVBORw": "base64",
		"data:image/gif;base64," + base64.StdEncoding.EncodeToString(m.Data):   "the data is image/png, not image/gif",
		"data:image/png;base64," + strings.Repeat("A", 4*(value.MaxMedia/3+2)): "too large",
		"data:image/png,plain":                    "as a data URL",
		"data:text/plain;base64,aGVsbG8gd29ybGQ=": "neither an image nor a PDF",
	} {
		if _, err := value.ToGo[value.Media](text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ToGo(%.40s) = %v, want %s", text, err, want)
		}
	}
	if _, err := value.ToGo[value.Media](int64(1)); err == nil || !strings.Contains(err.Error(), "expected an image or a PDF but got integer") {
		t.Errorf("ToGo(1) = %v", err)
	}
}

func TestMediaAreValues(t *testing.T) {
	a, _ := value.NewMedia([]byte(pngHead + "a"))
	same, _ := value.NewMedia([]byte(pngHead + "a"))
	b, _ := value.NewMedia([]byte(pngHead + "b"))
	if !value.Equal(a, same) || value.Equal(a, b) || value.Equal(a, a.Data) || !value.EqualJSON(a, same) {
		t.Error("Equal compares something other than the data")
	}
	var d value.Dict
	for _, key := range []value.Media{a, same, b} {
		if err := d.Set(key, key.Type); err != nil {
			t.Fatal(err)
		}
	}
	if d.Len() != 2 {
		t.Errorf("a dict has %d keys for 2 media", d.Len())
	}
	nested := value.NewDict("list", value.List{a, value.Tuple{"x", b}}, "one", value.Set{a})
	if got := value.MediaIn(nested); !cmp.Equal(got, []value.Media{a, b, a}) {
		t.Errorf("MediaIn = %v", got)
	}
	for n, want := range map[int]string{600: "600 bytes", 12345: "12 KB", 1<<20 - 1: "1.0 MB", 5 << 20: "5.0 MB"} {
		if got := (value.Media{Type: "image/png", Data: make([]byte, n)}).String(); got != "[image/png, "+want+"]" {
			t.Errorf("%d bytes are written as %s", n, got)
		}
	}
}
