package attached

import (
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestHeadersOf keeps of a schema what the SDK sends as headers.
func TestHeadersOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ schema, want string }{
		{`{"type": "object", "properties": {"a": {"type": "string", "description": "x"}}}`, `{"type":"object"}`},
		{`{"properties": {"a": {"type": "integer", "x-mcp-header": "A", "minimum": 1}, "b": {"type": "string"}}}`, `{"type":"object","properties":{"a":{"type":"integer","x-mcp-header":"A"}}}`},
		{`{"properties": {"o": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}}`, `{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}}`},
		{`{"properties": {"a": {"type": ["string", "null"], "x-mcp-header": ""}}}`, `{"type":"object","properties":{"a":{"type":"","x-mcp-header":""}}}`}, // which the SDK refuses
		{`{"properties": {"a": true, "b": {"properties": []}}}`, `{"type":"object"}`},
		{`{"properties": []}`, `{"type":"object"}`},
	} {
		v, err := value.ParseJSON([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		if got := jsonOf(headersOf(v.(*value.Dict))); got != c.want {
			t.Errorf("headersOf(%s) = %s, want %s", c.schema, got, c.want)
		}
	}
	if got := jsonOf(headersOf(nil)); got != `{"type":"object"}` {
		t.Errorf("headersOf(nil) = %s", got)
	}
}
