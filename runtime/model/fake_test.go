package model_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// The key of the tests. It has characters that base64, JSON and HTML escape, and is
// long enough to be removed everywhere.
const testKey = `sk-test/+&"key"-0123456789-abcdefghij`

// A turn is what a fake model does next, independent of the vendor.
type turn struct {
	text    string
	pieces  []string // the text as it is streamed; nil: word by word
	calls   []fakeCall
	length  bool     // it stops at its longest answer
	refuse  bool     // the provider refuses
	status  int      // an error of the server's, with body and header
	header  string   // "Name: value"
	body    string   // the whole body of the answer, in place of a right one
	cut     bool     // the connection breaks after the first half of the pieces
	hold    bool     // nothing comes after the first piece
	mute    bool     // no answer at all comes
	endless bool     // the text has no end
	breakAt int      // the connection breaks after that many frames, if not 0
	always  bool     // each request gets this turn, until there are other ones
	stores  []string // of CassidyAI: what is in the thread afterwards; "=" is the message itself
}

type fakeCall struct{ id, tool, args string }

func (t turn) streamed() []string {
	if t.pieces != nil {
		return t.pieces
	}
	return strings.SplitAfter(t.text, " ")
}

// A request is a request to a fake.
type request struct {
	method, path string
	header       http.Header
	body         *value.Dict
}

// A fake is a strict server for one vendor's API.
type fake struct {
	t      *testing.T
	server *httptest.Server
	vendor vendor
	mu     sync.Mutex
	turns  []turn
	log    []request
	slept  []time.Duration
	gone   chan struct{} // gets one for each client that left a held answer
	reach  chan struct{} // gets one for each held request that arrived
}

// A vendor is the part of a fake for one API.
type vendor interface {
	// check fails the test for a request that the API would reject, and reports whether
	// a turn is to be played for it.
	check(f *fake, q request) bool
	// authorized reports whether a request carries the key.
	authorized(q request) bool
	// play writes a valid answer.
	play(f *fake, w http.ResponseWriter, q request, t turn)
	// fail returns the body of an error.
	fail(status int) string
}

func newFake(t *testing.T, v vendor) *fake {
	f := &fake{t: t, vendor: v, gone: make(chan struct{}, 10), reach: make(chan struct{}, 10)}
	f.server = httptest.NewServer(f)
	t.Cleanup(f.server.Close)
	return f
}

// next adds turns to the model.
func (f *fake) next(turns ...turn) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.turns) > 0 && f.turns[0].always {
		f.turns = nil
	}
	f.turns = append(f.turns, turns...)
}

func (f *fake) requests() []request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

// sleep is the models' Sleep: it does not wait.
func (f *fake) sleep(ctx context.Context, d time.Duration) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slept = append(f.slept, d)
	return ctx.Err()
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q := request{r.Method, r.URL.Path, r.Header, nil}
	if r.URL.RawQuery != "" {
		q.path += "?" + r.URL.RawQuery
	}
	data, _ := io.ReadAll(r.Body)
	if len(data) > 0 {
		v, err := value.ParseJSON(data)
		d, ok := v.(*value.Dict)
		if err != nil || !ok {
			f.t.Errorf("%s %s: the body is no object: %v\n%s", q.method, q.path, err, data)
		}
		q.body = d
	}
	if bytes.Contains(data, []byte("sk-test")) || strings.Contains(r.URL.String(), "sk-test") {
		f.t.Errorf("%s: the key is in the address or the body", q.path)
	}
	checkNames(f.t, q)
	f.mu.Lock()
	f.log = append(f.log, q)
	f.mu.Unlock()
	if !f.vendor.authorized(q) {
		f.error(w, 401, turn{})
		return
	}
	if !f.vendor.check(f, q) {
		f.vendor.play(f, w, q, turn{})
		return
	}
	f.playTurn(w, r, q)
}

