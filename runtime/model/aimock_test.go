package model_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/model/anthropic"
	"github.com/cassidy-run/cassidy/runtime/model/gemini"
	"github.com/cassidy-run/cassidy/runtime/model/ollama"
	"github.com/cassidy-run/cassidy/runtime/model/openai"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A mock is a server of aimock, which somebody else has written from the providers' APIs.
// .ci/run installs it.
type mock struct{ url string }

// aimockFixture is a rule of aimock: what it answers to a message, at the first or a later time.
func aimockFixture(message string, time int, response map[string]any) map[string]any {
	match := map[string]any{"userMessage": message}
	if time >= 0 {
		match["sequenceIndex"] = time
	}
	f := map[string]any{"match": match, "response": response}
	if n, ok := response["truncateAfterChunks"]; ok {
		f["truncateAfterChunks"] = n
		delete(response, "truncateAfterChunks")
	}
	return f
}

// mockBreaks is after how many pieces of a stream the mock breaks it off.
const mockBreaks = 12

// mockFixtures are the rules of all tests with aimock.
func mockFixtures() []map[string]any {
	hello := func() map[string]any {
		return map[string]any{"content": "Hello, this is a stream of words.", "usage": map[string]any{"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}
	}
	calls := []map[string]any{{"name": "add", "arguments": map[string]any{"a": 1, "b": 2}}, {"name": "add", "arguments": map[string]any{"a": 3, "b": 4}}}
	fail := func(status int) map[string]any {
		return map[string]any{"error": map[string]any{"message": "it went wrong", "type": "api_error"}, "status": status}
	}
	list := []map[string]any{
		aimockFixture("say hello", -1, hello()),
		{"match": map[string]any{"userMessage": "add twice", "hasToolResult": false}, "response": map[string]any{"toolCalls": calls}},
		{"match": map[string]any{"userMessage": "add twice", "hasToolResult": true}, "response": map[string]any{"content": "3 and 7"}},
	}
	for _, status := range []int{429, 500, 503, 529} {
		message := fmt.Sprintf("fail with %d", status)
		list = append(list, aimockFixture(message, 0, fail(status)), aimockFixture(message, 1, hello()))
	}
	for n := 1; n <= mockBreaks; n++ {
		message := fmt.Sprintf("break after <%d>", n)
		broken := hello()
		broken["truncateAfterChunks"] = n
		list = append(list, aimockFixture(message, 0, broken), aimockFixture(message, 1, hello()))
	}
	return list
}

// startMock starts aimock, and ends it with the test.
func startMock(t *testing.T) *mock {
	t.Helper()
	program, err := filepath.Abs("../../.ci/aimock/node_modules/.bin/llmock")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		t.Skipf("SKIPPED: aimock is not installed: %v (npm install --prefix .ci/aimock @copilotkit/aimock@1.43.0)", err)
	}
	file := filepath.Join(t.TempDir(), "fixtures.json")
	data, err := json.Marshal(map[string]any{"fixtures": mockFixtures()})
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--port", "0", "--fixtures", file, "--chunk-size", "5", "--strict", "--validate-on-load")
	out, err := cmd.StdoutPipe()
	cmd.Stderr = cmd.Stdout
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	var said strings.Builder
	for s := bufio.NewScanner(out); s.Scan(); {
		fmt.Fprintln(&said, s.Text())
		if url := regexp.MustCompile(`http://127\.0\.0\.1:[1-9]\d*`).FindString(s.Text()); url != "" {
			go func() { // it must not block on its output
				for s.Scan() {
				}
			}()
			return &mock{url}
		}
	}
	t.Fatalf("aimock did not start:\n%s", said.String())
	return nil
}

// TestAgainstAimock asks aimock through each provider: streams, parallel calls, errors that
// pass, and streams that break off after any piece.
func TestAgainstAimock(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(base string, h model.HTTP) (model.Model, error){
		"chat": func(base string, h model.HTTP) (model.Model, error) {
			return openai.New(&openai.Options{BaseURL: base + "/v1", Model: "gpt-5", Key: "k", HTTP: h})
		},
		"responses": func(base string, h model.HTTP) (model.Model, error) {
			return openai.New(&openai.Options{BaseURL: base + "/v1", Model: "gpt-5", Key: "k", API: "responses", HTTP: h})
		},
		"anthropic": func(base string, h model.HTTP) (model.Model, error) {
			return anthropic.New(&anthropic.Options{BaseURL: base, Model: "claude-haiku-4-5", Key: "k", HTTP: h})
		},
		"gemini": func(base string, h model.HTTP) (model.Model, error) {
			return gemini.New(&gemini.Options{BaseURL: base + "/v1beta", Model: "gemini-3-flash-preview", Key: "k", HTTP: h})
		},
		"ollama": func(base string, h model.HTTP) (model.Model, error) {
			return ollama.New(&ollama.Options{BaseURL: base, Model: "qwen3", Context: 65536, HTTP: h})
		},
	} {
		t.Run(name, func(t *testing.T) {
			mock := startMock(t)
			m, err := open(mock.url, model.HTTP{Client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, Sleep: noSleep})
			if err != nil {
				t.Fatal(err)
			}
			mockHello(t, m, "say hello")
			for _, status := range []int{429, 500, 503, 529} {
				if n := mockHello(t, m, fmt.Sprintf("fail with %d", status)); n != 1 {
					t.Errorf("HTTP %d: %d retries, want 1", status, n)
				}
			}
			retries := 0
			for n := 1; n <= mockBreaks; n++ {
				retries += mockHello(t, m, fmt.Sprintf("break after <%d>", n))
			}
			if retries == 0 {
				t.Error("no stream broke off")
			}
			mockCalls(t, m)
		})
	}
}

// mockHello sends a message, checks the reply, and returns how often it was retried.
func mockHello(t *testing.T, m model.Model, message string) (retries int) {
	t.Helper()
	told := ""
	reply, err := m.Ask(t.Context(), &model.Request{
		Messages: []model.Message{{Role: model.User, Text: message}},
		Text:     func(piece string) { told += piece },
		Notice: func(n model.Notice) {
			if n.Retry != nil {
				retries, told = retries+1, ""
			}
		},
	})
	if err != nil {
		t.Errorf("%s: %v", message, err)
		return retries
	}
	if want := "Hello, this is a stream of words."; reply.Text != want || told != want || reply.Stop != model.StopEnd || (reply.Usage.InputTokens != 10 || reply.Usage.OutputTokens != 5) && !strings.HasPrefix(m.Name(), "ollama:") { // of which it reports no usage
		t.Errorf("%s: %+v, told %q", message, reply, told)
	}
	return retries
}

// mockCalls has two calls made in parallel, and sends back their results.
func mockCalls(t *testing.T, m model.Model) {
	t.Helper()
	number := tool.Type{Name: tool.TypeInteger}
	r := &model.Request{
		Messages: []model.Message{{Role: model.User, Text: "add twice"}},
		Tools:    []tool.Tool{{Name: "add", Description: "Add two numbers.", Params: []tool.Param{{Name: "a", Type: number, Required: true}, {Name: "b", Type: number, Required: true}}}},
		Text:     func(string) {},
	}
	reply, err := m.Ask(t.Context(), r)
	if err != nil || len(reply.Calls) != 2 || reply.Stop != model.StopCalls || reply.Calls[0].ID == reply.Calls[1].ID {
		t.Fatalf("two calls: %+v, %v", reply, err)
	}
	r.Messages = append(r.Messages, reply.Message())
	for i, want := range []int64{3, 7} {
		c := reply.Calls[i]
		if c.Tool != "add" || c.Args.Int("a")+c.Args.Int("b") != want {
			t.Errorf("call %d is %+v", i, c)
		}
		r.Messages = append(r.Messages, model.Message{Role: model.ToolRole, CallID: c.ID, Tool: c.Tool, Text: value.FormatJSON(want, "")})
	}
	if reply, err = m.Ask(t.Context(), r); err != nil || reply.Text != "3 and 7" {
		t.Errorf("after the results: %+v, %v", reply, err)
	}
}
