package strftime_test

import (
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/stdlib/internal/strftime"
)

func TestExact(t *testing.T) {
	for _, test := range []struct {
		format, text string
		lenient      bool
		exact        bool
	}{
		{"%d.%m.%Y", "1.12.2024", true, true},
		{"%d.%m.%Y", "1. 12.2024", true, false},
		{"%d. %m.%Y", "1.12.2024", true, false},
		{"%e.%m.%Y", " 1.12.2024", true, true},
		{"%d.%m.%y", "1.12.4", true, false},
		{"%H:%M:%S.%f", "1:02:03.123456", true, true},
		{"%H:%M:%S.%f", "1:02:03.1234567", true, false},
		{"%F %z", "2024-02-29 +0100", true, true},
		{"%F %z", "2024-02-29 Z", true, true},
		{"%F %z", "2024-02-29 +01", true, false},
		{"%F %z", "2024-02-29 UTC", true, false},
		{"%F", "2023-02-29", false, false},
		{"%F%%", "2024-02-29%", true, true},
		{"%w", "1", false, false},
	} {
		for exact, want := range map[bool]bool{false: test.lenient, true: test.exact} {
			f, err := strftime.New(test.format, strftime.Directives, exact)
			if err != nil {
				t.Fatal(err)
			}
			if at, err := f.Parse(test.text, time.UTC); (err == nil) != want {
				t.Errorf("Parse(%q) by %q, exact: %v: %v, %v", test.text, test.format, exact, at, err)
			}
		}
	}
	if _, err := strftime.New("%j", "Y m d", true); err == nil {
		t.Error("a directive that is not listed is accepted")
	}
}
