package serve

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// described is the description of the API, which is read once.
var described = sync.OnceValue(func() *value.Dict {
	v, err := value.ParseJSON(openAPIText)
	if err != nil {
		panic(err)
	}
	return v.(*value.Dict)
})

// patternOf returns the path of the description that a path is one of, or "".
func patternOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	words := strings.Split(path, "/")
	for k := range described().Dict("paths").All() {
		pattern := strings.Split(k.(string), "/")
		same := len(words) == len(pattern)
		for i := 0; same && i < len(words); i++ {
			same = words[i] == pattern[i] || strings.HasPrefix(pattern[i], "{")
		}
		if same {
			return k.(string)
		}
	}
	return ""
}

// checkDescribed checks the answer to a request of a test against the description.
func checkDescribed(t testing.TB, method, path string, status int, body value.Value) {
	t.Helper()
	op := described().Dict("paths").Dict(patternOf(path)).Dict(strings.ToLower(method))
	response := op.Dict("responses").Dict(statusText(status))
	if ref := response.Text("$ref"); ref != "" {
		response = described().Dict("components").Dict("responses").Dict(ref[strings.LastIndex(ref, "/")+1:])
	}
	if response == nil {
		t.Errorf("%s %s: the description has no status %d", method, path, status)
		return
	}
	schema := response.Dict("content").Dict("application/json").Dict("schema")
	if schema == nil {
		if d, ok := body.(*value.Dict); !ok || d.Len() > 0 {
			t.Errorf("%s %s: the description has no body of the status %d", method, path, status)
		}
		return
	}
	if err := checker(schema).Check(body); err != nil {
		t.Errorf("%s %s: status %d: %v: %s", method, path, status, err, value.FormatJSON(body, ""))
	}
}

// checkers are the schemas of the description that were compiled, by their dicts.
var checkers sync.Map

func checker(schema *value.Dict) *jsonschema.Schema {
	if s, ok := checkers.Load(schema); ok {
		return s.(*jsonschema.Schema)
	}
	whole := value.NewDict("allOf", value.List{schema}, "$defs", described().Dict("components").Dict("schemas"))
	s, err := jsonschema.New([]byte(strings.ReplaceAll(value.FormatJSON(whole, ""), "#/components/schemas/", "#/$defs/")), nil)
	if err != nil {
		panic(err)
	}
	checkers.Store(schema, s)
	return s
}

// statusText is a status as the description has it.
func statusText(status int) string { return value.FormatJSON(int64(status), "") }

// TestDescriptionIsComplete checks that the description has exactly the routes of the server, with their roles.
func TestDescriptionIsComplete(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	routes := map[string]Role{}
	for _, rt := range r.routes() {
		if !rt.page && rt.pattern != "GET /login" {
			routes[rt.pattern] = rt.role
		}
	}
	for path, methods := range described().Dict("paths").All() {
		for method, v := range methods.(*value.Dict).All() {
			op := v.(*value.Dict)
			pattern := strings.ToUpper(method.(string)) + " " + path.(string)
			role, exists := routes[pattern]
			delete(routes, pattern)
			if !exists {
				t.Errorf("%s is described, and not served", pattern)
			}
			if want := op.Text("x-role"); role != 0 && role.String() != want || role == 0 && want != "" || (role == 0) != op.Has("security") {
				t.Errorf("%s needs the role %s, and is described with %q", pattern, role, want)
			}
		}
	}
	for pattern := range routes {
		t.Errorf("%s is served, and not described", pattern)
	}
	if got := r.get("vera", "/openapi.json", http.StatusOK); !value.EqualJSON(got, described()) {
		t.Error("the server has another description")
	}
}
