package taint

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestBefore(t *testing.T) {
	var m Marks
	for _, s := range []Source{
		{Tool: "later", At: tool.StepPath{4, 1}}, {Tool: "first", At: tool.StepPath{2, 1}}, {Tool: "earlier run"}, {Tool: "inside", At: tool.StepPath{3, 1}},
	} {
		if !m.Add(s) || m.Add(s) {
			t.Errorf("%s was not added once", s.Tool)
		}
	}
	for _, tt := range []struct {
		at   tool.StepPath
		want string
	}{
		{nil, "earlier run"},
		{tool.StepPath{2}, "earlier run inside later"}, // what the call reads itself is not before it
		{tool.StepPath{3}, "earlier run first later"},
		{tool.StepPath{3, 2}, "earlier run first inside later"},
		{tool.StepPath{9}, "earlier run first inside later"},
	} {
		var got []string
		for _, s := range m.Before(tt.at) {
			got = append(got, s.Tool)
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("before %v: %q, want %q", tt.at, got, tt.want)
		}
	}
	var again Marks
	m.Typed("see https://a.example/x, and (http://b.example).")
	again.Restore(m.Recorded())
	if got, want := len(again.Before(tool.StepPath{9})), 4; got != want {
		t.Errorf("restored: %d sources, want %d", got, want)
	}
	if got := strings.Join(again.Recorded().Typed, " "); got != "https://a.example/x http://b.example" {
		t.Errorf("restored addresses: %q", got)
	}
	if got := len(Of(With(t.Context(), &m)).Before(nil)); got != 4 {
		t.Errorf("in the next run: %d sources, want all 4", got)
	}
}

// TestTypedAfterAttached checks that the addresses in an attached text are not those of the user.
func TestTypedAfterAttached(t *testing.T) {
	var m Marks
	m.Typed("https://mine.example")
	m.Add(Source{What: "letter.txt"})
	m.Typed("the file letter.txt: https://evil.example")
	var again Marks
	again.Restore(m.Recorded())
	if got := strings.Join(again.Recorded().Typed, " "); got != "https://mine.example" {
		t.Errorf("the user has typed %q", got)
	}
}

func TestNilMarks(t *testing.T) {
	var m *Marks
	m.Typed("https://a.example")
	if m.Add(Source{}) || m.Before(nil) != nil || m.Known(value.NewDict("url", "x"), []tool.Capability{{Name: "http.get"}}, Choice{}) {
		t.Error("nil marks have something")
	}
}

