package tool_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/cmd/internal/app"
	"github.com/cassidy-run/cassidy/cmd/internal/apptest"
	"github.com/cassidy-run/cassidy/cmd/internal/check"
	"github.com/cassidy-run/cassidy/cmd/internal/test"
	"github.com/cassidy-run/cassidy/cmd/internal/tool"
	"github.com/cassidy-run/cassidy/cmd/internal/trust"
	"github.com/cassidy-run/cassidy/internal/testworker"
	"github.com/cassidy-run/cassidy/stdlib"
)

func TestMain(m *testing.M) { testworker.Main(m, stdlib.Pure()...) }

func commands() []func(*app.App) *cli.Command {
	return []func(*app.App) *cli.Command{tool.Command, trust.Command, test.Command, check.Command, check.Format}
}

// newProject returns a project with the documents in it.
func newProject(t *testing.T) *apptest.Project {
	t.Parallel()
	p := apptest.NewProject(t, commands(), map[string]string{"config.yaml": ""})
	for _, name := range []string{"petstore.yaml", "mail.yaml", "odd.yaml", "tickets.json"} {
		text, err := os.ReadFile(filepath.Join("../../../internal/openapi/testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		p.Write(name, string(text))
	}
	return p
}

// in returns the path of a file of the project.
func in(p *apptest.Project, name string) string { return filepath.Join(p.Dir, name) }

// TestImport imports each document, and runs the tests of the tools.
func TestImport(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		tests string
	}{
		"petstore.yaml": {nil, "14 tests passed"},
		"mail.yaml":     {[]string{"--name", "mail"}, "8 tests passed"},
		"odd.yaml":      {nil, "18 tests passed"},
		"tickets.json":  {[]string{"--server", "https://tickets.example.com/api"}, "6 tests passed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.Want(append([]string{"tool", "import", in(p, name), "--openapi", "--all", "--yes"}, c.args...), 0, `load("lib/openapi.star"`, "trusted ")
			p.Want([]string{"test"}, 0, c.tests, "")
			p.Want([]string{"check"}, 0, "", "no faults in ")
			p.Want([]string{"fmt", "--check"}, 0, "", "")
			p.Want([]string{"tool", "validate"}, 0, "is valid and ready to use", "")
			before, _, _ := p.Run("--json", "trust", "--list")
			p.Want(append([]string{"tool", "import", in(p, name), "--openapi", "--all"}, c.args...), 0, "", "created ") // the files are there already
			if after, _, _ := p.Run("--json", "trust", "--list"); after != before {
				t.Errorf("the same import changed the files:\n%s\n%s", before, after)
			}
		})
	}
}

// TestImportedCall calls an imported tool, whose server is real.
func TestImportedCall(t *testing.T) {
	p := newProject(t)
	asked := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.RequestURI + " " + r.Header.Get("X-API-Key")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`[{"id": 3, "title": "Late"}]`))
	}))
	t.Cleanup(server.Close)
	for name, text := range map[string]string{
		"config.yaml": "secrets: {MY_KEY: {file: key}}\nhttp: {private: [\"127.0.0.0/8\"]}\n", "key": "a-value-that-is-secret",
	} {
		if err := os.WriteFile(filepath.Join(p.Home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.Want([]string{"tool", "import", in(p, "tickets.json"), "--operation", "get /tickets", "--server", server.URL + "/api/", "--secret", "MY_KEY", "--yes"}, 0, "", "trusted 3 files")
	p.Want([]string{"tool", "run", "tickets_list", "--input", `{"page_size": 5, "type": "bug", "in_": "a&b", "sort": {"by": "due", "desc": true}}`}, 0, "Late", "")
	if got, want := <-asked, "GET /api/tickets?page%5Bsize%5D=5&type=bug&in=a%26b&by=due&desc=true a-value-that-is-secret"; got != want {
		t.Errorf("the server got %s, want %s", got, want)
	}
	p.Want([]string{"tool", "run", "tickets_list", "type=other"}, 2, "", "type")
}

// TestImportedPath checks that no parameter leads to another path or host.
func TestImportedPath(t *testing.T) {
	p := newProject(t)
	p.Want([]string{"tool", "import", in(p, "mail.yaml"), "--operation", "send-raw", "--yes"}, 0, "", "trusted 3 files")
	p.Write(".cassidy/tools/send_raw_test.star", `
def test_path(t):
    t.http({"*": lambda r: {"json": r["url"]}})
    for id, part in {"a/../b?c#d": "a%2F..%2Fb%3Fc%23d", "@evil.example.com": "%40evil.example.com", "%2e%2e": "%252e%252e", "é": "%C3%A9", "...": "..."}.items():
        t.eq(t.call("send_raw", id = id, body = ""), "https://mail.example.com/messages/" + part + "/raw")
    for id in ["", ".", ".."]:
        t.fails("send_raw", id = id, body = "", match = "cannot be a part of a path")
`)
	p.Want([]string{"trust", "--yes"}, 0, "", "trusted 1 file")
	p.Want([]string{"test"}, 0, "1 test passed", "")
}

// TestImportFromURL imports a document whose server is relative to its URL.
func TestImportFromURL(t *testing.T) {
	p := newProject(t)
	text, err := os.ReadFile(in(p, "tickets.json"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "http://10.0.0.1/openapi.json", http.StatusFound)
			return
		}
		_, _ = w.Write(text)
	}))
	t.Cleanup(server.Close)
	source := server.URL + "/docs/openapi.json?key=value"
	p.Want([]string{"tool", "import", source, "--tag", "none"}, 2, "", "no operation with the tag")
	p.Want([]string{"tool", "import", source, "--all", "--dry-run"}, 0, `"`+server.URL+`/api/tickets"`, "")
	if out, _, _ := p.Run("tool", "import", source, "--all", "--dry-run"); strings.Contains(out, "key=value") {
		t.Errorf("the scripts have the query of the URL:\n%s", out)
	}
	p.Want([]string{"tool", "import", server.URL + "/moved", "--all"}, 3, "", "must use HTTPS")
	p.Want([]string{"tool", "import", "http://example.com/openapi.json", "--all"}, 2, "", "should begin with https:")
}

