package value_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cassidy-run/cassidy/internal/valuetest"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestFormatJSONLayout(t *testing.T) {
	long := strings.Repeat("x", 70)
	cases := []struct {
		in   value.Value
		want string
	}{
		{nil, "null"},
		{value.List{}, "[]"},
		{value.NewDict(), "{}"},
		{value.NewDict("words", 3, "of", value.List{int64(1), "a,b:{\"", nil}), `{"words": 3, "of": [1, "a,b:{\"", null]}`},
		{value.NewDict("text", long), "{\n  \"text\": \"" + long + "\"\n}"},
		{value.List{value.NewDict("a", 1), value.NewDict("b", long), value.List{}}, "[\n  {\"a\": 1},\n  {\n    \"b\": \"" + long + "\"\n  },\n  []\n]"},
		{strings.Repeat("y", 200), `"` + strings.Repeat("y", 200) + `"`},
	}
	for _, c := range cases {
		v, err := value.FromGo(c.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := value.FormatJSON(v, "  "); got != c.want {
			t.Errorf("FormatJSON = %s, want %s", got, c.want)
		}
	}
}

// TestLayoutChangesNothing checks that spreading JSON over lines changes only white
// space, and that only what cannot be spread makes a line too long.
func TestLayoutChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := valuetest.JSON().Draw(t, "value")
		text := value.FormatJSON(v, "  ")
		back, err := value.ParseJSON([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if !value.Equal(back, v) {
			t.Fatalf("read back %s, want %s", value.FormatJSON(back, ""), value.FormatJSON(v, ""))
		}
		for line := range strings.SplitSeq(text, "\n") {
			trimmed := strings.TrimSpace(line)
			if len([]rune(line)) > value.LayoutWidth && strings.HasPrefix(trimmed, "[") && trimmed != "[" {
				t.Fatalf("a list stayed on a line of %d characters: %s", len([]rune(line)), line)
			}
		}
	})
}
