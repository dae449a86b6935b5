package attached

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestOddHTTP calls a tool of a server over HTTP whose answers differ in form: what is meant clearly is read,
// and everything else ends the call at once, with what was wrong.
func TestOddHTTP(t *testing.T) {
	t.Parallel()
	text := func(s string) string {
		return `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"` + s + `"}]}}`
	}
	deep := strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)
	for _, c := range []struct{ name, answer, want, fails string }{
		{"as it should be", text("sunny"), `"sunny"`, ""},
		{"an ID as text", strings.Replace(text("sunny"), "$ID", `"$ID"`, 1), `"sunny"`, ""},
		{"a byte order mark", "\ufeff" + text("sunny"), `"sunny"`, ""},
		{"a batch", "[" + text("sunny") + "]", `"sunny"`, ""},
		{"content as text", `{"jsonrpc":"2.0","id":$ID,"result":{"content":"sunny"}}`, `"sunny"`, ""},
		{"content as one block", `{"jsonrpc":"2.0","id":$ID,"result":{"content":{"type":"text","text":"sunny"}}}`, `"sunny"`, ""},
		{"content as texts", `{"jsonrpc":"2.0","id":$ID,"result":{"content":["sunny","and warm",21]}}`, `"sunny\nand warm\n21"`, ""},
		{"half a surrogate", text(`sunny \ud99c`), "\"sunny \ufffd\"", ""},
		{"no UTF-8", text("sunny \xff"), "\"sunny \ufffd\"", ""},
		{"a name given twice", `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"structuredContent":{"a":1,"a":2}}}`, `{"a":2}`, ""},
		{"another request's ID", strings.Replace(text("sunny"), "$ID", "7777", 1), "", "answered another request: 7777"},
		{"100,000 levels", `{"jsonrpc":"2.0","id":$ID,"result":{"structuredContent":` + deep + `}}`, "", "nested more than"},
		{"half of the message", text("sunny")[:60], "", "the server weather"},
		{"no message", `"sunny"`, "", "weather"},
		{"nothing", ``, "", "weather"},
	} {
		for _, kind := range []string{"application/json", "text/event-stream"} {
			t.Run(c.name+"/"+kind, func(t *testing.T) {
				site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					var m struct {
						ID     json.RawMessage
						Method string
					}
					body, _ := io.ReadAll(r.Body)
					if r.Method != http.MethodPost || json.Unmarshal(body, &m) != nil || m.Method == "server/discover" {
						http.Error(w, "no", http.StatusMethodNotAllowed)
						return
					}
					answer := c.answer
					switch m.Method {
					case "initialize":
						answer = `{"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}}`
					case "tools/list":
						answer = `{"jsonrpc":"2.0","id":$ID,"result":{"tools":` + forecast + `}}`
					case "tools/call":
					default:
						w.WriteHeader(http.StatusAccepted)
						return
					}
					answer = strings.ReplaceAll(answer, "$ID", string(m.ID))
					w.Header().Set("Content-Type", kind)
					if kind == "text/event-stream" {
						answer = "event: message\ndata: " + answer + "\n\n"
					}
					fmt.Fprint(w, answer)
				}))
				defer site.Close()
				o := Options{Name: "weather", URL: site.URL, Timeout: 5 * time.Minute, Now: time.Now}
				tools, err := Fetch(t.Context(), o)
				if err != nil {
					t.Fatal(err)
				}
				v, err := newServer(t, o, tools).Call(t.Context(), "get-forecast", value.NewDict("city", "Rome"))
				if c.want != "" {
					if err != nil || value.FormatJSON(v, "") != c.want {
						t.Errorf("Call = %s, %v, want %s", value.FormatJSON(v, ""), err, c.want)
					}
				} else if err == nil || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("Call = %s, %v, want an error with %q", value.FormatJSON(v, ""), err, c.fails)
				}
			})
		}
	}
}
