package chat

import (
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// changes are the errors of files that have changed since the last message. They are reported before
// the next one, so that they do not appear in a line that is being typed.
type changes struct {
	mu    sync.Mutex
	wrong []*value.Error
}

// add adds what the host has reported.
func (c *changes) add(wrong []*value.Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrong = append(c.wrong, wrong...)
}

// take returns the errors, and forgets them.
func (c *changes) take() []*value.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	wrong := c.wrong
	c.wrong = nil
	return wrong
}

// watching returns an action whose host follows its files, unless it sends only one message.
func (c *command) watching(do cli.ActionFunc) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if ctx.Bool("lines") || !ctx.Args().Present() {
			c.Watch = c.changes.add
		}
		return do(ctx)
	}
}
