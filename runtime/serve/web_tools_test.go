package serve

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// submit sends a form, expects to be led to a page, and returns the address.
func (r *rig) submit(token, path, form string) string {
	r.t.Helper()
	response, _ := r.browse(token, http.MethodPost, path, form, http.StatusSeeOther)
	return response.Header.Get("Location")
}

// runIn returns the run that an address names.
func runIn(t *testing.T, address string) string {
	t.Helper()
	m := regexp.MustCompile(`[?&]run=([^&#]+)`).FindStringSubmatch(address)
	if m == nil {
		t.Fatalf("%s names no run", address)
	}
	return m[1]
}

func TestCatalogs(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.shows("vera", "/tools", http.StatusOK, "Tools", "bakery · custom", "other · custom", "echo", "Return the text.", "reads only", `href="/tools/echo?project=bakery"`)
	r.shows("vera", "/tools?project=bakery", http.StatusOK, "!other · ", "!>custom")
	r.shows("vera", "/tools?q=return+ECHO", http.StatusOK, "echo", "!fails")
	r.shows("vera", "/tools?q=lindnes", http.StatusOK, "Nothing matches “lindnes” among 10")
	r.shows("una", "/tools", http.StatusOK, "!bakery", `href="/tools/echo"`)
	r.shows("vera", "/workflows", http.StatusOK, "Workflows", "greet", "calls every tool", `href="/workflows/greet?project=bakery"`)
	r.shows("vera", "/tools/nothing", http.StatusNotFound, "There is nothing here")
	r.shows("vera", "/workflows/great", http.StatusNotFound, "There is no workflow", "greet")
}

func TestToolPage(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	r.shows("rob", "/tools/echo?project=bakery", http.StatusOK, "echo", "Return the text.", "Run echo", "text", "required", "cassidy tool run echo", "The result appears here.", `action="/tools/echo?project=bakery"`)
	r.shows("vera", "/tools/echo", http.StatusOK, "You can view this. To run it, the role run is needed.", "!Edit as JSON")
	r.shows("vera", "/tools/echo?tab=doc", http.StatusOK, "Parameters", "only compute.")
	r.shows("vera", "/tools/bump?tab=doc", http.StatusOK, "It may")
	r.shows("vera", "/tools/echo?tab=runs", http.StatusOK, "It has not run yet")

	at := r.submit("rob", "/tools/echo?project=bakery", "%2Ftext=good+morning&_key=k1")
	if !strings.HasPrefix(at, "/tools/echo?project=bakery&run=key-") || !strings.HasSuffix(at, "#result") {
		t.Fatalf("the form leads to %s", at)
	}
	id := runIn(t, at)
	r.until(id, history.Done)
	r.shows("rob", at, http.StatusOK, "Done", "rob, ", "run "+id, "good morning", `value="good morning"`, "Edit and run again", "two flip", "!data-live")
	r.shows("rob", "/tools/echo?project=bakery", http.StatusOK, "good morning", `!value="good morning"`, "!two flip")
	r.shows("rob", "/tools/echo?project=bakery&from="+id, http.StatusOK, `value="good morning"`, "!two flip")
	r.shows("rob", "/tools/echo?project=bakery&tab=runs", http.StatusOK, id, "good morning")
	r.shows("rob", "/tools/echo?project=other", http.StatusOK, "!good morning")

	if again := r.submit("rob", "/tools/echo?project=bakery", "%2Ftext=good+morning&_key=k1"); again != at {
		t.Errorf("the same form leads to %s, and first to %s", again, at)
	}
	html := r.refuses("rob", "/tools/echo?project=bakery", "%2Ftext=good+evening&_key=k1", http.StatusBadRequest)
	expect(t, "another form with the same key", html, "sent already, with other arguments", `value="good evening"`, `!value="k1"`)
	if runs := r.texts("begin"); len(runs) != 2 { // each form is a decision
		t.Errorf("decisions: %q", runs)
	}
}

// refuses sends a form, and returns the page that does not take it.
func (r *rig) refuses(token, path, form string, status int) string {
	r.t.Helper()
	_, html := r.browse(token, http.MethodPost, path, form, status)
	return html
}

