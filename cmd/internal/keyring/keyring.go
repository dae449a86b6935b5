// Package keyring keeps the user's secrets in the keyring of the system: the Secret Service on Linux, the Keychain on
// macOS, the Credential Manager on Windows.
package keyring

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"

	system "github.com/zalando/go-keyring"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Keyring has secrets by their names. Nil has none, and keeps none.
type Keyring struct {
	Get    func(name string) (string, error) // fails with an error of kind NotFound for a secret that it does not have
	Set    func(name, secret string) error
	Remove func(name string) error
}

// service is the name under which the system keeps the secrets.
const service = "cassidy"

// System returns the keyring of the system, or nil if there is none.
func System(env func(string) (string, bool)) *Keyring {
	if runtime.GOOS != "darwin" && runtime.GOOS != "windows" && !hasBus(env) {
		return nil
	}
	return &Keyring{
		Get: func(name string) (string, error) {
			text, err := system.Get(service, name)
			if errors.Is(err, system.ErrNotFound) {
				err = value.ErrNotFound
			}
			return text, err
		},
		Set: func(name, secret string) error { return system.Set(service, name, secret) },
		Remove: func(name string) error {
			err := system.Delete(service, name)
			if errors.Is(err, system.ErrNotFound) {
				err = nil
			}
			return err
		},
	}
}

// hasBus reports whether a session bus runs. Without one, the library would start it.
func hasBus(env func(string) (string, bool)) bool {
	if address, _ := env("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		return true
	}
	dir, _ := env("XDG_RUNTIME_DIR")
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return dir != "" && err == nil
}

// Within does something with the keyring until ctx ends: the keyring may ask its user, and waits for the answer.
func Within[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	done := make(chan result, 1)
	go func() {
		v, err := do()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.v, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
