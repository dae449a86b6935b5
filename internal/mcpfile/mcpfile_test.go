package mcpfile

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

const full = `{
  "mcpServers": {
    "files": {
      "type": "stdio", "command": "npx", "args": ["-y", "server files"], "cwd": "docs",
      "env": {"TOKEN": "${FILES_TOKEN}", "MODE": "${MODE:-fast}"},
      "cassidy": {"network": true, "read": ["../shared"], "write": ["out"], "timeout": 90, "trust_annotations": true}
    },
    "weather": {"url": "https://weather.example/mcp", "headers": {"X-Key": "${WEATHER_KEY}"}}
  },
  "inputs": [1, 2.50]
}`

func TestParse(t *testing.T) {
	got, warnings, err := Parse(full)
	want := []Server{
		{
			Name: "files", Command: "npx", Args: []string{"-y", "server files"}, Dir: "docs",
			Env:     []Pair{{"TOKEN", "${FILES_TOKEN}"}, {"MODE", "${MODE:-fast}"}},
			Network: true, Read: []string{"../shared"}, Write: []string{"out"}, Timeout: 90 * time.Second, TrustAnnotations: true,
		},
		{Name: "weather", URL: "https://weather.example/mcp", Headers: []Pair{{"X-Key", "${WEATHER_KEY}"}}},
	}
	if err != nil || len(warnings) > 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("Parse = %+v, %v, %v, want %+v", got, warnings, err, want)
	}
}

func TestParseWarns(t *testing.T) {
	_, warnings, err := Parse(`{"mcpServers": {"a": {"command": "x", "autoApprove": [], "cassidy": {"netwrok": true}}}}`)
	want := []string{"mcpServers.a.autoApprove is ignored", "mcpServers.a.cassidy.netwrok is ignored"}
	if err != nil || !reflect.DeepEqual(warnings, want) {
		t.Errorf("Parse warns %q, %v, want %q", warnings, err, want)
	}
}

func TestParseErrors(t *testing.T) {
	entry := func(fields string) string { return `{"mcpServers": {"a": {` + fields + `}}}` }
	for _, c := range []struct{ name, text, want string }{
		{"not JSON", `{`, "the file is not valid JSON"},
		{"comments", "// mine\n{}", "the file is not valid JSON"},
		{"null", `null`, "the file is null"},
		{"a list", `[]`, "the file: expected an object but got array"},
		{"servers of another type", `{"mcpServers": []}`, "mcpServers: expected an object but got array"},
		{"an entry of another type", `{"mcpServers": {"a": "npx"}}`, "mcpServers.a: expected an object but got str"},
		{"twice the same name", `{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}`, "not valid JSON"},
		{"a name with an upper-case letter", `{"mcpServers": {"A": {"command": "x"}}}`, `invalid name of a server: "A"`},
		{"a name with two underscores", `{"mcpServers": {"a__b": {"command": "x"}}}`, `invalid name of a server`},
		{"a name that is a path", `{"mcpServers": {"../a": {"command": "x"}}}`, `invalid name of a server`},
		{"an empty name", `{"mcpServers": {"": {"command": "x"}}}`, `invalid name of a server`},
		{"a long name", `{"mcpServers": {"` + strings.Repeat("a", 31) + `": {"command": "x"}}}`, `invalid name of a server`},
		{"neither", entry(``), "mcpServers.a has neither a command nor a url"},
		{"both", entry(`"command": "x", "url": "https://a.example"`), "both a command and a url"},
		{"an unknown type", entry(`"type": "ws", "url": "https://a.example"`), `mcpServers.a.type is "ws"`},
		{"an old type of a program", entry(`"type": "sse", "command": "x"`), "the type \"sse\" does not match"},
		{"no tools", entry(`"command": "x", "cassidy": {"include": []}`), "include is empty"},
		{"the wrong type", entry(`"type": "http", "command": "x"`), "the type \"http\" does not match"},
		{"the other wrong type", entry(`"type": "stdio", "url": "https://a.example"`), "the type \"stdio\" does not match"},
		{"rights of a URL", entry(`"url": "https://a.example", "cassidy": {"network": true}`), "are only for servers with a command"},
		{"a command of another type", entry(`"command": ["x"]`), "mcpServers.a.command: expected a string but got array"},
		{"a NUL", entry(`"command": "x\u0000y"`), "contains a NUL character"},
		{"a NUL in an argument", entry(`"command": "x", "args": ["\u0000"]`), "mcpServers.a.args: expected a list of strings"},
		{"a number as an argument", entry(`"command": "x", "args": [1]`), "mcpServers.a.args: expected a list of strings"},
		{"arguments of another type", entry(`"command": "x", "args": "-y"`), "mcpServers.a.args: expected a list but got str"},
		{"a variable with =", entry(`"command": "x", "env": {"A=B": ""}`), `mcpServers.a.env: "A=B" is not a valid name`},
		{"a header with a line break", entry(`"url": "https://a.example", "headers": {"A\r\nB": ""}`), `mcpServers.a.headers: `},
		{"a value of another type", entry(`"command": "x", "env": {"A": 1}`), "mcpServers.a.env.A: expected a string but got integer"},
		{"a bool of another type", entry(`"command": "x", "cassidy": {"network": "no"}`), "mcpServers.a.cassidy.network: expected true or false"},
		{"a timeout of zero", entry(`"command": "x", "cassidy": {"timeout": 0}`), "expected an integer from 1 to 3600 (seconds)"},
		{"a timeout in words", entry(`"command": "x", "cassidy": {"timeout": "1m"}`), "expected an integer from 1 to 3600 (seconds)"},
		{"grants of another type", entry(`"command": "x", "cassidy": true`), "mcpServers.a.cassidy: expected an object but got bool"},
		{"too large", `"` + strings.Repeat(" ", MaxSize) + `"`, "the file is larger than 256 KB"},
		{"too deep", entry(`"command": "x", "more": ` + strings.Repeat("[", 40) + strings.Repeat("]", 40)), "not valid JSON"},
	} {
		servers, _, err := Parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || servers != nil {
			t.Errorf("%s: Parse = %v, %v, want an error with %q", c.name, servers, err, c.want)
		}
	}
}

