package callback_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/callback"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestRequest(t *testing.T) {
	for _, want := range []callback.Request{
		{Func: 3, Args: []value.Value{"x", int64(1)}},
		{Func: 0, Args: []value.Value{}},
		{Raise: true},
	} {
		got, ok := callback.ReadRequest(want.Value())
		if diff := cmp.Diff(want, got); !ok || diff != "" {
			t.Errorf("ReadRequest(%v): %v, -want +got:\n%s", want, ok, diff)
		}
	}
	for _, v := range []value.Value{nil, "x", value.NewDict("args", value.List{}), value.List{}} {
		if _, ok := callback.ReadRequest(v); ok {
			t.Errorf("ReadRequest(%v) is a request", v)
		}
	}
}

func TestOf(t *testing.T) {
	if f, ok := callback.Of(callback.Func(7).Dict()); !ok || f != 7 {
		t.Errorf("Of = %d, %v, want 7", f, ok)
	}
	for _, v := range []value.Value{nil, int64(7), value.NewDict("$function", "7"), value.NewDict("$function", int64(7), "x", nil), value.NewDict()} {
		if _, ok := callback.Of(v); ok {
			t.Errorf("Of(%v) is a function", v)
		}
	}
}