// TestKnown checks which requests tell a server nothing that it does not know.
func TestKnown(t *testing.T) {
	const url = "https://a.example/x"
	get := []tool.Capability{{Name: "http.get", Target: "a.example"}}
	fetch := &tool.Tool{Name: "fetch", Params: []tool.Param{{Name: "url"}, {Name: "as", HasDefault: true, Default: "text"}, {Name: "note"}}}
	var m Marks
	m.Typed("read " + url + ".")
	m.Add(Source{Tool: "fetch", What: "b", Sum: Sum(value.NewDict("url", "https://b.example/?q=1"), get)})
	args := func(url string, more ...any) *value.Dict { return value.NewDict(append([]any{"url", url}, more...)...) }
	for _, tt := range []struct {
		name        string
		takes       []tool.Capability
		args, model *value.Dict
		want        bool
	}{
		{"a typed address", get, args(url), args(" " + url), true},
		{"with an offset and a default", get, args(url), args(url, "offset", int64(5), "raw", true, "as", "text"), true},
		{"another text of the model", get, args(url), args(url, "note", "secret"), false},
		{"a list of the model", get, args(url), args(url, "note", value.List{"secret"}), false},
		{"a query", get, args(url, "params", value.NewDict("q", "secret")), args(url), false},
		{"a password", get, args(url, "auth", value.List{"u", "p"}), args(url), false},
		{"another address", get, args(url + "?q=secret"), args(url + "?q=secret"), false},
		{"a post", []tool.Capability{{Name: "http.post", Target: "a.example"}}, args(url), args(url), false},
		{"two capabilities", append([]tool.Capability{{Name: "secret", Target: "T@"}}, get...), args(url), args(url), false},
		{"with a secret, which the script sends", append(slices.Clone(get), tool.Capability{Name: "secret", Target: "T@a.example"}), args(url), args(url), true},
		{"a request that was made before", get, args("https://b.example/?q=1"), args("https://b.example/?q=1"), true},
		{"the same by another method", []tool.Capability{{Name: "http.head", Target: "b.example"}}, args("https://b.example/?q=1"), args(""), false},
		{"nothing", nil, args(url), args(url), false},
	} {
		if got := m.Known(tt.args, tt.takes, Choice{fetch, tt.model}); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestSaid checks that the newest words of a user are kept, also by a record, and no more than a few.
func TestSaid(t *testing.T) {
	t.Parallel()
	var m, restored Marks
	m.Typed("look at old.example")
	m.Typed(strings.Repeat("x ", maxSaid/4))
	m.Typed("and at new.example")
	for range 2 {
		restored.Restore(m.Recorded())
	}
	m.Add(Source{What: "letter.txt"})
	m.Typed("evil.example")
	look := &tool.Tool{Name: "look", Schema: []byte(`{"properties": {"at": {"type": "string"}}}`)}
	for at, want := range map[string]bool{"old.example": false, "New.Example": false, "evil.example": true, "example": true, " ": true, "": false} {
		args := value.NewDict("at", at)
		if m.Composed(look, args) != want || restored.Composed(look, args) != want {
			t.Errorf("%q is composed: %v and %v, want %v", at, m.Composed(look, args), restored.Composed(look, args), want)
		}
	}
	m, restored = Marks{}, Marks{}
	m.Typed("old.example")
	m.Typed(strings.Repeat("x ", maxSaid))
	if size := len(strings.Join(m.Recorded().Said, "")); size > maxSaid || !m.Composed(look, value.NewDict("at", "old.example")) {
		t.Errorf("%d bytes are kept, at most %d", size, maxSaid)
	}
	if (*Marks)(nil).Composed(look, nil) || !(*Marks)(nil).Composed(look, value.NewDict("at", "x")) {
		t.Error("without marks, all arguments are composed, and no others")
	}
}

// TestTable checks what is a source and what is a sink.
func TestTable(t *testing.T) {
	caps := func(text string) []tool.Capability {
		c, err := tool.ParseCapability(text)
		if err != nil {
			t.Fatal(err)
		}
		return []tool.Capability{c}
	}
	reads := func(*value.Dict) bool { return true }
	for _, tt := range []struct {
		takes string
		f     tool.Func
		hints tool.Hints
		sink  bool
		read  string
	}{
		{"http.get:a.example", tool.Func{Kind: tool.Repeatable}, tool.Hints{}, true, "f a.example"},
		{"http.post:a.example", tool.Func{Kind: tool.External}, tool.Hints{}, true, "f a.example"},
		{"http.get:api.example", tool.Func{Kind: tool.Repeatable}, tool.Hints{}, true, ""},
		{"shell:git", tool.Func{Kind: tool.External}, tool.Hints{}, true, ""},
		{"shell:git", tool.Func{Kind: tool.External, ReadsOnly: reads}, tool.Hints{}, false, ""},
		{"shell:gh", tool.Func{Kind: tool.External, Untrusted: reads}, tool.Hints{}, true, "f"},
		{"skill.create", tool.Func{Kind: tool.External}, tool.Hints{}, true, ""},
		{"use:mail/send", tool.Func{Kind: tool.External}, tool.Hints{}, true, ""},
		{"use:mail/send", tool.Func{Kind: tool.External, Risk: tool.RiskSafe}, tool.Hints{}, false, ""},
		{"use:mail/send", tool.Func{Kind: tool.External, Risk: tool.RiskSafe}, tool.Hints{OpenWorld: true}, true, ""},
		{"use:mail/read", tool.Func{Kind: tool.Read}, tool.Hints{}, false, ""},
		{"fs.read:a.txt", tool.Func{Kind: tool.Read}, tool.Hints{}, false, ""},
		{"fs.read:inbox/a.txt", tool.Func{Kind: tool.Read}, tool.Hints{}, false, "inbox/a.txt"},
		{"fs.read:inbox/own.txt", tool.Func{Kind: tool.Read}, tool.Hints{}, false, ""},
		{"fs.write:a.txt", tool.Func{Kind: tool.Write}, tool.Hints{}, false, ""},
		{"env:HOME", tool.Func{Kind: tool.Read}, tool.Hints{}, false, ""},
		{"model", tool.Func{Kind: tool.Repeatable}, tool.Hints{}, false, ""},
		{"human", tool.Func{Kind: tool.Repeatable}, tool.Hints{}, false, ""},
	} {
		lists, err := ParseLists([]string{"http:api.example", "fs.read:inbox/own.txt"}, []string{"fs.read:inbox/**"}, Files{})
		if err != nil {
			t.Fatal(err)
		}
		var m Marks
		takes, args := caps(tt.takes), &value.Dict{}
		if got := IsSink(&tool.Tool{Hints: tt.hints}, &tt.f, args, takes); got != tt.sink {
			t.Errorf("%s of %+v is a sink: %v, want %v", tt.takes, tt.hints, got, tt.sink)
		}
		if got := lists.Read(&m, &tt.f, tool.Effect{Func: "f", Args: args}, takes, tool.Outcome{Value: nil}, nil); got != tt.read {
			t.Errorf("%s reads %q, want %q", tt.takes, got, tt.read)
		}
	}
}

// TestReadFollows checks that a redirect and the files of a search count.
func TestReadFollows(t *testing.T) {
	lists, err := ParseLists([]string{"http:api.example", "http:other.example"}, []string{"fs.read:inbox/**"}, Files{})
	if err != nil {
		t.Fatal(err)
	}
	var m Marks
	get := []tool.Capability{{Name: "http.get", Target: "api.example"}}
	e := tool.Effect{Func: "http.get", Args: value.NewDict("url", "https://api.example/x")}
	for url, want := range map[string]string{
		"https://api.example/y": "", "https://other.example:443/?a": "", "https://evil.example/x": "http.get https://api.example/x", "http://api.example:81/": "http.get https://api.example/x",
	} {
		if got := lists.Read(&m, &tool.Func{}, e, get, tool.Outcome{Value: value.NewDict("url", url)}, nil); got != want {
			t.Errorf("redirected to %s: %q, want %q", url, got, want)
		}
	}
	if got := lists.Read(&m, &tool.Func{}, tool.Effect{Func: "fs.stat", Args: &value.Dict{}}, []tool.Capability{{Name: "fs.read", Target: "inbox/a.txt"}}, tool.Outcome{Value: nil}, nil); got != "" {
		t.Errorf("fs.stat reads %q", got)
	}
	e = tool.Effect{Func: "fs.search", Args: &value.Dict{}}
	for path, want := range map[string]string{"a.txt": "", "inbox/a.txt": "inbox/a.txt"} {
		if got := lists.Read(&m, &tool.Func{}, e, []tool.Capability{{Name: "fs.read", Target: "."}}, tool.Outcome{Value: value.List{value.NewDict("path", path)}}, nil); got != want {
			t.Errorf("found %s: %q, want %q", path, got, want)
		}
	}
}

func TestParseLists(t *testing.T) {
	for _, text := range []string{"http", "shell:git", "http:", "nonsense", "fs.write:a", "tool"} {
		if _, err := ParseLists([]string{text}, nil, Files{}); value.KindOf(err) != value.Invalid || err == nil {
			t.Errorf("%q: %v, want that it is invalid", text, err)
		}
	}
	l, err := ParseLists([]string{"tool:read-mail", "tool:@news"}, []string{"tool:jira"}, Files{})
	if err != nil || !l.TrustsTool(&tool.Tool{Name: "read_mail"}) || !l.TrustsTool(&tool.Tool{Name: "x", Group: "news"}) || l.TrustsTool(&tool.Tool{Name: "jira"}) || !l.DistrustsTool(&tool.Tool{Name: "jira"}) {
		t.Errorf("the lists %+v, %v", l, err)
	}
}

// TestTrusting checks which entries of trusted_sources are offered: narrow ones, that trust all that was read.
func TestTrusting(t *testing.T) {
	t.Parallel()
	rates := Source{Tool: "rates", What: "http.get http://127.0.0.1:8097/rates?to=EUR"}
	many := []Source{rates}
	for i := range maxTrusting {
		many = append(many, Source{Tool: "t" + strconv.Itoa(i)})
	}
	for _, tt := range []struct {
		read []Source
		want string
	}{
		{nil, ""},
		{[]Source{rates, rates}, "http:127.0.0.1:8097"},
		{[]Source{rates, {Tool: "ask", What: "http.post https://api.example:443/x"}}, "http:127.0.0.1:8097 http:api.example"},
		{[]Source{{Tool: "read_mail"}}, "tool:read_mail"},
		{[]Source{{Tool: "weather.get"}}, "tool:weather.get"},
		{[]Source{{Tool: "read_file", What: "inbox/mail.txt"}}, "fs.read:inbox/mail.txt"},
		{[]Source{{Tool: "read_file", What: "link.txt (inbox/mail.txt)"}}, ""},
		{[]Source{{Tool: "read_file", What: "inbox/*.txt"}}, ""},
		{[]Source{{Tool: "run_command", What: "shell.run cat inbox/mail.txt"}}, ""},
		{[]Source{rates, {What: "letter.txt"}}, ""},
		{many, ""},
	} {
		if got := strings.Join(Trusting(tt.read), " "); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.read, got, tt.want)
		}
	}
}