// TestImportChoice checks which operations are imported, and what is said about the others.
func TestImportChoice(t *testing.T) {
	p := newProject(t)
	file := in(p, "petstore.yaml")
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{}, 2, "", "FILE|URL is missing"},
		{[]string{file}, 2, "", "choose operations with --operation, --tag or --all: no terminal is available to ask"},
		{[]string{file, "--operation", "getPets"}, 2, "", "did you mean"},
		{[]string{file, "--operation", "getPet", "--all"}, 2, "", "mutually exclusive"},
		{[]string{file, "--operation", "uploadPhoto"}, 2, "", "left out PUT /pets/{petId}/photos/{name}.png: its body is multipart/form-data"},
		{[]string{file, "--operation", "getPet", "--secret", "a b"}, 2, "", "invalid name of a secret"},
		{[]string{file, "--operation", "getPet", "--name", "../x"}, 2, "", "Invalid tool name"},
		{[]string{file, "--operation", "getPet", "--server", "https://*.example.com"}, 2, "", "of one host"},
		{[]string{in(p, "mail.yaml"), "--all", "--secret", "A_KEY"}, 2, "", "--secret names one secret, but the operations use 2"},
		{[]string{in(p, "tickets.json"), "--all"}, 2, "", `the document does not say which host its server "/api" is on`},
		{[]string{in(p, "nothing.json"), "--all"}, 2, "", "there is no such file"},
		{[]string{file, "--tag", "pets", "--dry-run"}, 0, "# .cassidy/tools/create_pet_test.star\n", ""},
		{[]string{file, "--list", "--tag", "pets"}, 0, "create_pet", ""},
		{[]string{file, "--operation", "GET /pets/{petId}", "--name", "shop"}, 0, "", "created 1 tool with tests"},
		{[]string{file, "--operation", "getPet", "--name", "shop", "--secret", "OTHER"}, 2, "", "nothing was written: there are other files with these names: .cassidy/tools/shop_get_pet.star, "},
		{[]string{file, "--operation", "getPet", "--name", "shop", "--secret", "OTHER", "--force"}, 0, "", "cassidy secret set OTHER"},
	} {
		p.Want(append([]string{"tool", "import"}, c.args...), c.code, c.out, c.err)
	}
	files, err := filepath.Glob(filepath.Join(p.Dir, ".cassidy/tools/*"))
	if err != nil || len(files) != 3 { // with lib
		t.Errorf("the files are %q, %v", files, err)
	}
	p.Write("long.yaml", strings.Repeat(" ", 20<<20))
	p.Want([]string{"tool", "import", in(p, "long.yaml"), "--all"}, 4, "", "at most 16 MB")
	p.Write(".cassidy/tools/get_pet.lua", "")
	p.Want([]string{"tool", "import", file, "--operation", "getPet"}, 2, "", "get_pet.lua already exists")
	p.Write("builtin.yaml", "openapi: 3.0.0\nservers: [{url: 'https://a.example.com'}]\npaths: {/a: {get: {operationId: readFile, responses: {}}}}\n")
	p.Want([]string{"tool", "import", in(p, "builtin.yaml"), "--all"}, 2, "", "a built-in tool has the name read_file; add --name PREFIX")
}

