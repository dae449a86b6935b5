package gate

import (
	"errors"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func TestMake(t *testing.T) {
	var o singleCall
	made := 0
	do := func() (tool.Result, error) {
		made++
		return tool.Result{Value: int64(made)}, nil
	}
	c := &tool.Call{Tool: "send-mail", Args: value.NewDict("to", "ann")}
	for range 2 {
		if r, err := o.Make(c, do); err != nil || r.Value != int64(1) {
			t.Errorf("Make = %v, %v, want the result of the first call", r.Value, err)
		}
	}
	if _, err := o.Make(&tool.Call{Tool: "send_mail", Args: value.NewDict("to", "ann")}, do); err != nil || made != 1 {
		t.Errorf("the other spelling: %v, made %d times", err, made)
	}
	if _, err := o.Make(&tool.Call{Tool: "send-mail"}, do); value.KindOf(err) != value.Invalid || made != 1 {
		t.Errorf("another call: %v, made %d times", err, made)
	}
}

func TestMakeWhileInProgress(t *testing.T) {
	var o singleCall
	c := &tool.Call{Tool: "t"}
	_, err := o.Make(c, func() (tool.Result, error) { return o.Make(c, nil) })
	if value.KindOf(err) != value.Invalid {
		t.Errorf("the second call: %v, want kind Invalid", err)
	}
}

func TestMakeAfterPanic(t *testing.T) {
	var o singleCall
	c := &tool.Call{Tool: "t"}
	func() {
		defer func() { _ = recover() }()
		_, _ = o.Make(c, func() (tool.Result, error) { panic("x") })
	}()
	if _, err := o.Make(c, nil); !errors.Is(err, errPanicked) {
		t.Errorf("after a panic: %v", err)
	}
}
