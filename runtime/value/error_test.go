package value

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

// TestErrorIs checks that each kind matches only its target, however the error is
// wrapped.
func TestErrorIs(t *testing.T) {
	targets := map[Kind]error{
		Failed: ErrFailed, Invalid: ErrInvalid, NotFound: ErrNotFound, Denied: ErrDenied, Limit: ErrLimit, Canceled: ErrCanceled, Unavailable: ErrUnavailable,
		Timeout: ErrTimeout, Conflict: ErrConflict, Parked: ErrParked, Busy: ErrBusy, Closed: ErrClosed, Unanswered: ErrUnanswered,
	}
	same := map[Kind]Kind{Command: Failed, Internal: Failed, Security: Denied, System: Failed}
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
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("errors.Is does not find what %#v wraps", err)
			}
			if errors.Is(err, context.Canceled) != (kind == Canceled) || errors.Is(err, context.DeadlineExceeded) != (kind == Timeout) {
				t.Errorf("%#v of kind %s: cancelled is %v, and late is %v", err, kind, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded))
			}
		}
	}
	// The inner error of another kind is found too.
	if err := Errorf(Failed, "b: %w", Errorf(Limit, "a")); !errors.Is(err, ErrFailed) || !errors.Is(err, ErrLimit) {
		t.Errorf("%v is not both of its kinds", err)
	}
	// A target can be returned as an error.
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

func TestErrorTypes(t *testing.T) {
	want := map[Kind]string{
		Failed: "user_error", Invalid: "validation_error", NotFound: "validation_error", Denied: "permission_error", Limit: "limit_error", Canceled: "cancelled",
		Unavailable: "system_error", Timeout: "timeout_error", Command: "command_failed", Security: "security_error", Internal: "system_error", Conflict: "user_error", Parked: "parked",
		Busy: "system_error", Closed: "system_error", Unanswered: "permission_error", System: "system_error",
	}
	if n := int(LastKind) + 1; len(want) != n || len(kindType) != n {
		t.Errorf("there are %d kinds and %d types, want %d", n, len(kindType), len(want))
	}
	names := map[string]bool{}
	for kind := range want {
		names[kind.String()] = true
	}
	if len(names) != len(want) {
		t.Errorf("the names of the %d kinds are %v", len(want), names)
	}
	for kind, name := range want {
		if got := kind.Type(); got != name {
			t.Errorf("kind %d: Type() = %q, want %q", kind, got, name)
		}
	}
	if got := Kind(200).Type(); got != "system_error" {
		t.Errorf("an unknown kind: Type() = %q, want system_error", got)
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Kind: Failed, Op: "fs.read", Err: errors.New("no such file"), Pos: Position{"a.star", 3, 7}}
	if got, want := e.Error(), "a.star:3:7: fs.read: no such file"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	if got, want := e.Message(), "fs.read: no such file"; got != want {
		t.Errorf("Message() = %q, want %q", got, want)
	}
	for p, want := range map[Position]string{{File: "a"}: "a", {File: "a", Line: 2}: "a:2", {File: "a", Line: 2, Col: 5}: "a:2:5"} {
		if got := p.String(); got != want {
			t.Errorf("%#v.String() = %q, want %q", p, got, want)
		}
	}
	hinted := e.WithHint("try %d", 3)
	if hinted.Hint != "try 3" || e.Hint != "" || hinted.Pos != e.Pos {
		t.Errorf("WithHint gave %+v and left %+v", hinted, e)
	}
	limited := hinted.WithLimit(LimitWall)
	if limited.Limit != LimitWall || limited.Hint != "try 3" || hinted.Limit != "" {
		t.Errorf("WithLimit gave %+v and left %+v", limited, hinted)
	}
	wrapped := Errorf(Invalid, "outer: %w", e)
	if !errors.Is(wrapped, e) || ErrorOf(wrapped, Internal) != wrapped || KindOf(wrapped) != Invalid {
		t.Errorf("%v is not what it wraps", wrapped)
	}
	plain := errors.New("x")
	if got := ErrorOf(plain, Failed); got.Kind != Failed || !errors.Is(got, plain) {
		t.Errorf("AsError of a plain error = %+v", got)
	}
	if ErrorOf(nil, Failed) != nil {
		t.Errorf("ErrorOf(nil) is not nil")
	}
	if KindOf(plain) != Internal {
		t.Errorf("KindOf a plain error = %d, want Internal", KindOf(plain))
	}
}
