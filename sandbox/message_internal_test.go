package sandbox

import (
	"errors"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// TestErrorKinds checks that each kind of error passes the wire, and that values
// beyond the kinds are refused.
func TestErrorKinds(t *testing.T) {
	for kind := int64(-1); kind <= int64(tool.LastKind)+1; kind++ {
		list := errorFields(&tool.Error{Err: errors.New("no")})
		list[0] = kind
		f := &fields{list: list}
		e := readError(f)
		if want := kind >= 0 && kind <= int64(tool.LastKind); (f.done() == nil) != want || want && e.Kind != tool.Kind(kind) {
			t.Errorf("kind %d: %+v, error %v, want it accepted: %v", kind, e, f.done(), want)
		}
	}
}
