package secret

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/cmd/internal/keyring"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A token for a server is kept in the keyring under the URL of the server, see package remote. The config does not name
// it: no script may have it.

// isServer reports whether the name of a secret is the URL of a server.
func isServer(name string) bool {
	return strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://")
}

// changeToken sets or deletes the token for a server.
func (c *command) changeToken(ctx context.Context, url string, set bool) error {
	url = strings.TrimRight(url, "/")
	if c.Keyring == nil {
		return value.Errorf(value.Unavailable, "there is no keyring for the token of %s", url).WithHint("export CASSIDY_TOKEN=…")
	}
	did, change := "deleted", func() (any, error) { return nil, c.Keyring.Remove(url) }
	if set {
		token, err := Ask(ctx, c.App, url, "cassidy secret set "+url)
		if err != nil {
			return err
		}
		did, change = "kept", func() (any, error) { return nil, c.Keyring.Set(url, token) }
	}
	if _, err := keyring.Within(ctx, change); err != nil {
		return value.Errorf(value.Unavailable, "write to the keyring: %w", err).WithHint("unlock the keyring, or export CASSIDY_TOKEN=…")
	}
	if c.JSON {
		return c.PrintJSON(value.NewDict("name", url, did, true))
	}
	c.Did("%s the token for %s in the keyring", did, url)
	return nil
}
