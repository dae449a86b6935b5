package model_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A fakeCassidy plays CassidyAI's API, and keeps its threads.
type fakeCassidy struct {
	bearer bool   // which header it takes
	field  string // in which the answer's text is; "" means content
	noID   bool   // making a thread gives none
	lost   int    // the status with which reading a thread fails, or 0

	mu      sync.Mutex
	threads map[string]value.List
}

func (v *fakeCassidy) authorized(q request) bool {
	key, bearer := q.header.Get("X-Api-Key") == testKey, q.header.Get("Authorization") == "Bearer "+testKey
	return bearer == v.bearer && key != v.bearer
}

func (v *fakeCassidy) fail(status int) string {
	switch status {
	case 400:
		return `{"message":"input is too long","code":"BAD_REQUEST"}`
	case 524:
		return "<!DOCTYPE html><html><head><title>app.cassidyai.com | 524: A timeout occurred</title></head></html>"
	}
	return `{"message":"it went wrong"}`
}

func (v *fakeCassidy) check(f *fake, q request) bool {
	t := f.t
	v.mu.Lock()
	defer v.mu.Unlock()
	if q.method == "POST" && q.header.Get("Content-Type") != "application/json" {
		t.Errorf("%s: content type %q", q.path, q.header.Get("Content-Type"))
	}
	switch path, query, _ := strings.Cut(q.path, "?"); q.method + " " + path {
	case "POST /api/assistants/thread/create":
		strict(t, "thread/create", q.body, fields{"assistant_id": "string!"})
		if q.body.Text("assistant_id") != "asst-1" {
			t.Errorf("assistant %q", q.body.Text("assistant_id"))
		}
		return false
	case "POST /api/assistants/message/create":
		strict(t, "message/create", q.body, fields{"thread_id": "string!", "message": "string!"})
		if _, ok := v.threads[q.body.Text("thread_id")]; !ok || q.body.Text("message") == "" {
			t.Errorf("a message %q to the thread %q", q.body.Text("message"), q.body.Text("thread_id"))
		}
		return true
	case "GET /api/assistants/thread/get":
		if _, ok := v.threads[strings.TrimPrefix(query, "thread_id=")]; !ok || q.body != nil {
			t.Errorf("%s: no such thread", q.path)
		}
		return false
	}
	t.Errorf("%s %s is not in the API", q.method, q.path)
	return false
}

// before stores what a turn leaves in the thread.
func (v *fakeCassidy) before(q request, t turn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	id := q.body.Text("thread_id")
	for i, text := range t.stores {
		role := "user"
		if text == "=" {
			text = q.body.Text("message") + " \r\n"
		} else if i > 0 {
			role = "assistant"
		}
		v.threads[id] = append(v.threads[id], value.NewDict("role", role, "content", text, "timestamp", "2026-01-01T00:00:00Z"))
	}
}

func (v *fakeCassidy) play(f *fake, w http.ResponseWriter, q request, t turn) {
	v.mu.Lock()
	defer v.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch path, query, _ := strings.Cut(q.path, "?"); path {
	case "/api/assistants/thread/create":
		if v.noID {
			io.WriteString(w, `{"thread_id":null}`)
			return
		}
		if v.threads == nil {
			v.threads = map[string]value.List{}
		}
		id := "thread-" + strconv.Itoa(len(v.threads)+1)
		v.threads[id] = nil
		io.WriteString(w, js("thread_id", id))
	case "/api/assistants/thread/get":
		if v.lost != 0 {
			w.WriteHeader(v.lost)
			return
		}
		id := strings.TrimPrefix(query, "thread_id=")
		messages := v.threads[id]
		if messages == nil {
			messages = value.List{}
		}
		io.WriteString(w, js("thread_id", id, "assistant_id", "asst-1", "messages", messages))
	default:
		field := v.field
		if field == "" {
			field = "content"
		}
		id := q.body.Text("thread_id")
		v.threads[id] = append(v.threads[id], value.NewDict("role", "user", "content", q.body.Text("message")),
			value.NewDict("role", "assistant", "content", t.text))
		text := js(field, t.text, "references", value.List{value.NewDict("name", "Handbook", "url", "https://example.com/h")})
		if t.cut {
			w.Header().Set("Content-Length", strconv.Itoa(len(text)))
			io.WriteString(w, text[:len(text)/2])
			panic(http.ErrAbortHandler)
		}
		io.WriteString(w, text)
	}
}
