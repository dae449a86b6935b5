package mcp

import (
	"cmp"
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// documents returns the documents of a function, which may be nil.
func documents(list func() []Document) []Document {
	if list == nil {
		return nil
	}
	return list()
}

// definition is what clients see of a document without reading it.
func (d *Document) definition() string { return d.Title + "\x00" + d.Description + "\x00" + d.Type }

func (d *Document) prompt() *sdk.Prompt {
	return &sdk.Prompt{Name: d.Name, Title: d.Title, Description: d.Description}
}

func (d *Document) getPrompt(ctx context.Context, _ *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	text, err := d.Read(ctx)
	if err != nil {
		return nil, invalidParams(err)
	}
	message := &sdk.PromptMessage{Role: "user", Content: &sdk.TextContent{Text: text}}
	return &sdk.GetPromptResult{Description: d.Description, Messages: []*sdk.PromptMessage{message}}, nil
}

func (d *Document) resource() *sdk.Resource {
	return &sdk.Resource{URI: d.Name, Name: d.Title, Title: d.Title, Description: d.Description, MIMEType: d.mediaType()}
}

func (d *Document) mediaType() string { return cmp.Or(d.Type, "text/markdown") }

func (d *Document) read(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	text, err := d.Read(ctx)
	if err != nil {
		return nil, invalidParams(err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: d.mediaType(), Text: text}}}, nil
}
