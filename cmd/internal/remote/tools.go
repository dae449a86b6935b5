package remote

import (
	"context"
	"errors"
	"net/http"

	"github.com/cassidy-run/cassidy/runtime/agent"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Tools returns the tools of the project, as tool list --json prints them.
func (c *Client) Tools(ctx context.Context) (*value.Dict, error) {
	return c.Get(ctx, Path("tools"), c.inProject())
}

// Tool returns a tool, as tool help --json prints it.
func (c *Client) Tool(ctx context.Context, name string) (*value.Dict, error) {
	d, err := c.Get(ctx, Path("tools", name), c.inProject())
	if value.KindOf(err) == value.NotFound && c.project == "" {
		err = value.Errorf(value.NotFound, "Tool not found: %s", value.Clean(name, 80)).WithHint("list the tools: cassidy tool list")
	}
	return d, err
}

// Call makes a call, shows its events, and returns its result. If it waits, that is an error of kind Parked.
func (c *Client) Call(ctx context.Context, name string, args *value.Dict, show func(tool.Event)) (result tool.Result, err error) {
	path, body, key := Path("tools", name, "call"), c.body("args", args), agent.NewID()
	d, err := c.Post(ctx, path+"?wait=0", body, key)
	if err != nil {
		return result, err
	}
	id := d.Text("id")
	if d.Has("success") {
		id = d.Text("run")
	}
	r, err := c.Follow(ctx, id, show)
	if err != nil {
		return result, c.Left(ctx, id, err)
	}
	if e := Outcome(r); e != nil && (e.Kind == value.Parked || !r.Run.State.Ended()) {
		return result, e
	}
	var text []byte
	err = c.again(ctx, func() (err error) { // the same key: this only reads the result
		text, err = c.text(ctx, http.MethodPost, path, body, key)
		return err
	})
	if err == nil {
		err = result.UnmarshalJSON(text)
	}
	if err != nil || result.Success {
		return result, err
	}
	return result, &value.Error{Kind: value.KindOfType(result.ErrorType), Err: errors.New(result.Error), Hint: result.Suggestion}
}
