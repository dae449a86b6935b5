package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
)

func TestCatchable(t *testing.T) {
	tests := []struct {
		kind  Kind
		limit LimitName
		want  bool
	}{
		{Failed, "", true},
		{Denied, "", true},
		{Internal, "", true},
		{Unavailable, "", true},
		{Canceled, "", false},
		{Parked, "", false},
		{Parked, "question", false},
		{Timeout, "", false},
		{Timeout, LimitHTTP, true},
		{Timeout, LimitCall, true},
		{Timeout, LimitWall, false},
		{Limit, "", true},
		{Limit, LimitSteps, true}, // of a called tool
		{Limit, LimitMemory, true},
		{Limit, LimitDepth, true},
		{Limit, LimitEffects, false},
		{Limit, LimitTraffic, false},
		{Conflict, LimitRecord, false},
		{Failed, LimitRecord, false},
		{Unavailable, LimitWorker, false},
	}
	for _, tt := range tests {
		if got := (&Error{Kind: tt.kind, Limit: tt.limit}).Catchable(); got != tt.want {
			t.Errorf("kind %s, limit %q: Catchable() = %v, want %v", tt.kind, tt.limit, got, tt.want)
		}
	}
}

// TestErrorIs checks that each kind matches its target alone, however the error
// is wrapped.
func TestErrorIs(t *testing.T) {
	targets := map[Kind]error{
		Failed: ErrFailed, Invalid: ErrInvalid, NotFound: ErrNotFound, Denied: ErrDenied, Limit: ErrLimit, Canceled: ErrCanceled, Unavailable: ErrUnavailable,
		Timeout: ErrTimeout, Conflict: ErrConflict, Parked: ErrParked, Busy: ErrBusy, Closed: ErrClosed, Unanswered: ErrUnanswered,
	}
	same := map[Kind]Kind{Command: Failed, Internal: Failed, Security: Denied}
	for kind := Failed; kind <= LastKind; kind++ {
		of, ok := same[kind]
		if !ok {
			of = kind
		}
		if targets[of] == nil {
			t.Errorf("there is no target for the kind %s", kind)
		}
		plain := Errorf(kind, "no: %w", io.ErrUnexpectedEOF)
		wrapped := fmt.Errorf("read a: %w", fmt.Errorf("twice: %w", plain))
		for _, err := range []error{plain, plain.WithHint("try"), wrapped, errors.Join(io.EOF, wrapped), ErrorOf(wrapped, Internal)} {
			for k, target := range targets {
				if got := errors.Is(err, target); got != (k == of) {
					t.Errorf("errors.Is(%#v, %v) = %v", err, target, got)
				}
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled) {
				t.Errorf("errors.Is does not find what %#v wraps", err)
			}
		}
	}
	// The inner error of another kind is found too.
	if err := Errorf(Failed, "b: %w", Errorf(Limit, "a")); !errors.Is(err, ErrFailed) || !errors.Is(err, ErrLimit) {
		t.Errorf("%v is not both of its kinds", err)
	}
	// A target can be returned as an error itself.
	if err := fmt.Errorf("the shop: %w", ErrClosed); KindOf(err) != Closed || !errors.Is(ErrorOf(err, Failed), ErrClosed) {
		t.Errorf("%v is of kind %s, want closed", err, KindOf(err))
	}
}

func TestAsError(t *testing.T) {
	if err := AsError(nil, Failed); err != nil {
		t.Errorf("AsError(nil) = %#v, want nil", err)
	}
	if e := ErrorOf(nil, Failed); e != nil {
		t.Errorf("ErrorOf(nil) = %#v, want nil", e)
	}
	own := Errorf(Denied, "no")
	own.Op, own.Hint, own.Limit = "fs.read", "ask", LimitRead
	tests := []struct {
		err  error
		kind Kind
		text string
	}{
		{own, Denied, "fs.read: no"},
		{fmt.Errorf("b: %w", own), Denied, "b: fs.read: no"},
		{io.EOF, Failed, "EOF"},
		{(*Error)(nil), Failed, "unknown error"},
		{fmt.Errorf("c: %w", context.Canceled), Canceled, "c: context canceled"},
		{context.DeadlineExceeded, Timeout, "context deadline exceeded"},
	}
	for _, tt := range tests {
		e := ErrorOf(tt.err, Failed)
		if e == nil || e.Kind != tt.kind || e.Error() != tt.text {
			t.Errorf("ErrorOf(%v) = %v of kind %v, want %q of kind %s", tt.err, e, KindOf(e), tt.text, tt.kind)
		}
		if got, ok := AsError(tt.err, Failed).(*Error); !ok || got.Kind != tt.kind || got.Error() != tt.text {
			t.Errorf("AsError(%v) = %v, want the same as ErrorOf", tt.err, got)
		}
	}
	if e := ErrorOf(fmt.Errorf("b: %w", own), Failed); e.Hint != "ask" || e.Limit != LimitRead {
		t.Errorf("ErrorOf of a wrapped error lost its hint or limit: %+v", e)
	}
}
