package page

import (
	"strings"
	"testing"
	"time"
)

// clock is the time at which the pages of tests are made.
func clock() time.Time { return time.Date(2026, 11, 28, 19, 31, 14, 0, time.UTC) }

func newPages(t testing.TB) *Pages {
	t.Helper()
	p, err := New(clock)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sampleFrame(title string, s Section) *Frame {
	return &Frame{Title: title, Section: s, Project: "bakery", Projects: []string{"bakery", "shop"}, User: "Ann", Role: RoleApprove, Questions: 5, Zone: time.UTC}
}

func TestMore(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	f := sampleFrame("More", SectionMore)
	if err := newPages(t).Render(&b, "more", f, More{f}); err != nil {
		t.Fatal(err)
	}
	if want := "<title>(5) More · bakery · cassidy</title>"; !strings.Contains(b.String(), want) {
		t.Errorf("there is no %s in\n%s", want, b.String())
	}
}

func TestDuration(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0:                       "<1 ms",
		11 * time.Millisecond:   "11 ms",
		900 * time.Millisecond:  "900 ms",
		990 * time.Millisecond:  "1 s",
		6100 * time.Millisecond: "6.1 s",
		12 * time.Second:        "12 s",
		94 * time.Second:        "1 m 34 s",
		time.Hour:               "1 h",
		9*time.Hour + 12*time.Minute + time.Second: "9 h 12 m",
		37 * time.Hour: "1 d 13 h",
	} {
		if got := duration(d); got != want {
			t.Errorf("duration(%s) = %q, want %q", d, got, want)
		}
	}
}

func TestText(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"a <b> & c":           `<bdi>a &lt;b&gt; &amp; c</bdi>`,
		"orders\u202evsc.zip": `<bdi>orders<mark title="not visible in the original">⟨U+202E⟩</mark>vsc.zip</bdi>`,
		"two\nlines":          `<bdi>two<i class="ws">↵</i>lines</bdi>`,
	} {
		if got := string(text(s)); got != want {
			t.Errorf("text(%q) = %s, want %s", s, got, want)
		}
	}
	if got, want := string(lines("two\n<i>lines")), "<bdi>two\n&lt;i&gt;lines</bdi>"; got != want {
		t.Errorf("lines = %s, want %s", got, want)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		num(0): "0", num(999): "999", num(1284): "1,284", num(-1000): "-1,000", num(1234567): "1,234,567",
		size(12): "12 B", size(48_200_000): "48.2 MB", size(2000): "2 KB",
		cost(0): "–", cost(0.0021): "$0.0021", cost(12.3): "$12.30", cost(0.00001): "<$0.0001",
		count(1, "file"): "1 file", count(2, "file"): "2 files",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
