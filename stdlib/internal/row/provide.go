package row

import (
	"context"
	"errors"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// Stopped returns why an effect should not continue, or nil.
func Stopped(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	var e *value.Error
	if errors.As(context.Cause(ctx), &e) {
		return e
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return value.Errorf(value.Timeout, "the call timed out")
	}
	return value.Errorf(value.Canceled, "the call was cancelled")
}

// A Lookup returns the value of an environment variable or a secret, as
// Env and Secrets of stdlib.Options do. Nil has no values.
type Lookup func(ctx context.Context, name string) (string, error)

// Get calls the program's function; what names it in errors. The error is that of ctx if that has
// ended. set is false if the function returned an error of kind NotFound. A value is also
// returned with any other error, so that its caller can redact it.
func (l Lookup) Get(ctx context.Context, what, name string) (val string, set bool, err error) {
	if l == nil || ctx.Err() != nil {
		return "", false, ctx.Err()
	}
	val, err = Await(ctx, what, func() (string, error) { return l(ctx, name) }, nil)
	switch {
	case err == nil:
		return val, true, nil
	case ctx.Err() != nil:
		return val, false, ctx.Err()
	case errors.Is(err, value.ErrNotFound):
		return "", false, nil
	}
	return val, false, ProvidedError(err)
}

// WithoutPanics returns l with an error for each panic. The value of a panic is
// left out, as it may hold a secret.
func (l Lookup) WithoutPanics(what string) Lookup {
	if l == nil {
		return nil
	}
	return func(ctx context.Context, name string) (val string, err error) {
		defer func() {
			if recover() != nil {
				val, err = "", value.Errorf(value.Internal, "%s panicked", what)
			}
		}()
		return l(ctx, name)
	}
}

// Await calls a function of the program. It returns when ctx ends, even if the function does not:
// the later result is then passed to drop, unless drop is nil. A panic is an error of kind
// Internal.
func Await[T any](ctx context.Context, what string, f func() (T, error), drop func(T)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result)
	go func() {
		r := result{err: value.Errorf(value.Internal, "%s called runtime.Goexit", what)}
		defer func() {
			if p := recover(); p != nil {
				r.err = value.Errorf(value.Internal, "%s panicked: %v", what, p)
			}
			select {
			case done <- r:
			case <-ctx.Done():
				if drop != nil {
					drop(r.value)
				}
			}
		}()
		r.value, r.err = f()
	}()
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}

// ProvidedError returns the error of a function of the program, for a script. It keeps the kind and
// the text. But such a function can neither park nor cancel a run, and its timeout is its own,
// so that a script may catch it.
func ProvidedError(err error) *value.Error {
	of := value.ErrorOf(err, value.Failed)
	e := value.Errorf(of.Kind, "%s", of.Message())
	e.Hint = of.Hint
	switch {
	case e.Kind == value.Parked || e.Kind == value.Canceled:
		e.Kind = value.Unavailable
	case of.Limit != "" && of.Limit.Catchable():
		e.Limit = of.Limit
	case e.Kind == value.Timeout:
		e.Limit = value.LimitTimeout
	}
	return e
}