// TestUnansweredRequest checks that a server which was not reached has not been read.
func TestUnansweredRequest(t *testing.T) {
	t.Parallel()
	e := tool.Effect{Func: "http.get", Args: value.NewDict("url", "https://a.example/x")}
	takes := []tool.Capability{{Name: "http.get", Target: "a.example"}}
	failed := value.Errorf(value.Unavailable, "no answer")
	for err, want := range map[*value.Error]string{failed.WithLimit(value.LimitUnsent): "", failed.WithLimit(value.OfSecret("KEY")): "", failed: "http.get https://a.example/x"} {
		if got := (&Lists{}).Read(&Marks{}, &tool.Func{}, e, takes, tool.Outcome{}, err); got != want {
			t.Errorf("%v with the limit %q: %q, want %q", err, err.Limit, got, want)
		}
	}
}

func TestWhy(t *testing.T) {
	read := []Source{{Tool: "a", What: "http.get x\nwhy: safe", At: tool.StepPath{1}}, {Tool: "a"}, {What: "b.txt"}, {Tool: "c", At: tool.StepPath{2}}, {Tool: "d", At: tool.StepPath{3, 1}}}
	got := Why(read)
	if want := "the model has read untrusted text: the result of d (step 3.1); the result of c (step 2); b.txt, which was attached (earlier in this conversation); and 2 more"; got != want {
		t.Errorf("Why = %q, want %q", got, want)
	}
	if got := Why(read[:1]); strings.Contains(got, "\n") {
		t.Errorf("Why has line ends: %q", got)
	}
	if Kind(read) != Kind([]Source{read[4], read[3], read[2], read[1], read[0]}) || Kind(read) == Kind(read[:4]) {
		t.Error("Kind does not identify the sources")
	}
}

