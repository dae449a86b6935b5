package describe

import (
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/history"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestTookIsRead checks that durations are read as they were written, to the microsecond.
func TestTookIsRead(t *testing.T) {
	t.Parallel()
	for us := range 20_000 {
		want := history.Took{Worked: time.Duration(us) * time.Microsecond, Waited: time.Duration(us*us) * time.Microsecond}
		d := &value.Dict{}
		PutTimes(d)(want.Worked, want.Waited)
		if got := readTook(d); got != want {
			t.Fatalf("read %v, want %v", got, want)
		}
	}
}
