package model_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestRecorded replays testdata/*.txtar, each named after its model. "request n" is
// what the model must send, "response n TYPE" is the server's answer, and "reply n" is
// the expected reply. The result of each call is "18 lines".
func TestRecorded(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) < 3 {
		t.Fatalf("recordings: %q, %v", names, err)
	}
	for _, name := range names {
		kind := strings.TrimSuffix(filepath.Base(name), ".txtar")
		t.Run(kind, func(t *testing.T) { replay(t, kind, name) })
	}
}

func replay(t *testing.T, kind, name string) {
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	parts, types := map[string]string{}, map[string]string{}
	for _, f := range archive.Files {
		words := strings.Fields(f.Name)
		parts[strings.Join(words[:min(2, len(words))], " ")] = string(f.Data)
		if len(words) == 3 {
			types[words[1]] = words[2]
		}
	}
	n := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		data, _ := io.ReadAll(r.Body)
		want, got := parse(t, parts["request "+strconv.Itoa(n)]), parse(t, string(data))
		if !value.EqualJSON(want, got) {
			t.Errorf("request %d (-want +got):\n%s", n, cmp.Diff(value.FormatJSON(want, "  "), value.FormatJSON(got, "  ")))
		}
		w.Header().Set("Content-Type", types[strconv.Itoa(n)])
		io.WriteString(w, parts["response "+strconv.Itoa(n)])
	}))
	defer server.Close()
	m := openRecorded(t, kind, server.URL)
	pieces := ""
	r := &model.Request{System: "Be brief.", Messages: []model.Message{user(strings.TrimSpace(parts["ask"]))}, Tools: []tool.Tool{readFile()},
		Text: func(p string) { pieces += p }}
	for i := 1; parts["reply "+strconv.Itoa(i)] != ""; i++ {
		pieces = ""
		reply, err := m.Ask(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		calls := value.List{}
		r.Messages = append(r.Messages, reply.Message())
		for _, c := range reply.Calls {
			calls = append(calls, value.List{c.ID, c.Tool, c.Args})
			r.Messages = append(r.Messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: "18 lines"})
		}
		got := js("text", reply.Text, "calls", calls, "stop", string(reply.Stop),
			"input", reply.Usage.InputTokens, "output", reply.Usage.OutputTokens, "cached", reply.Usage.CachedTokens)
		if d := cmp.Diff(strings.TrimSpace(parts["reply "+strconv.Itoa(i)]), got); d != "" {
			t.Errorf("reply %d (-want +got):\n%s", i, d)
		}
		if pieces != reply.Text {
			t.Errorf("reply %d: the pieces are %q, the text is %q", i, pieces, reply.Text)
		}
	}
}

func openRecorded(t *testing.T, kind, base string) model.Model {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	var m model.Model
	var err error
	switch kind {
	case "openai":
		m, err = openai.New(&openai.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{Client: client, Sleep: noSleep}})
	case "anthropic":
		m, err = anthropic.New(&anthropic.Options{BaseURL: base, Model: "m", HTTP: model.HTTP{Client: client, Sleep: noSleep}})
	case "ollama":
		m, err = ollama.New(&ollama.Options{BaseURL: base, Model: "m", Context: 8192, HTTP: model.HTTP{Client: client, Sleep: noSleep}})
	default:
		t.Fatalf("no model is called %s", kind)
	}
	if err != nil {
		t.Fatal(err)
	}
	return m
}