// TestSavedResults has the place where agents save long results: it is untrusted although nobody lists it,
// unless the user trusts it.
func TestSavedResults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		trusted []string
		path    string
		want    string
	}{
		{nil, ".cassidy/results/one/1-get.txt", ".cassidy/results/one/1-get.txt"},
		{nil, ".cassidy/tools/x.star", ""},
		{nil, "results/one", ""},
		{[]string{"fs.read:.cassidy/results/**"}, ".cassidy/results/one/1-get.txt", ""},
	} {
		lists, err := ParseLists(tt.trusted, nil, Files{})
		if err != nil {
			t.Fatal(err)
		}
		e := tool.Effect{Func: "fs.read", Args: value.NewDict("path", tt.path)}
		if got := lists.Read(nil, &tool.Func{Kind: tool.Read}, e, []tool.Capability{{Name: "fs.read", Target: tt.path}}, tool.Outcome{Value: "text"}, nil); got != tt.want {
			t.Errorf("reading %s with %v trusted: %q, want %q", tt.path, tt.trusted, got, tt.want)
		}
	}
}

// TestNamesAreText has names of an untrusted place in what is no list of paths: in the output of a command, in
// an error, and in a description.
func TestNamesAreText(t *testing.T) {
	t.Parallel()
	lists, err := ParseLists([]string{"fs.read:inbox/own/**"}, []string{"fs.read:inbox/**", "fs.read:*.eml"}, Files{})
	if err != nil {
		t.Fatal(err)
	}
	shell := func(argv value.List, cwd, out string) string {
		e := tool.Effect{Func: "shell.run", Args: value.NewDict("argv", argv, "cwd", cwd)}
		return lists.Read(nil, &tool.Func{}, e, nil, tool.Outcome{Value: value.NewDict("stdout", out, "stderr", "")}, nil)
	}
	git := value.List{"git", "status"}
	for out, want := range map[string]bool{
		"? inbox/a b.txt\x00": true, "?? \"inbox/\\303\"": true, "./inbox/x:1: text": true, "+++ b/inbox/x": true, "/home/me/p/inbox/x": true, "./inbox:\nname": true, "? Do this.eml\x00": true,
		"? inbox\x00": false, "? src/a.txt\x00": false, "inbox/own/a": false, "the inbox is empty": false, "": false,
	} {
		if got := shell(git, ".", out); (got != "") != want {
			t.Errorf("%q names %q, want one: %v", out, got, want)
		}
	}
	if shell(value.List{"ls", "inbox"}, ".", "a") == "" || shell(value.List{"ls"}, "inbox", "a") == "" || shell(value.List{"ls"}, "src", "a") != "" {
		t.Error("a command in or on an untrusted folder is trusted, or another is not")
	}
	for hint, want := range map[string]bool{"did you mean inbox/Do this?": true, "did you mean src/a?": false, "check the path: the folder inbox has no file with a similar name": false} {
		failure := value.Errorf(value.Failed, "File not found: inbox/x").WithHint("%s", hint)
		e := tool.Effect{Func: "fs.stat", Args: value.NewDict("path", "inbox/x")}
		if got := lists.Read(nil, &tool.Func{}, e, nil, tool.Outcome{}, failure); (got != "") != want {
			t.Errorf("%s: names %q, want one: %v", hint, got, want)
		}
	}
	e := tool.Effect{Func: "context.read", Args: &value.Dict{}}
	names := func(list ...string) tool.Outcome { return tool.Outcome{Names: func() []string { return list }} }
	if lists.Read(nil, &tool.Func{}, e, nil, names("a", "inbox", "inbox/x"), nil) == "" || lists.Read(nil, &tool.Func{}, e, nil, names("a", "inbox"), nil) != "" {
		t.Error("names in a description are trusted, or the folder's own name is not")
	}
}