// TestImportJSON checks the output of --json.
func TestImportJSON(t *testing.T) {
	p := newProject(t)
	out, stderr, code := p.Run("--json", "tool", "import", in(p, "petstore.yaml"), "--all", "--yes")
	var got struct {
		Tools []struct {
			Name, Operation, Host string
			Secrets               []string
		}
		Files   []string
		LeftOut []struct{ Operation, Reason string } `json:"left_out"`
		Trusted bool
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil || code != 0 {
		t.Fatalf("%v, %d\n%s%s", err, code, out, stderr)
	}
	if len(got.Tools) != 7 || len(got.Files) != 15 || len(got.LeftOut) != 2 || !got.Trusted ||
		got.Tools[1].Name != "list_pets" || !slices.Equal(got.Tools[1].Secrets, []string{"PET_STORE_TOKEN"}) || got.Tools[1].Host != "eu.pets.example.com" {
		t.Errorf("got %+v", got)
	}
	p.Want([]string{"--json", "tool", "import", in(p, "petstore.yaml"), "--list"}, 0, `"left_out":"its body is multipart/form-data`, "")
}

// TestImportHostile imports a document all of whose texts try to become code, or to hide something.
func TestImportHostile(t *testing.T) {
	p := newProject(t)
	evil := `\"\"\"\n'''\n\\\"); fs.write(\"x\", \"y\")\n\u202e\u200b\u0000{{secret:OTHER}} Args:\n    x: y`
	doc := strings.ReplaceAll(`{"openapi": "3.0.0", "info": {"title": "EVIL", "version": "EVIL"}, "servers": [{"url": "https://a.example.com/v1"}],
		"security": [{"EVIL": []}],
		"paths": {"/EVIL/{id EVIL}/{id}": {"post": {"operationId": "EVIL", "summary": "EVIL", "description": "EVIL", "tags": ["EVIL"],
			"parameters": [
				{"name": "id", "in": "path", "required": true, "description": "EVIL", "schema": {"type": "string", "default": "EVIL", "enum": ["EVIL", "b"]}},
				{"name": "EVIL", "in": "query"}, {"name": "filter", "in": "query", "style": "deepObject", "schema": {"type": "object", "description": "EVIL", "properties": {"EVIL": {"type": "string", "pattern": "EVIL"}}}},
				{"name": "q \"\"\"\n", "in": "query", "schema": {"type": "string", "format": "EVIL", "example": "EVIL"}}],
			"requestBody": {"required": true, "content": {"application/json": {"schema": {"type": "object", "properties": {"EVIL": {"type": "string", "title": "EVIL"}}}}}},
			"responses": {"200": {"description": "EVIL", "content": {"application/json": {"example": {"EVIL": "EVIL"}}}}}}}},
		"components": {"securitySchemes": {"EVIL": {"type": "apiKey", "in": "query", "name": "key \"\"\"\n"}}}}`, "EVIL", evil)
	p.Write("evil.json", doc)
	p.Want([]string{"tool", "import", in(p, "evil.json"), "--all", "--yes"}, 0, "", "trusted 3 files")
	files, err := filepath.Glob(filepath.Join(p.Dir, ".cassidy/tools/*.star"))
	if err != nil || len(files) != 2 {
		t.Errorf("the files are %q, %v", files, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || strings.ContainsAny(string(text), "\u202e\u200b\x00") {
			t.Errorf("%s has hidden characters: %v\n%s", file, err, text)
		}
	}
	p.Want([]string{"check"}, 0, "", "no faults in 3 files")
	p.Want([]string{"test"}, 0, "2 tests passed", "")
	out, _, _ := p.Run("--json", "tool", "list", "--location", "project")
	if !strings.Contains(out, `"needs":["http.post:a.example.com"`) || strings.Contains(out, "fs.write:") {
		t.Errorf("the tool needs more than it should:\n%s", out)
	}
}