func TestParseManyServers(t *testing.T) {
	servers := &value.Dict{}
	for i := range maxServers + 1 {
		servers.Put("s"+string(rune('a'+i%26))+string(rune('a'+i/26)), value.NewDict("command", "x"))
	}
	if _, _, err := Parse(value.FormatJSON(value.NewDict("mcpServers", servers), "")); err == nil || !strings.Contains(err.Error(), "more than 50 entries") {
		t.Errorf("Parse = %v, want that there are too many", err)
	}
}

func TestExpand(t *testing.T) {
	env := func(name string) (string, bool) {
		v, ok := map[string]string{"HOST": "a.example", "EMPTY": "", "NESTED": "${HOST}"}[name]
		return v, ok
	}
	for _, c := range []struct{ text, want string }{
		{"https://${HOST}/mcp", "https://a.example/mcp"},
		{"https://${NONE:-b.example}/", "https://b.example/"},
		{"https://${EMPTY:-b.example}/", "https://b.example/"},
		{"https://c.example/${EMPTY}", "https://c.example/"},
		{"https://c.example/?q=${NESTED}", "https://c.example/?q=${HOST}"}, // a value is not expanded again
		{"https://c.example/$HOST", "https://c.example/$HOST"},
		{"${NONE}", "error: the environment variable NONE, which the server s needs, is not set"},
		{"file:///etc/passwd", "error: the url of the server s is not valid"},
		{"ftp://a.example", "error: the url of the server s is not valid"},
		{"https://user:secret@a.example/", "error: the url of the server s is not valid"},
		{"https:///mcp", "error: the url of the server s is not valid"},
		{"a.example", "error: the url of the server s is not valid"},
	} {
		s := Server{Name: "s", URL: c.text}
		got, err := s.Expand(env)
		want, fails := strings.CutPrefix(c.want, "error: ")
		if fails != (err != nil) || fails && !strings.Contains(err.Error(), want) || !fails && got.URL != want {
			t.Errorf("Expand(%q) = %q, %v, want %q", c.text, got.URL, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	s := Server{Name: "s", Command: "${HOST}", Args: []string{"-h=${HOST}"}, Env: []Pair{{"H", "${HOST}"}}, Dir: "${HOST}", Read: []string{"${HOST}"}, Write: []string{"w/${HOST}"}}
	got, err := s.Expand(env)
	want := Server{Name: "s", Command: "a.example", Args: []string{"-h=a.example"}, Env: []Pair{{"H", "a.example"}}, Dir: "a.example", Read: []string{"a.example"}, Write: []string{"w/a.example"}, Headers: []Pair{}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Expand = %+v, %v, want %+v", got, err, want)
	}
}

func TestFacts(t *testing.T) {
	servers, _, err := Parse(full)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		`files: starts npx -y "server files"
package: server files is not pinned: each start may run another version
folder: docs
env: PATH, HOME, LANG, LC_*, TZ, *_PROXY, TOKEN, MODE
reads: the project, ../shared
writes: out
gets: the values of your environment variables FILES_TOKEN, MODE
network: opens connections to any address
asks: not before tools that it calls read-only
`,
		`weather: sends calls to https://weather.example/mcp
headers: X-Key
gets: the values of your environment variables WEATHER_KEY
`,
	} {
		got := ""
		for _, f := range servers[i].Facts() {
			got += f.Name + ": " + f.Value + "\n"
		}
		if got != want {
			t.Errorf("Facts = %s, want %s", got, want)
		}
	}
}

func TestPutAndRemove(t *testing.T) {
	text, err := Put(full, "new-one", value.NewDict("command", "new"))
	if err != nil {
		t.Fatal(err)
	}
	servers, _, err := Parse(text)
	if err != nil || len(servers) != 3 || servers[0].Name != "files" || servers[2].Name != "new-one" || !strings.Contains(text, "2.5") {
		t.Errorf("Put = %s, %v", text, err)
	}
	if e := Entry(text, "new-one"); e.Text("command") != "new" || Entry(text, "none") != nil || Entry("[", "x") != nil {
		t.Errorf("Entry = %v", e)
	}
	text, err = Remove(text, "files")
	servers, _, _ = Parse(text)
	if err != nil || len(servers) != 2 || servers[0].Name != "weather" {
		t.Errorf("Remove = %s, %v", text, err)
	}
	if _, err = Remove(text, "wether"); value.KindOf(err) != value.NotFound || !strings.Contains(err.Error(), `did you mean "weather"`) {
		t.Errorf("Remove = %v, want that it was not found", err)
	}
	if text, err = Put("", "a", value.NewDict("command", "x")); err != nil || text != "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n" {
		t.Errorf("Put in a new file = %s, %v", text, err)
	}
	for _, c := range []struct{ text, name string }{{"{", "a"}, {`{"mcpServers": 1}`, "a"}, {"{}", "A"}, {"{}", ""}} {
		if text, err := Put(c.text, c.name, value.NewDict("command", "x")); err == nil {
			t.Errorf("Put(%q, %q) = %s, want an error", c.text, c.name, text)
		}
	}
	if _, err := Put("{}", "a", value.NewDict("command", "x", "url", "https://a.example")); err == nil {
		t.Error("Put accepts an entry that Parse rejects")
	}
}

// FuzzParse parses any text. What is accepted can be changed and expanded, and each other entry
// stays as it is.
func FuzzParse(f *testing.F) {
	f.Add(full)
	f.Add(`{"mcpServers": {"a": {"url": "http://${A:-${B}}/"}}}`)
	f.Add(`{"mcpServers": null, "x": {"y": [1e99, -0.0, 12345678901234567890]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		servers, _, err := Parse(text)
		if err != nil {
			if value.KindOf(err) != value.Invalid && value.KindOf(err) != value.Limit {
				t.Errorf("Parse fails with kind %v: %v", value.KindOf(err), err)
			}
			return
		}
		for i := range servers {
			servers[i].Facts()
			_, _ = servers[i].Expand(func(string) (string, bool) { return "x", true }) // only the URL can be wrong
		}
		if len(servers) >= maxServers || len(text) > MaxSize/4 {
			return
		}
		changed, err := Put(text, "zz-new", value.NewDict("command", "x"))
		if err != nil {
			t.Fatalf("Put: %v", err)
		}
		changed, err = Remove(changed, "zz-new")
		if err != nil {
			t.Fatalf("Remove: %v", err)
		}
		again, _, err := Parse(changed)
		for i := range servers {
			if servers[i].Name == "zz-new" {
				return
			}
		}
		if err != nil || len(again) != len(servers) || len(again) > 0 && !reflect.DeepEqual(again, servers) {
			t.Errorf("after a change: %+v, %v, want %+v", again, err, servers)
		}
	})
}
