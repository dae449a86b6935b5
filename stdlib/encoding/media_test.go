package encoding

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

func TestMediaFromBytes(t *testing.T) {
	pdf, err := value.NewMedia([]byte("%PDF-1.7\n\xff"))
	if err != nil {
		t.Fatal(err)
	}
	rowtest.Table(t, modules(), false, []rowtest.Case{
		{Fn: "media.from_bytes", Args: []any{pdf.Data}, Want: pdf},
		{Fn: "media.from_bytes", Args: []any{"GIF89a"}, Want: value.Media{Type: "image/gif", Data: []byte("GIF89a")}}, // in Lua, ASCII bytes are text
		{Fn: "media.from_bytes", Args: []any{[]byte{}}, Err: "argument 'data': the image or document is empty"},
		{Fn: "media.from_bytes", Args: []any{"hello"}, Err: "argument 'data': the data is neither an image nor a PDF"},
		{Fn: "media.from_bytes", Args: []any{int64(1)}, Err: "argument 'data' should be string or bytes but got"},
		{Fn: "media.from_bytes", Args: []any{append([]byte("%PDF-"), make([]byte, value.MaxMedia)...)}, Err: "limit 8 MB"},
	})
}

// TestMediaRead checks which effect media.read requests, and what it makes of the outcome.
func TestMediaRead(t *testing.T) {
	f := rowtest.Find(t, modules(), "media.read")
	read := func(v value.Value, failure error) (value.Value, string, error) {
		asked := ""
		out, err := f.Do(t.Context(), tool.Effect{Func: "media.read", Args: value.NewDict("path", "a.png")}, tool.Grant{Do: func(name string, args *value.Dict) (tool.Outcome, error) {
			asked = name + " " + args.String()
			return tool.Outcome{Value: v}, failure
		}})
		return out.Value, asked, err
	}
	png := []byte("\x89PNG\r\n\x1a\n")
	if v, asked, err := read(png, nil); err != nil || asked != `fs.read_bytes {"path":"a.png"}` || !value.Equal(v, value.Media{Type: "image/png", Data: png}) {
		t.Errorf("media.read = %v, %v, after %s", v, err, asked)
	}
	if _, _, err := read([]byte("text"), nil); err == nil || !strings.Contains(err.Error(), "a.png: the data is neither") {
		t.Errorf("a text: %v", err)
	}
	if _, _, err := read(nil, value.Errorf(value.Denied, "no")); value.KindOf(err) != value.Denied {
		t.Errorf("a file that may not be read: %v", err)
	}
	if _, _, err := read(nil, value.Limitf(value.LimitRead, "large").WithHint("read a part")); value.ErrorOf(err, value.Failed).Hint != "use a smaller image or document" {
		t.Errorf("a file that is too large: %v", err)
	}
	if _, err := f.Do(t.Context(), tool.Effect{Args: value.NewDict("path", "a.png")}, tool.Grant{}); value.KindOf(err) != value.Denied {
		t.Errorf("without files: %v", err)
	}
}
