// Client is what the conformance suite of the Model Context Protocol starts as a client: it attaches the
// server to a host, as cassidy does, calls its tools, fills in its forms, and signs in if the server asks
// for it. Make conformance runs the suite with it.
//
//	go run ./examples/mcp-conformance/client URL
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/mcp/oauth"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1], settings()); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

// settings returns what the suite says of the scenario.
func settings() *value.Dict {
	d := &value.Dict{}
	_ = d.UnmarshalJSON([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT"))) // without it, there is nothing to know
	return d
}

// run calls the tools of a server.
func run(ctx context.Context, address string, settings *value.Dict) error {
	tokens, err := os.MkdirTemp("", "conformance-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tokens)
	signing, err := oauth.New(oauth.Options{
		Name: "conformance", Server: address, Dir: tokens, Show: browse,
		ClientID: settings.Text("client_id"), ClientSecret: settings.Text("client_secret"),
		ClientMetadata: "https://conformance-test.local/client-metadata.json",
	})
	if err != nil {
		return err
	}
	o := attached.Options{Name: "conformance", URL: address, Client: signing.Client(), OAuth: signing}
	return tools(ctx, o, settings)
}

// browse signs in: the authorization server of the suite asks for no password, and sends the
// browser back immediately.
func browse(ctx context.Context, address string) error {
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	return nil
}

// tools calls each tool that a server offers, or those that the suite names, through the client of
// attached servers.
func tools(ctx context.Context, o attached.Options, settings *value.Dict) error {
	set, err := attached.Fetch(ctx, o)
	if err != nil {
		return err
	}
	server := attached.New(o, set)
	defer server.Close()
	h, err := host.New(&host.Options{Asker: filler{}})
	if err != nil {
		return err
	}
	defer h.Close()
	if broken := server.Register(h); len(broken) > 0 {
		return broken[0]
	}
	definitions, err := value.ParseJSON([]byte(set.Text()))
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range settings.Elements("toolCalls") { // their arguments need not fit the schema, as a host requires
		call, _ := c.(*value.Dict)
		if _, err := server.Call(ctx, call.Text("name"), call.Dict("arguments").OrEmpty()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", call.Text("name"), err))
		}
	}
	if settings.Has("toolCalls") {
		return errors.Join(errs...)
	}
	for _, call := range callsOf(definitions) {
		name := o.Name + "." + attached.ToolName(call.Text("name"), tool.MaxName-len(o.Name)-2)
		if _, err := h.Call(ctx, tool.Call{Tool: name, Args: call.Dict("arguments"), Caller: tool.ByPerson}); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", call.Text("name"), err))
		}
	}
	return errors.Join(errs...)
}

// callsOf returns a call of each tool, with arguments of its schema. A parameter named schema gets
// the schema of the first tool.
func callsOf(definitions value.Value) (calls []*value.Dict) {
	list, _ := value.Elements(definitions)
	var first *value.Dict
	for _, item := range list {
		d, _ := item.(*value.Dict)
		schema := d.Dict("inputSchema")
		if first == nil {
			first = schema
		}
		args := &value.Dict{}
		for name, property := range schema.Dict("properties").OrEmpty().All() {
			p, _ := property.(*value.Dict)
			args.Put(name.(string), argument(name.(string), p, first))
		}
		calls = append(calls, value.NewDict("name", d.Text("name"), "arguments", args))
	}
	return calls
}

func argument(name string, property, first *value.Dict) value.Value {
	switch kind := property.Text("type"); {
	case strings.Contains(strings.ToLower(name), "schema"):
		return first
	case kind == "number", kind == "integer":
		return int64(3)
	case kind == "boolean":
		return true
	case kind == "object":
		return &value.Dict{}
	case kind == "array":
		return value.List{}
	}
	return "us-west1"
}

// filler is a user who fills in each form: fields with a default keep it, and a question is confirmed.
type filler struct{}

// Ask implements [host.Asker].
func (filler) Ask(_ context.Context, q tool.Question) (tool.Answer, error) {
	content := &value.Dict{}
	for name, field := range q.Form.Dict("properties").OrEmpty().All() {
		d, _ := field.(*value.Dict)
		if d.Text("type") == "boolean" && !d.Has("default") {
			content.Put(name.(string), true)
		}
	}
	return tool.Answer{Value: content}, nil
}