// textOf reads an answer.
func textOf(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (r *rig) texts(actions ...string) []string { return r.audit.texts(actions...) }

// kindsSchema has a parameter of each kind.
const kindsSchema = `{"type": "object", "required": ["path"], "properties": {
	"path": {"type": "string", "description": "Where."}, "by": {"enum": ["city", "month"], "default": "city"}, "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
	"share": {"type": "number"}, "late": {"type": "boolean", "default": false}, "strict": {"type": "boolean", "default": true},
	"cities": {"type": "array", "items": {"type": "string"}}, "rename": {"type": "object", "additionalProperties": {"type": "string"}},
	"period": {"type": "object", "properties": {"from": {"type": "string", "format": "date"}, "to": {"type": "string", "format": "date"}}},
	"at": {"type": ["string", "null"], "format": "date-time"}, "password": {"type": "string", "format": "password"},
	"to": {"oneOf": [{"title": "mail", "type": "object", "properties": {"address": {"type": "string"}}, "required": ["address"]}, {"title": "file", "type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}]},
	"more": {"description": "Anything."}}}`

// addKinds adds a tool with a parameter of each kind to the bakery, which returns its arguments as rows.
func (r *rig) addKinds() {
	r.t.Helper()
	t := tool.Tool{Name: "kinds", Title: "All Kinds", Description: "Return the arguments.", Schema: []byte(kindsSchema), Group: "data", Needs: []tool.Capability{{Name: "secret", Target: "TOKEN@example.com"}}, OnlyCalls: true}
	err := r.projects[0].Host.Register(t, func(_ context.Context, args *value.Dict) (value.Value, error) {
		rows := value.List{}
		for k, v := range args.All() {
			rows = append(rows, value.NewDict("name", k, "given", v))
		}
		return rows, nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func TestToolForms(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(o *Options) {
		o.Projects[0].HasSecret = func(_ context.Context, name string) bool { return name != "TOKEN" }
		o.Projects[0].Source = func(_ context.Context, t *toolset.Info) (tool.Script, error) {
			return tool.Script{Path: "echo.star", Source: "def echo(text: str) -> str:", Libs: map[string]string{"dates.star": ""}}, nil
		}
	}).start()
	r.addKinds()
	const at = "/tools/kinds?project=bakery"
	r.shows("ann", at, http.StatusOK, "All Kinds", "TOKEN secret for example.com", "cassidy secret set TOKEN", "use the secret TOKEN@example.com", "Add an item", "Left empty: 10.")
	for _, c := range []struct {
		name, form string
		status     int
		texts      []string
	}{
		{"wrong", "%2Flimit=300&%2Fshare=x", 400, []string{"Not run yet.", "2 fields need a correction", "limit must be 100 or less", `value="300"`}},
		{"unread", "%2Fpath=a&%2Flimit=many", 400, []string{"One field needs a correction", "must be a number"}},
		{"show", "%2Fpath=a&_act=show", 200, []string{"What will be sent", "cassidy tool run kinds path=a", "!Not run yet"}},
		{"json", "%2Fpath=a&_act=json", 200, []string{"Edit as a form", "&#34;path&#34;: &#34;a&#34;"}},
		{"form", "_json=%7B%22path%22%3A+%22b%22%7D&_act=form", 200, []string{"Edit as JSON", `value="b"`}},
		{"row", "%2Fpath=a&_add=%2Fcities", 200, []string{`name="/cities/0"`, "Remove cities 1", "!Not run yet"}},
		{"less", "%2Fpath=a&_row=%2Fcities%2F0&%2Fcities%2F0=Bern&_row=%2Fcities%2F1&%2Fcities%2F1=Thun&_del=%2Fcities%2F0", 200, []string{`value="Thun"`, `!value="Bern"`}},
	} {
		expect(t, c.name, r.refuses("ann", at, c.form, c.status), c.texts...)
	}
	expect(t, "a viewer", r.refuses("vera", at, "%2Fpath=a&_act=show", 200), "cassidy tool run kinds path=a")
	expect(t, "a viewer who runs it", r.refuses("vera", at, "%2Fpath=a", 403), "Not allowed", "it needs the role run")
	if len(r.texts("begin")) > 0 {
		t.Error("something has run")
	}
	form := "%2Fpath=a%20b&%2Fby=month&%2Flimit=20&%2Fshare=0.5&%2Flate=true&%2Fstrict=false&_row=%2Fcities%2F0&%2Fcities%2F0=Bern&_row=%2Frename%2F0&%2Frename%2F0%2Fkey=a&%2Frename%2F0%2Fvalue=b" +
		"&%2Fperiod%2Ffrom=2026-04-01&_null=%2Fat&%2Fpassword=secret&%2Fto=1&%2Fto%2F1%2Fname=out&%2Fmore=%5B1%5D"
	id := runIn(t, r.submit("ann", at, form))
	run := r.until(id, history.Done)
	want := `{"path":"a b","by":"month","limit":20,"share":0.5,"late":true,"strict":false,"cities":["Bern"],"rename":{"a":"b"},"period":{"from":"2026-04-01"},"at":null,"password":"secret","to":{"name":"out"},"more":[1]}`
	if got := value.FormatJSON(run.Args.Dict("args"), ""); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") {
		t.Errorf("the form sent %s", got)
	}
	html := r.shows("ann", at+"&run="+id+"&sort=-name", http.StatusOK, "13 rows", "Bern", `href="/runs/`+id+`/steps/result/value?form=csv"`, "run="+id, `!value="secret"`)
	if i, j := strings.Index(html, ">to<"), strings.Index(html, ">at<"); i < 0 || j < i {
		t.Error("the rows are not sorted")
	}
	r.shows("ann", "/tools/echo?project=bakery&tab=script", http.StatusOK, "echo.star", "def echo(text: str)", "It loads dates.star.")
}

func TestResults(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil).start()
	r.shows("rob", r.submit("rob", "/tools/fails?project=bakery", ""), http.StatusOK, "Failed", "no luck", "It has no parameters.")
	at := r.submit("rob", "/tools/ask?project=bakery", "")
	id := runIn(t, at)
	r.until(id, history.Parked)
	q := r.question(id).Text("id")
	r.shows("rob", at, http.StatusOK, "Waiting", "It waits for an answer.", `href="/questions/`+q+`"`, `data-live="/live/result/`+id+`"`)
	stream := r.stream("rob", "/live/result/"+id)
	stream.expect("part", "Waiting")
	r.post("ann", "/v1/runs/"+id+"/questions/"+q+"/answer", `{"value": "this one"}`, http.StatusOK)
	stream.expect("part", "Done", "this one")

	at = r.submit("rob", "/workflows/greet?project=bakery", "%2Fname=Ann")
	id = runIn(t, at)
	r.until(id, history.Done)
	r.shows("rob", at, http.StatusOK, "hello Ann", `value="Ann"`, "cassidy run greet name=Ann", `href="/workflows/greet?project=bakery&amp;tab=script"`)
	r.shows("rob", "/workflows/greet?tab=script", http.StatusOK, "return &#39;hello &#39;")
	expect(t, "a workflow with a wrong argument", r.refuses("rob", "/workflows/sure", "%2Fn=many", http.StatusBadRequest), "n must be a number")
	r.browse("rob", http.MethodGet, "/live/result/none", "", http.StatusNotFound)
}

// A pageStream is the stream of a page.
type pageStream struct {
	r     *rig
	body  io.Closer
	lines *bufio.Scanner
	seen  []string
}

// stream opens the stream of a page.
func (r *rig) stream(token, path string) *pageStream {
	r.t.Helper()
	response := r.send(ask{token: token, method: http.MethodGet, path: path})
	if response.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: status %d", path, response.StatusCode)
	}
	s := &pageStream{r: r, body: response.Body, lines: bufio.NewScanner(response.Body)}
	s.lines.Buffer(nil, 8<<20)
	return s
}

// expect waits for an event of a name with some texts.
func (s *pageStream) expect(name string, texts ...string) {
	s.r.t.Helper()
	late := time.AfterFunc(3*time.Minute, func() { _ = s.body.Close() }) // the test fails with what came
	defer late.Stop()
	is, data := "", ""
	for s.lines.Scan() {
		switch key, text, _ := strings.Cut(s.lines.Text(), ": "); key {
		case "event":
			is = text
		case "data":
			data += text + "\n"
		case "":
			s.seen = append(s.seen, is+": "+plain(data))
			if is == name && !slices.ContainsFunc(texts, func(t string) bool {
				t, not := strings.CutPrefix(t, "!")
				return strings.Contains(data, t) == not && strings.Contains(plain(data), t) == not
			}) {
				return
			}
			is, data = "", ""
		}
	}
	s.r.t.Fatalf("the stream ended (%v) without %s %q:\n%s", s.lines.Err(), name, texts, strings.Join(s.seen, "\n"))
}
