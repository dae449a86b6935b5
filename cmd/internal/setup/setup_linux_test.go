package setup_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/ptytest"
	"github.com/cassidy-run/cassidy/cmd/internal/setup"
)

const key = "sk-right-123456"

// A world is a server of models that accepts one key, and a fresh home.
type world struct {
	url, home string
	more      map[string]string // environment variables
}

func newWorld(t *testing.T) *world {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"error":{"message":"wrong key"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ready"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(server.Close)
	return &world{url: server.URL, home: t.TempDir(), more: map[string]string{}}
}

// run runs cassidy setup with a command mcp that only notes its arguments.
func (w *world) run(in io.Reader, shown io.Writer, args ...string) (code int, printed string) {
	var out bytes.Buffer
	if shown == nil {
		shown = &out
	}
	mcp := func(a *app.App) *cli.Command {
		return &cli.Command{Name: "mcp", Subcommands: []*cli.Command{{Name: "install", ArgsUsage: "[CLIENT]", Action: func(ctx *cli.Context) error {
			a.Note("installed in %s", ctx.Args().First())
			return nil
		}}}}
	}
	code = app.Run(context.Background(), append([]string{"setup"}, args...), &app.World{In: in, Out: &out, Err: shown, Env: func(name string) (string, bool) {
		vars := map[string]string{"CASSIDY_HOME": w.home, "OPENAI_API": "chat", "OPENAI_BASE_URL": w.url + "/v1"}
		if v, ok := w.more[name]; ok {
			return v, true
		}
		v, ok := vars[name]
		return v, ok
	}}, setup.Command, mcp)
	return code, out.String()
}

// files returns what the home has.
func (w *world) files(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{"config.yaml", "secrets/OPENAI_API_KEY"} {
		if text, err := os.ReadFile(filepath.Join(w.home, name)); err == nil {
			all.WriteString(name + ": " + string(text))
		}
	}
	return all.String()
}

const wanted = "config.yaml: secrets:\n  OPENAI_API_KEY:\n    file: secrets/OPENAI_API_KEY\nmodel: openai:gpt-6.2-sol\nsecrets/OPENAI_API_KEY: " + key + "\n"

func TestSetupWithFlags(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, in, args, says, files string
		more                        map[string]string
		code                        int
	}{
		{name: "a key on standard input", in: key + "\n", args: "--provider openai --client cursor", says: "installed in cursor", files: wanted},
		{name: "JSON", in: key + "\n", args: "--provider openai --client cursor --json", says: `{"model":"openai:gpt-6.2-sol","config":`, files: wanted},
		{name: "a key in the environment", more: map[string]string{"OPENAI_API_KEY": key}, args: "--provider openai --model m1", says: "the model answers: ready", files: "config.yaml: model: openai:m1\n"},
		{name: "a wrong key", in: "sk-wrong-123456", args: "--provider openai", says: "nothing was written", code: 5},
		{name: "no key", args: "--provider openai", says: "is empty: nothing was changed", code: 2},
		{name: "no provider", in: key, says: "--provider is missing, and no terminal", code: 2},
		{name: "an unknown provider", in: key, args: "--provider opnai", says: `did you mean "openai"`, code: 2},
		{name: "no model", args: "--provider ollama", says: "--model is missing", code: 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for name, v := range tt.more {
				w.more[name] = v
			}
			code, printed := w.run(strings.NewReader(tt.in), nil, strings.Fields(tt.args)...)
			if code != tt.code || !strings.Contains(printed, tt.says) || strings.Contains(printed, "sk-") {
				t.Errorf("ended with %d, want %d, and %q in\n%s", code, tt.code, tt.says, printed)
			}
			if got := w.files(t); got != tt.files {
				t.Errorf("the home has\n%s\nwant\n%s", got, tt.files)
			}
		})
	}
}

// TestSetupOnTerminal answers the questions.
func TestSetupOnTerminal(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	person, terminal := ptytest.Open(t)
	shown := make(chan string)
	go func() {
		var all string
		answers := []string{"which models do you use", "2\n", "not shown", key + "\r", "which model [", "\n", "one of these programs", "zed\n"}
		for buf := make([]byte, 4096); ; {
			n, err := person.Read(buf)
			all += string(buf[:n])
			if len(answers) > 0 && strings.Contains(all, answers[0]) {
				_, _ = io.WriteString(person, answers[1])
				answers = answers[2:]
			}
			if err != nil || strings.Contains(all, "END") {
				shown <- all
				return
			}
		}
	}()
	code, _ := w.run(terminal, terminal)
	_, _ = io.WriteString(terminal, "END")
	if all := <-shown; code != 0 || !strings.Contains(all, "installed in zed") || strings.Contains(all, "sk-") {
		t.Errorf("ended with %d, shown %q", code, all)
	}
	if got := w.files(t); got != wanted {
		t.Errorf("the home has\n%s\nwant\n%s", got, wanted)
	}
}
