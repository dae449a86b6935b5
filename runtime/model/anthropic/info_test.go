package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/catalog"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const haiku = `{"type":"model","id":"claude-haiku-5-5","display_name":"Claude Haiku 5.5","max_input_tokens":900000,"max_tokens":120000,"lifecycle":"active",
	"capabilities":{"image_input":{"supported":true},"pdf_input":{"supported":false},"effort":{"supported":true}}}`

func serve(t *testing.T, f http.HandlerFunc) *anthropic.Options {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return &anthropic.Options{BaseURL: server.URL + "/v1/", Key: "sk-test", Model: "claude-haiku-5-5",
		HTTP: model.HTTP{Sleep: func(context.Context, time.Duration) error { return nil }}}
}

func open(t *testing.T, o *anthropic.Options) model.Model {
	t.Helper()
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestInfo asks the server about the model once, and the catalog about the rest.
func TestInfo(t *testing.T) {
	asked := 0
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked++
		if r.Method != "GET" || r.URL.String() != "/v1/models/claude-haiku-5-5" || r.Header.Get("X-Api-Key") != "sk-test" || r.Header.Get("Anthropic-Version") != anthropic.Version {
			t.Errorf("%s %s, %v", r.Method, r.URL, r.Header)
		}
		io.WriteString(w, haiku)
	})
	m := open(t, o)
	want := model.Info{Context: 900_000, MaxOutput: 120_000, Source: "server", Price: catalog.Find("anthropic", "claude-haiku-5-5").Price,
		Media: []string{"image/png", "image/jpeg", "image/gif", "image/webp"}}
	for range 2 {
		if d := cmp.Diff(want, model.InfoOf(t.Context(), m)); d != "" || want.Price == nil {
			t.Errorf("Info (-want +got):\n%s", d)
		}
	}
	if asked != 1 {
		t.Errorf("the server was asked %d times, want once", asked)
	}
}

// TestInfoOfTheCatalog tests servers that say nothing.
func TestInfoOfTheCatalog(t *testing.T) {
	want := catalog.Find("anthropic", "claude-haiku-5-5")
	for name, answer := range map[string]http.HandlerFunc{
		"not found": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(404) },
		"broken":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) },
		"no sizes":  func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `{"id":"claude-haiku-5-5"}`) },
		"a page":    func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") },
		"silence":   nil, // until the caller has enough
	} {
		var asked atomic.Int32
		ctx, cancel := context.WithCancel(t.Context())
		o := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if answer != nil {
				answer(w, r)
				return
			}
			cancel()
			<-r.Context().Done()
		})
		if d := cmp.Diff(want, model.InfoOf(ctx, open(t, o))); d != "" || asked.Load() != 1 {
			t.Errorf("%s: asked %d times (-want +got):\n%s", name, asked.Load(), d)
		}
		cancel()
	}
	o := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a name that is no ID was asked for") })
	o.Model = "a/../b?c"
	if got := model.InfoOf(t.Context(), open(t, o)); got.Context != 0 || got.Price != nil {
		t.Errorf("Info = %+v, want nothing", got)
	}
}

func TestList(t *testing.T) {
	o := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/models" || r.URL.Query().Get("limit") != "1000" {
			t.Errorf("%s", r.URL)
		}
		switch r.URL.Query().Get("after_id") {
		case "":
			fmt.Fprintf(w, `{"data":[%s,{"id":"claude-new-9","max_input_tokens":5}],"has_more":true,"first_id":"claude-haiku-5-5","last_id":"claude-new-9"}`, haiku)
		case "claude-new-9":
			io.WriteString(w, `{"data":[{"id":"claude-opus-5"}],"has_more":false,"first_id":"claude-opus-5","last_id":"claude-opus-5"}`)
		default:
			t.Errorf("%s", r.URL)
		}
	})
	o.Model = ""
	list, err := anthropic.List(t.Context(), o)
	if err != nil || len(list) != 3 {
		t.Fatalf("List = %+v, %v", list, err)
	}
	if list[0].Name != "claude-haiku-5-5" || list[0].Context != 900_000 || list[0].Price == nil || list[1].Name != "claude-new-9" || list[1].Context != 5 || list[1].Price != nil ||
		list[2].Context != catalog.Find("anthropic", "claude-opus-5").Context || list[2].Source != "table" {
		t.Errorf("List = %+v", list)
	}
}

func TestListFails(t *testing.T) {
	o := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(401)
		io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`)
	})
	o.KeyHint = "set THE_KEY"
	_, err := anthropic.List(t.Context(), o)
	if e := value.ErrorOf(err, value.Failed); e == nil || e.Kind != value.Unavailable || !strings.Contains(e.Error(), "invalid x-api-key") || e.Hint != "set THE_KEY" {
		t.Errorf("List = %v", err)
	}
	endless := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"data":[{"id":"m"}],"has_more":true,"last_id":"m"}`)
	})
	if list, err := anthropic.List(t.Context(), endless); err != nil || len(list) > 100 {
		t.Errorf("an endless list = %d models, %v", len(list), err)
	}
}
