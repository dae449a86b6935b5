package serve

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/cassidy-run/cassidy/internal/browsertest"
	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestUploadInBrowser sends a file with the form of a tool: one that is no image, and then one that the tool returns.
func TestUploadInBrowser(t *testing.T) {
	r := browserRig(t, &speaker{})
	picture := tool.Tool{Name: "picture", Description: "Return an image.", Hints: tool.Hints{ReadOnly: true}, Params: []tool.Param{
		{Name: "logo", Type: tool.Type{Name: tool.TypeMedia}, Required: true}, {Name: "title", Type: tool.Type{Name: tool.TypeString}, Required: true},
	}}
	err := r.projects[0].Host.Register(picture, func(_ context.Context, args *value.Dict) (value.Value, error) {
		logo, _ := args.Get("logo")
		return value.NewDict("title", args.Text("title"), "logo", logo), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, 4, 4))); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "ä logo.png"), filepath.Join(dir, "note.png")
	for name, content := range map[string][]byte{good: data.Bytes(), bad: []byte("no image")} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	b := r.openTab()
	b.open("/login?code=" + r.SignInCode() + "&next=%2Ftools%2Fpicture")
	b.click("form .pri")
	b.has("/tools/picture", "Run picture")
	b.enter(`[name="/title"]`, "Bakery")
	b.Do(chromedp.SetUploadFiles(`[name="/logo"]`, []string{bad}))
	b.click(".form .acts .pri")
	b.has("Not run yet.", "neither an image nor a PDF", "Bakery")
	b.shot("upload-wrong")
	b.Do(chromedp.SetUploadFiles(`[name="/logo"]`, []string{good}))
	b.click(".form .acts .pri")
	b.has("/tools/picture?run=", "Done", "Bakery", "image/png")
	b.shot("upload")
	run := r.until(strings.TrimPrefix(b.Text("location.search"), "?run="), history.Done)
	result, _ := run.Result.(*value.Dict)
	if got, _ := result.Get("logo"); !bytes.Equal(value.MediaIn(got)[0].Data, data.Bytes()) {
		t.Errorf("the tool got %v", got)
	}
	b.Text("document.querySelectorAll('#value details').forEach(d => d.open = true)")
	for end := time.Now().Add(browsertest.LastResort); b.Text("document.querySelector('#value img').naturalWidth") != "4"; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the image of the result is not drawn")
		}
	}
	b.quiet()
}
