package remote

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

const (
	firstPause = 200 * time.Millisecond // before a request is repeated
	maxPause   = 5 * time.Second
	maxTries   = 12              // in a row without an answer: about 45 seconds
	silence    = time.Minute     // after which a connection is dead: the server sends something every 15 seconds
	maxEvent   = 64 << 20        // bytes of a line of a stream
	lookEvery  = 3 * time.Second // without events
)

// again does something that can be repeated until the server answers: a server may be restarting. It must have answered
// before.
func (c *Client) again(ctx context.Context, do func() error) error {
	for try, pause := 1, firstPause; ; try, pause = try+1, min(2*pause, maxPause) {
		err := do()
		e := value.ErrorOf(err, value.Failed)
		if e == nil || e.Kind != value.Unavailable && e.Limit != value.LimitRate || try == maxTries {
			return err
		}
		if err := wait(ctx, max(pause, e.After)); err != nil {
			return err
		}
	}
}

// wait waits for some time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return value.AsError(context.Cause(ctx), value.Canceled)
	}
}

// Events calls do with each event of a run, in order and once, until the run has ended or do returns false. do gets nil
// when the connection was made, and while nothing happens. A connection that breaks is made again.
func (c *Client) Events(ctx context.Context, run string, do func(e *tool.Event) bool) error {
	last := ""
	for {
		ended := false
		err := c.again(ctx, func() (err error) {
			before := last
			ended, err = c.stream(ctx, run, &last, do)
			if value.KindOf(err) == value.Unavailable && last != before {
				err = nil // it has answered meanwhile
			}
			return err
		})
		if ended || err != nil {
			return err
		}
		if err := wait(ctx, firstPause); err != nil {
			return err
		}
	}
}

// stream is Events for one connection, beginning after the event with the ID *last. It reports whether it was the last
// one.
func (c *Client) stream(ctx context.Context, run string, last *string, do func(e *tool.Event) bool) (ended bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	answer, err := c.request(ctx, http.MethodGet, Path("runs", run, "events"), nil, "Accept", "text/event-stream", "Last-Event-ID", *last)
	if err != nil {
		return false, err
	}
	defer func() { _ = answer.Body.Close() }() // the stream is over
	switch {
	case answer.StatusCode == http.StatusNoContent:
		return true, nil
	case answer.StatusCode != http.StatusOK:
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20)) // what was read says why
		return false, c.refusal(answer, text)
	case !do(nil):
		return true, nil
	}
	dead := time.AfterFunc(silence, cancel)
	defer dead.Stop()
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, maxEvent)
	var id, name, data string
	for lines.Scan() {
		dead.Reset(silence)
		field, text, _ := strings.Cut(lines.Text(), ":")
		text = strings.TrimPrefix(text, " ")
		switch field {
		case "id":
			id = text
		case "event":
			name = text
		case "data":
			data += text
		case "":
			goOn, err := dispatch(name, data, do)
			if !goOn || err != nil {
				return true, err
			}
			*last = cmp.Or(id, *last)
			if name == "resync" { // the record is another one: all of it comes
				*last = ""
			}
			id, name, data = "", "", ""
		}
	}
	return false, nil // it broke, or the server drains
}

// dispatch passes on an event of a stream.
func dispatch(name, data string, do func(e *tool.Event) bool) (goOn bool, err error) {
	if name != "" { // ping, draining, resync
		return do(nil), nil
	}
	e := &tool.Event{}
	if err := json.Unmarshal([]byte(data), e); err != nil {
		return false, value.Errorf(value.Unavailable, "read an event of the server: %w", err)
	}
	return do(e), nil
}
