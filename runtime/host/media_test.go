package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestMediaOfGoTools passes an image to a tool in Go, and returns others.
func TestMediaOfGoTools(t *testing.T) {
	t.Parallel()
	type in struct {
		Image value.Media `json:"image"`
	}
	type out struct {
		Pages []value.Media `json:"pages"`
		Cover *value.Media  `json:"cover"`
	}
	png := value.Media{Type: "image/png", Data: []byte("\x89PNG\r\n\x1a\n")}
	url, err := png.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, nil)
	add(r, func(_ context.Context, i in) (out, error) { return out{Pages: []value.Media{i.Image, i.Image}}, nil })
	want := value.NewDict("pages", value.List{png, png}, "cover", nil)
	for _, given := range []any{png, string(url)} {
		if got, err := r.callAsModel("image", given); err != nil || !value.Equal(got.Value, want) {
			t.Errorf("the result = %v, %v", got.Value, err)
		}
	}
	info, err := r.Tool("t")
	if err != nil {
		t.Fatal(err)
	}
	if got := []string{info.Params[0].Type.String(), info.Returns.Fields[0].Type.String(), info.Returns.Fields[1].Type.String()}; !cmp.Equal(got, []string{"media", "array of media or null", "media or null"}) {
		t.Errorf("the types are %v", got)
	}
}

// TestMediaHaveTheirOwnLimit returns media that are longer than a result may be, and more than that.
func TestMediaHaveTheirOwnLimit(t *testing.T) {
	t.Parallel()
	type in struct {
		Bytes int `json:"bytes"`
		Text  int `json:"text"`
		Count int `json:"count"`
	}
	r := newRig(t, nil)
	add(r, func(_ context.Context, i in) (map[string]any, error) {
		one := value.Media{Type: "application/pdf", Data: append([]byte("%PDF-"), make([]byte, i.Bytes-5)...)}
		many := value.List{}
		for range i.Count {
			many = append(many, one)
		}
		return map[string]any{"media": many, "text": strings.Repeat("x", i.Text)}, nil
	})
	for _, test := range []struct {
		bytes, text, count int
		want               string
	}{
		{value.MaxMedia, 1000, 1, ""},
		{value.MaxMedia / 2, 1000, 2, ""},
		{value.MaxMedia/2 + 1, 1000, 2, "the images and documents of the result are too large: 8.0 MB in total, limit 8 MB"},
		{value.MaxMedia + 1, 0, 1, "too large"},
		{value.MaxMedia, 1 << 20, 1, "the result is too long: 1024 KB, limit 1024 KB"},
	} {
		_, err := r.callAsModel("bytes", test.bytes, "text", test.text, "count", test.count)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%d media of %d bytes and a text of %d: %v, want %q", test.count, test.bytes, test.text, err, test.want)
		}
	}
}
