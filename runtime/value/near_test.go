package value

import (
	"fmt"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	valid := []string{"read_file", "write_file", "list_files", "search", "color", "n", "größe"}
	tests := []struct{ got, want string }{
		{"read_file", "read_file"}, {"readfile", "read_file"}, {"read_fil", "read_file"}, {"raed_file", "read_file"}, {"READ_FILE", "read_file"},
		{"read_files", "read_file"}, {"colour", "color"}, {"serch", "search"}, {"file", "read_file"}, {"list", "list_files"},
		{"read_file_contents", "read_file"}, {"grösse", "größe"},
		{"x", ""}, {"N", "n"}, {"", ""}, {"delete", ""}, {"zzzzzzzz", ""}, {"ab", ""}, {strings.Repeat("a", 10_000), ""},
	}
	for _, tt := range tests {
		if got := Nearest(tt.got, valid); got != tt.want {
			t.Errorf("Nearest(%.40q) = %q, want %q", tt.got, got, tt.want)
		}
	}
	if got := Nearest("a", nil); got != "" {
		t.Errorf("Nearest of nothing = %q, want none", got)
	}
	if got, want := Nearest("fiel", []string{"feel", "file", "fill"}), "feel"; got != want {
		t.Errorf("Nearest(fiel) = %q, want %q, the first of the nearest", got, want)
	}
	if got, want := Nearest("slgu", []string{"slow", "slug"}), "slug"; got != want {
		t.Errorf("Nearest(slgu) = %q, want %q", got, want)
	}
}

func TestDidYouMean(t *testing.T) {
	if got, want := DidYouMean("colour", []string{"size", "color"}), `; did you mean "color"?`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := DidYouMean("sen", []string{"len", "seen", "len", "send", "sent"}), `; did you mean "len" or "seen" or "send"?`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := DidYouMean("colour", []string{"size"}); got != "" {
		t.Errorf("got %q, want none", got)
	}
}

// TestNearestAmongMany would take minutes if long names cost their square.
func TestNearestAmongMany(t *testing.T) {
	names := make([]string, 10_000)
	for i := range names {
		names[i] = fmt.Sprintf("a_tool_with_a_long_name_%d", i)
	}
	if got := Nearest("a_tool_with_a_long_name_77x", names); got != "a_tool_with_a_long_name_77" {
		t.Errorf("Nearest = %q, want a_tool_with_a_long_name_77", got)
	}
	if got := Nearest(strings.Repeat("x", 1<<20), names); got != "" {
		t.Errorf("Nearest of a long name = %q, want none", got)
	}
}
