package folder

import "testing"

// TestOver checks that smaller files are read first, in their order, and what does not count.
func TestOver(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		sizes []int64
		over  string
	}{
		{"none", nil, ""},
		{"exactly the share", []int64{60, 40}, ".."},
		{"a bomb that comes first", []int64{90, 10, 10}, "x.."},
		{"equal ones in their order", []int64{40, 40, 40}, "..x"},
		{"empty files", []int64{0, 101, 0}, ".x."},
		{"what is rejected unread", []int64{MaxSource + 1, 50, 50}, "..."},
		{"what is rejected unread, beside too many", []int64{MaxSource + 1, 50, 51}, "..x"},
		{"many small ones", []int64{30, 30, 30, 30, 100}, "...xx"},
	} {
		got := ""
		for _, over := range Over(c.sizes, 100) {
			got += map[bool]string{true: "x", false: "."}[over]
		}
		if got != c.over {
			t.Errorf("%s: over %q, want %q", c.name, got, c.over)
		}
	}
}
