package tool

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestFormatJSONLayout(t *testing.T) {
	long := strings.Repeat("x", 70)
	cases := []struct {
		in   Value
		want string
	}{
		{nil, "null"},
		{List{}, "[]"},
		{NewDict(), "{}"},
		{NewDict("words", 3, "of", List{int64(1), "a,b:{\"", nil}), `{"words": 3, "of": [1, "a,b:{\"", null]}`},
		{NewDict("text", long), "{\n  \"text\": \"" + long + "\"\n}"},
		{List{NewDict("a", 1), NewDict("b", long), List{}}, "[\n  {\"a\": 1},\n  {\n    \"b\": \"" + long + "\"\n  },\n  []\n]"},
		{strings.Repeat("y", 200), `"` + strings.Repeat("y", 200) + `"`},
	}
	for _, c := range cases {
		v, err := FromGo(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := FormatJSON(v, "  "); got != c.want {
			t.Errorf("FormatJSON = %s, want %s", got, c.want)
		}
	}
}

// TestLayoutChangesNothing checks that spreading JSON over lines changes nothing
// of it, and that only what cannot be spread makes a line too long.
func TestLayoutChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genJSON().Draw(t, "value")
		text := FormatJSON(v, "  ")
		back, err := ParseJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !Equal(back, v) {
			t.Fatalf("read back %s, want %s", FormatJSON(back, ""), FormatJSON(v, ""))
		}
		for line := range strings.SplitSeq(text, "\n") {
			trimmed := strings.TrimSpace(line)
			if len([]rune(line)) > layoutWidth && strings.HasPrefix(trimmed, "[") && trimmed != "[" {
				t.Fatalf("a list stayed on a line of %d characters: %s", len([]rune(line)), line)
			}
		}
	})
}
