// Client is what the conformance suite of the Model Context Protocol starts as a client: it lists
// the tools of a server and calls them, as cassidy does with attached servers, and signs in if the
// server asks for it. Make conformance runs the suite with it.
//
// Cassidy gives servers no forms and reads no prompts and resources of them. Where a scenario is
// about these, the client of the SDK is used, which is that of cassidy without its limits.
//
//	MCP_CONFORMANCE_SCENARIO=tools_call go run ./examples/mcp-conformance/client URL
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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/mcp/attached"
	"github.com/cassidy-run/cassidy/runtime/mcp/oauth"
	"github.com/cassidy-run/cassidy/runtime/value"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: client URL")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, os.Args[1], os.Getenv("MCP_CONFORMANCE_SCENARIO"), settings()); err != nil {
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
func run(ctx context.Context, address, scenario string, settings *value.Dict) error {
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
	switch scenario {
	case "elicitation-sep1034-client-defaults", "sep-2322-client-request-state", "http-standard-headers":
		return everything(ctx, &o)
	}
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
	definitions, err := value.ParseJSON([]byte(set.Text()))
	if err != nil {
		return err
	}
	calls := settings.Elements("toolCalls")
	if len(calls) == 0 {
		calls = callsOf(definitions)
	}
	var errs []error
	for _, c := range calls {
		call, _ := c.(*value.Dict)
		if _, err := server.Call(ctx, call.Text("name"), call.Dict("arguments").OrEmpty()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", call.Text("name"), err))
		}
	}
	return errors.Join(errs...)
}

// callsOf returns a call of each tool, with arguments of its schema. A parameter named schema gets
// the schema of the first tool.
func callsOf(definitions value.Value) (calls []value.Value) {
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

// everything uses the client of the SDK, with forms, prompts and resources.
func everything(ctx context.Context, o *attached.Options) error {
	client := sdk.NewClient(&sdk.Implementation{Name: "cassidy", Version: "(devel)"}, &sdk.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return &sdk.ElicitResult{Action: "accept", Content: answers(r.Params.RequestedSchema)}, nil
		},
	})
	session, err := client.Connect(ctx, &sdk.StreamableClientTransport{Endpoint: o.URL, HTTPClient: o.Client, OAuthHandler: o.OAuth}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	list, err := session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	for _, t := range list.Tools {
		// A tool of a scenario may be meant to fail.
		if _, err := session.CallTool(ctx, &sdk.CallToolParams{Name: t.Name, Arguments: map[string]any{}}); err != nil {
			fmt.Fprintln(os.Stderr, t.Name+":", err)
		}
	}
	if resources, err := session.ListResources(ctx, nil); err == nil && len(resources.Resources) > 0 {
		if _, err := session.ReadResource(ctx, &sdk.ReadResourceParams{URI: resources.Resources[0].URI}); err != nil {
			return err
		}
	}
	if prompts, err := session.ListPrompts(ctx, nil); err == nil && len(prompts.Prompts) > 0 {
		if _, err := session.GetPrompt(ctx, &sdk.GetPromptParams{Name: prompts.Prompts[0].Name}); err != nil {
			return err
		}
	}
	return nil
}

// answers fills in a form: fields with a default keep it, by leaving them out, and a question is
// confirmed.
func answers(schema any) map[string]any {
	content := map[string]any{}
	form, _ := schema.(map[string]any)
	fields, _ := form["properties"].(map[string]any)
	for name, field := range fields {
		f, _ := field.(map[string]any)
		if _, has := f["default"]; !has && f["type"] == "boolean" {
			content[name] = true
		}
	}
	return content
}
