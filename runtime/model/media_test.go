package model_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestMediaByAddress checks what each API gets for a file by its address, and that the others
// refuse it.
func TestMediaByAddress(t *testing.T) {
	t.Parallel()
	var sent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		sent = string(data)
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer server.Close()
	image := model.Media{Type: "image/png", URL: "https://example.com/a.png"}
	pdf := model.Media{Type: "application/pdf", Name: "b.pdf", URL: "https://example.com/b.pdf"}
	text := model.Media{Type: "text/plain", URL: "https://example.com/c.txt"}
	for _, tt := range []struct {
		api   string
		media model.Media
		want  string // a part of the body, or of the error
		kind  value.Kind
	}{
		{"chat", image, `{"type":"image_url","image_url":{"url":"https://example.com/a.png"}}`, 0},
		{"chat", pdf, "cannot get the file", value.Invalid},
		{"responses", image, `{"type":"input_image","detail":"auto","image_url":"https://example.com/a.png"}`, 0},
		{"responses", pdf, `{"type":"input_file","file_url":"https://example.com/b.pdf"}`, 0},
		{"anthropic", image, `{"type":"image","source":{"type":"url","url":"https://example.com/a.png"}}`, 0},
		{"anthropic", pdf, `{"type":"document","source":{"type":"url","url":"https://example.com/b.pdf"},"title":"b.pdf"}`, 0},
		{"anthropic", text, "an attachment cannot be read from its address", value.Invalid},
		{"gemini", image, `{"fileData":{"mimeType":"image/png","fileUri":"https://example.com/a.png"}}`, 0},
		{"ollama", image, "cannot get the file", value.Invalid},
		{"cassidyai", image, "an assistant cannot read files", value.Invalid},
		{"cassidyai", model.Media{Type: "image/png", Name: "d.png", Data: []byte("PNG")}, "an assistant cannot read files: d.png (image/png)", value.Invalid},
		{"chat", model.Media{Type: "image/png", URL: "file:///etc/passwd"}, "the address of the file is invalid", value.Invalid},
		{"gemini", model.Media{Type: "image/png", URL: "https://a b"}, "the address of the file is invalid", value.Invalid},
		{"anthropic", model.Media{Type: "image/png", URL: "https://a", Data: []byte("x")}, "has both an address and data", value.Invalid},
	} {
		m, err := makers[tt.api](&setup{url: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		sent = ""
		_, err = m.Ask(t.Context(), &model.Request{Messages: []model.Message{{Role: model.User, Text: "Look.", Media: []model.Media{tt.media}}}})
		e := value.ErrorOf(err, value.Failed)
		switch {
		case tt.kind == value.Invalid && (e.Kind != value.Invalid || !strings.Contains(e.Message(), tt.want) || e.Hint == "" || strings.Contains(sent, "example.com")):
			t.Errorf("%s, %+v: %v with the hint %q, sent %q, want %q", tt.api, tt.media, err, e.Hint, sent, tt.want)
		case tt.kind == 0 && !strings.Contains(sent, tt.want):
			t.Errorf("%s, %+v: %v, sent %s, want %s", tt.api, tt.media, err, sent, tt.want)
		}
	}
}