func (f *fake) playTurn(w http.ResponseWriter, r *http.Request, q request) {
	f.mu.Lock()
	if len(f.turns) == 0 {
		f.mu.Unlock()
		f.t.Errorf("%s: asked once too often", q.path)
		f.error(w, 500, turn{})
		return
	}
	t := f.turns[0]
	if !t.always {
		f.turns = f.turns[1:]
	}
	f.mu.Unlock()
	if name, value, ok := strings.Cut(t.header, ": "); ok {
		w.Header().Set(name, value)
	}
	if v, ok := f.vendor.(interface{ before(q request, t turn) }); ok {
		v.before(q, t)
	}
	switch {
	case t.mute:
		f.hold(r)
	case t.status != 0:
		f.error(w, t.status, t)
	case t.body != "":
		io.WriteString(w, strings.TrimPrefix(t.body, "EMPTY"))
	default:
		f.vendor.play(f, w, q, t)
		if t.hold {
			f.hold(r)
		}
	}
}

// hold waits until the client leaves.
func (f *fake) hold(r *http.Request) {
	f.reach <- struct{}{}
	<-r.Context().Done()
	f.gone <- struct{}{}
}

func (f *fake) error(w http.ResponseWriter, status int, t turn) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	if t.body == "" {
		t.body = f.vendor.fail(status)
	}
	io.WriteString(w, strings.TrimPrefix(t.body, "EMPTY"))
}

// stream writes frames one by one, as a turn says.
func stream(w http.ResponseWriter, t turn, first []string, each func(piece string) string, last []string) {
	flush := http.NewResponseController(w)
	frames := 0
	write := func(s string) bool {
		_, err := io.WriteString(w, s)
		ok := err == nil && flush.Flush() == nil
		if frames++; frames == t.breakAt {
			panic(http.ErrAbortHandler)
		}
		return ok
	}
	for _, s := range first {
		write(s)
	}
	pieces := t.streamed()
	for i, p := range pieces {
		if t.cut && i >= len(pieces)/2 || t.hold && i > 0 {
			break
		}
		write(each(p))
	}
	for t.endless && write(each(strings.Repeat("on and on ", 1000))) {
	}
	switch {
	case t.cut:
		panic(http.ErrAbortHandler)
	case t.hold || t.endless:
		return
	}
	for _, s := range last {
		write(s)
	}
}

// fields are the names and types of an object: "string", "integer", "number",
// "boolean", "array", "object", several joined by "|". A type that ends in "!" is
// required.
type fields map[string]string

// strict fails the test if an object does not match a table.
func strict(t *testing.T, where string, d *value.Dict, table fields) {
	t.Helper()
	if d == nil {
		t.Errorf("%s: not an object", where)
	}
	for k, v := range d.All() {
		want, ok := table[k.(string)]
		if !ok {
			t.Errorf("%s: unknown field %q", where, k)
			continue
		}
		types := strings.Split(strings.TrimSuffix(want, "!"), "|")
		got := value.TypeOf(v)
		if !slices.Contains(types, got) && !(got == "integer" && slices.Contains(types, "number")) {
			t.Errorf("%s: %q is %s, want %s", where, k, got, want)
		}
	}
	for name, want := range table {
		if strings.HasSuffix(want, "!") && !d.Has(name) {
			t.Errorf("%s: the field %q is missing", where, name)
		}
	}
}

// dicts returns the objects of the list with a name, and fails for other items.
func dicts(t *testing.T, d *value.Dict, name string) []*value.Dict {
	t.Helper()
	v, _ := d.Get(name)
	items, _ := v.(value.List)
	var list []*value.Dict
	for _, item := range items {
		one, ok := item.(*value.Dict)
		if !ok {
			t.Errorf("%s holds %s, want objects", name, value.TypeOf(item))
			continue
		}
		list = append(list, one)
	}
	return list
}

func inner(d *value.Dict, name string) *value.Dict {
	v, _ := d.Get(name)
	c, _ := v.(*value.Dict)
	return c
}

// js writes a value as JSON.
func js(pairs ...value.Value) string { return value.NewDict(pairs...).String() }

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return v
}

// readFile is the tool of the tests.
func readFile() tool.Tool {
	return tool.Tool{Name: "read_file", Description: "Read a file.", Params: []tool.Param{
		{Name: "path", Type: tool.Type{Name: tool.TypeString}, Description: "which file", Required: true},
		{Name: "limit", Type: tool.Type{Name: tool.TypeInteger}},
	}}
}

func user(text string) model.Message { return model.Message{Role: model.User, Text: text} }
