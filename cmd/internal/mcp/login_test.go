package mcp

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
)

// signInServer is an MCP server with its authorization server.
func signInServer(t *testing.T) *httptest.Server {
	mux := http.NewServeMux()
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	reply := func(format string, args ...any) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, format, args...)
		}
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", reply(`{"resource": "%[1]s/mcp", "authorization_servers": ["%[1]s"]}`, s.URL))
	mux.HandleFunc("/.well-known/oauth-authorization-server", reply(`{"issuer": "%[1]s", "authorization_endpoint": "%[1]s/authorize",
		"token_endpoint": "%[1]s/token", "registration_endpoint": "%[1]s/register", "code_challenge_methods_supported": ["S256"]}`, s.URL))
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"client_id": "c", "token_endpoint_auth_method": "none"}`)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {"x"}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", reply(`{"access_token": "secret-token", "refresh_token": "secret-refresh", "token_type": "Bearer", "expires_in": 3600}`))
	return s
}

// A visitor is standard error, whose reader opens the address that it shows.
type visitor struct {
	text strings.Builder
	t    *testing.T
}

var shownAddress = regexp.MustCompile(`http://[^\s]*/authorize[^\s]*`)

func (v *visitor) Write(p []byte) (int, error) {
	if address := shownAddress.Find(p); address != nil {
		resp, err := http.Get(string(address))
		if err != nil || resp.StatusCode != http.StatusOK {
			v.t.Errorf("the sign-in: %v, %v", resp, err)
		}
	}
	return v.text.Write(p)
}

func TestLogin(t *testing.T) {
	server, dir, home := signInServer(t), t.TempDir(), t.TempDir()
	run := func(args ...string) (string, int) {
		told := &visitor{t: t}
		w := &app.World{In: strings.NewReader(""), Out: told, Err: told, Env: func(name string) (string, bool) { return home, name == "CASSIDY_HOME" }}
		code := app.Run(context.Background(), append([]string{"--dir", dir}, args...), w, Command)
		return told.text.String(), code
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"mcp", "add", "fake", server.URL + "/mcp"}, "added to"},
		{[]string{"mcp", "login", "fake", "--quiet"}, "sign in at 127.0.0.1"},
		{[]string{"mcp", "login", "fake"}, "signed in at fake"},
		{[]string{"mcp", "login", "fake", "--json"}, `"signed_in":true`},
		{[]string{"mcp", "logout", "fake"}, "deleted the tokens of fake"},
		{[]string{"mcp", "login", "fake"}, "signed in at fake"},
	} {
		told, code := run(c.args...)
		if code != 0 || !strings.Contains(told, c.want) || strings.Contains(told, "secret-") {
			t.Errorf("cassidy %v ended with %d:\n%s\nwant %q", c.args, code, told, c.want)
		}
	}
	found := false
	for _, place := range []string{dir, home} {
		err := filepath.WalkDir(place, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			if info, _ := d.Info(); strings.Contains(string(data), "secret-") {
				found = true
				if place == dir || info.Mode().Perm() != 0o600 {
					t.Errorf("%s has the tokens, with mode %v", path, info.Mode())
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if !found {
		t.Error("no tokens are stored")
	}
}
