// Mcp-conformance serves what the conformance suite of the Model Context Protocol calls: the
// tools and prompts are scripts in .cassidy/tools, the resources are below. Make conformance
// runs the suite against it.
//
//	go run ./examples/mcp-conformance ADDRESS
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy"
	"github.com/cassidy-run/cassidy/runtime/journal"
	"github.com/cassidy-run/cassidy/runtime/mcp"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/sandbox"
	"github.com/cassidy-run/cassidy/stdlib"
)

func main() {
	sandbox.Main(stdlib.Pure()...) // tools run in separate processes of this program

	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mcp-conformance ADDRESS, as in 127.0.0.1:8808")
		os.Exit(2)
	}
	if err := serve(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mcp-conformance:", err)
		os.Exit(1)
	}
}

func serve(addr string) error {
	runtime, err := cassidy.New(&cassidy.RuntimeOptions{Store: journal.Memory()})
	if err != nil {
		return err
	}
	defer runtime.Close()
	host, err := runtime.Open(cassidy.Dir("examples/mcp-conformance"), &cassidy.Options{
		TrustSource: true, Modules: []cassidy.Module{mcp.Module()},
	})
	if err != nil {
		return err
	}
	if err := addTools(host); err != nil {
		return err
	}
	server, err := mcp.New(host, &mcp.Options{Name: "cassidy-conformance", Version: "1"})
	if err != nil {
		return err
	}
	addResources(server.SDK())
	fmt.Fprintf(os.Stderr, "serving at http://%s/\n", addr)
	s := &http.Server{Addr: addr, Handler: server.Handler(nil), ReadHeaderTimeout: 10 * time.Second}
	return s.ListenAndServe()
}

// addTools adds the tools that a script cannot be: one that panics, and those whose schemas use
// more of JSON Schema than scripts can declare.
func addTools(h *cassidy.Host) error {
	echo := func(_ context.Context, args *value.Dict) (value.Value, error) { return args.String(), nil }
	return errors.Join(
		h.Register(cassidy.Tool{Name: "protocol_error_job", Description: "Panic.", Hints: tool.Hints{Other: map[string]bool{mcp.TaskHint: true}}},
			func(context.Context, *value.Dict) (value.Value, error) { panic("this tool panics intentionally") }),
		h.Register(cassidy.Tool{Name: "json_schema_2020_12_tool", Description: "Return the arguments.", Schema: []byte(`{
			"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
			"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
			"properties": {
				"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"},
				"contactMethod": {"type": "string", "enum": ["phone", "email"]},
				"phone": {"type": "string"}, "email": {"type": "string"}
			},
			"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
			"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
			"then": {"required": ["phone"]}, "else": {"required": ["email"]},
			"additionalProperties": false
		}`)}, echo),
		h.Register(cassidy.Tool{Name: "test_x_mcp_header", Description: "Return the arguments.", Schema: []byte(`{
			"type": "object",
			"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}
		}`)}, echo),
	)
}

// pixel is a PNG of one grey pixel.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="

// addResources adds the resources that the suite reads.
func addResources(s *sdk.Server) {
	text := func(typ, text string) sdk.ResourceHandler {
		return func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(r.Params.URI, "test://template/"), "/data")
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: typ, Text: strings.ReplaceAll(text, "ID", id)}}}, nil
		}
	}
	s.AddResource(&sdk.Resource{Name: "static-text", URI: "test://static-text", MIMEType: "text/plain"}, text("text/plain", "A text that stays the same."))
	s.AddResource(&sdk.Resource{Name: "watched", URI: "test://watched-resource", MIMEType: "text/plain"}, text("text/plain", "A text that clients watch."))
	s.AddResource(&sdk.Resource{Name: "static-binary", URI: "test://static-binary", MIMEType: "image/png"},
		func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			blob, err := base64.StdEncoding.DecodeString(pixel)
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "image/png", Blob: blob}}}, err
		})
	s.AddResourceTemplate(&sdk.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		text("application/json", `{"id": "ID"}`))
}
