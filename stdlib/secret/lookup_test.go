package secret

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/rowtest"
)

// aToken is a token that a header can hold.
const aToken = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// callerOf calls secret and env.get, whose values come from functions.
func callerOf(t *testing.T, env, secrets func(context.Context, string) (string, error)) *rowtest.Caller {
	box := NewBox(secrets)
	d := &rowtest.Caller{T: t, Modules: []tool.Module{box.Module(), Env(env, box)}}
	d.Grant("env", "secret")
	return d
}

// TestLookupErrors checks what a script gets where the program's Env or Secrets
// fails: "not set" is not an error of the effect.
func TestLookupErrors(t *testing.T) {
	limited := value.Errorf(value.Limit, "too many")
	limited.Limit = value.LimitRate
	stop := value.Errorf(value.Unavailable, "killed")
	stop.Limit = value.LimitWorker
	for _, tt := range []struct {
		err   error
		kind  value.Kind
		says  string
		limit value.LimitName
	}{
		{errors.New("connection refused"), value.Failed, "connection refused", ""},
		{value.Errorf(value.Denied, "sealed"), value.Denied, "sealed", ""},
		{fmt.Errorf("vault: %w", value.Errorf(value.Unavailable, "sealed")), value.Unavailable, "vault: sealed", ""},
		{value.ErrUnavailable, value.Unavailable, "unavailable", ""},
		{limited, value.Limit, "too many", value.LimitRate},
		{stop, value.Unavailable, "killed", ""},
		{value.Errorf(value.Parked, "later"), value.Unavailable, "later", ""},
		{context.Canceled, value.Unavailable, "canceled", ""},
		{context.DeadlineExceeded, value.Timeout, "deadline exceeded", value.LimitTimeout},
	} {
		fail := func(context.Context, string) (string, error) { return "", tt.err }
		d := callerOf(t, fail, fail)
		for _, row := range []string{"env.get", "secret"} {
			_, err := d.Call(row, "name", "NAME")
			e := value.ErrorOf(err, value.Internal)
			if e == nil || e.Kind != tt.kind || e.Limit != tt.limit || !strings.Contains(e.Message(), tt.says) {
				t.Errorf("%s where the function returns %v: %v, limit %q, want %s, %q and limit %q", row, tt.err, err, e.Limit, tt.kind, tt.says, tt.limit)
			}
		}
	}
	unset := func(_ context.Context, name string) (string, error) {
		return "x", fmt.Errorf("%s: %w", name, value.ErrNotFound)
	}
	d := callerOf(t, unset, unset)
	if got := d.Must("env.get", "name", "NAME", "default", "none"); got != "none" {
		t.Errorf("env.get of what is not set = %v, want the default", got)
	}
	d.Fails(value.Unavailable, "has no value", "secret", "name", "NAME")
}

// TestLookupPanics checks that a panic of the program's function is an error, and
// that of Secrets does not show its value.
func TestLookupPanics(t *testing.T) {
	for _, fail := range []func(context.Context, string) (string, error){
		func(context.Context, string) (string, error) { panic(aToken) },
		func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil },
	} {
		d := callerOf(t, fail, fail)
		d.Fails(value.Internal, "Options.Env", "env.get", "name", "NAME")
		d.Fails(value.Internal, "Options.Secrets", "secret", "name", "NAME")
		if _, err := d.Call("secret", "name", "NAME"); strings.Contains(err.Error(), aToken) {
			t.Errorf("the error %q holds the panic's value", err)
		}
	}
}

// TestLookupHidesValues checks that an error that quotes a secret does not show it.
func TestLookupHidesValues(t *testing.T) {
	first := true
	env := func(context.Context, string) (string, error) { return "", fmt.Errorf("not with %s", aToken) }
	d := callerOf(t, env, func(context.Context, string) (string, error) {
		if first {
			return aToken, value.Errorf(value.Denied, "%s has expired", aToken).WithHint("renew %s", aToken)
		}
		return "", fmt.Errorf("%s has expired", aToken)
	})
	d.Fails(value.Denied, "{{secret:TOKEN}} has expired", "secret", "name", "TOKEN")
	first = false
	for _, row := range []string{"secret", "env.get"} {
		_, err := d.Call(row, "name", "TOKEN")
		if e := value.ErrorOf(err, value.Failed); e == nil || strings.Contains(e.Error()+e.Hint, aToken) {
			t.Errorf("%s: the error %v holds the value, or is missing", row, err)
		}
	}
}

// TestLookupEndsWithItsEffect checks that an effect does not wait for a function
// that ignores its context.
func TestLookupEndsWithItsEffect(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	wait := func(context.Context, string) (string, error) { <-hang; return aToken, nil }
	d := callerOf(t, wait, wait)
	rowtest.Within(t, "the effects", func() {
		for _, row := range []string{"env.get", "secret"} {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			_, err := d.Run(ctx, row, "name", "NAME")
			rowtest.Wrong(t, err, value.Timeout, "the call timed out", row)
			cancel()
			ctx, cancel = context.WithCancel(t.Context())
			cancel()
			_, err = d.Run(ctx, row, "name", "NAME")
			rowtest.Wrong(t, err, value.Canceled, "the call was cancelled", row)
		}
	})
}
