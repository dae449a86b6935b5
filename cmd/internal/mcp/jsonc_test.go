package mcp

import "testing"

// TestSetJSON sets fields of texts that are laid out in different ways.
func TestSetJSON(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, want string }{
		{`{}`, "{\n  \"a\": {\"b\": 1}\n}"},
		{"{ // mine\n}\n", "{ // mine\n  \"a\": {\"b\": 1}\n}\n"},
		{`{"x": 2}`, `{"x": 2, "a": {"b":1}}`},
		{"{\r\n\t\"x\": 2\r\n}", "{\r\n\t\"x\": 2,\r\n\t\"a\": {\"b\": 1}\r\n}"},
		{"{\n  \"x\": 2 // two\n}", "{\n  \"x\": 2, // two\n  \"a\": {\"b\": 1}\n}"},
		{"{\n  \"x\": 2, /* two\n  lines */ // more\n}", "{\n  \"x\": 2, /* two\n  lines */ // more\n  \"a\": {\"b\": 1},\n}"},
		{"{\n  \"x\": 2 /* no end */}", "{\n  \"x\": 2,\n  \"a\": {\"b\": 1} /* no end */}"},
		{"{\n  \"a\": {\"b\": [1,\n2]}}", "{\n  \"a\": {\"b\": 1}}"},
	} {
		got, err := setJSON(test.text, []string{"a", "b"}, int64(1))
		if err != nil || got != test.want {
			t.Errorf("%q becomes %q, %v, want %q", test.text, got, err, test.want)
		} else if d, err := parseJSONC(got); err != nil || d.Dict("a").Int("b") != 1 {
			t.Errorf("%q means %v, %v", got, d, err)
		}
	}
}
