package mcp

import (
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// sdkTool returns the tool of a definition in the form [tool.MCP]. Its schemas stay as they
// are written.
func sdkTool(d *value.Dict) *sdk.Tool {
	a := d.Dict("annotations")
	destructive, open := a.Bool("destructiveHint"), a.Bool("openWorldHint")
	t := &sdk.Tool{
		Name: d.Text("name"), Title: d.Text("title"), Description: d.Text("description"),
		InputSchema: rawSchema(d, "inputSchema"),
		Annotations: &sdk.ToolAnnotations{
			Title: a.Text("title"), ReadOnlyHint: a.Bool("readOnlyHint"), IdempotentHint: a.Bool("idempotentHint"),
			DestructiveHint: &destructive, OpenWorldHint: &open,
		},
	}
	if d.Has("outputSchema") {
		t.OutputSchema = rawSchema(d, "outputSchema")
	}
	return t
}

func rawSchema(d *value.Dict, name string) json.RawMessage {
	return json.RawMessage(value.FormatJSON(d.Dict(name), ""))
}

// ContentHint is the hint of a tool whose result is a list of content blocks in the form of the
// protocol, such as {"type": "text", "text": "…"}. Clients get the blocks as they are; everybody
// else gets the list.
const ContentHint = "mcp_content"

// resultOf returns the result of a call of a tool for a client.
func resultOf(t *tool.Tool, r tool.Result) (*sdk.CallToolResult, error) {
	if !r.Success {
		return failure(r), nil
	}
	if t.Hints.Other[ContentHint] {
		return blocksOf(t, r.Value)
	}
	out := &sdk.CallToolResult{Content: []sdk.Content{}}
	media := value.MediaIn(r.Value)
	for _, m := range media {
		out.Content = append(out.Content, mediaContent(m))
	}
	if text := r.Text(); text != "" && !isMedia(r.Value) {
		at := len(media) // after the media, as a first text that is a list of JSON must be structured content, see below
		if _, isDict := r.Value.(*value.Dict); isDict {
			at = 0
		}
		out.Content = slices.Insert(out.Content, at, sdk.Content(&sdk.TextContent{Text: text}))
	}
	if r.Notes != "" { // on its own: a program can parse the first text
		out.Content = append(out.Content, &sdk.TextContent{Text: r.Notes})
	}
	if len(media) == 0 || isDeclared(t) {
		out.StructuredContent = structured(t, r.Value, r.Notes, out.Content)
	}
	return out, nil
}

// structured returns a result as an object, or nil. Gemini CLI takes a first text that is JSON for this object, and refuses the
// result if it is a number or a list. Claude Code and Codex show the model the object and no other content, so the notes are
// in it, and a result with media has none.
func structured(t *tool.Tool, v value.Value, notes string, content []sdk.Content) any {
	d, isDict := v.(*value.Dict)
	switch v.(type) {
	case nil:
		if t.Returns == nil && !beginsWithJSON(content) { // otherwise it may be declared
			return nil
		}
	case string:
		if !beginsWithJSON(content) {
			return nil
		}
	}
	text := `{"result":` + value.FormatJSON(v, "") + `}`
	if isDict {
		text = value.FormatJSON(d, "")
	}
	if notes != "" && !d.OrEmpty().Has("notes") {
		text = strings.TrimSuffix(text, "}")
		if !strings.HasSuffix(text, "{") {
			text += ","
		}
		text += `"notes":` + value.FormatJSON(notes, "") + "}"
	}
	return json.RawMessage(text)
}

// isDeclared reports whether the definition of a tool has the schema of its structured content, which must then be there.
func isDeclared(t *tool.Tool) bool {
	d, err := t.Definition(tool.MCP)
	return err == nil && d.Has("outputSchema")
}

// beginsWithJSON reports whether the first content is a text that is JSON.
func beginsWithJSON(content []sdk.Content) bool {
	if len(content) == 0 {
		return false
	}
	text, is := content[0].(*sdk.TextContent)
	return is && json.Valid([]byte(text.Text))
}

// blocksOf returns the content blocks that a tool with [ContentHint] has returned.
func blocksOf(t *tool.Tool, v value.Value) (*sdk.CallToolResult, error) {
	out := &sdk.CallToolResult{}
	list := value.NewDict("content", v)
	if err := json.Unmarshal([]byte(value.FormatJSON(list, "")), out); err != nil {
		return nil, value.Errorf(value.Invalid, "'%s' has the hint %s, but its result is not a list of content blocks: %w", t.Name, ContentHint, err).
			WithHint(`return a list such as [{"type": "text", "text": "…"}]`)
	}
	if beginsWithJSON(out.Content) {
		out.StructuredContent = structured(t, out.Content[0].(*sdk.TextContent).Text, "", out.Content)
	}
	return out, nil
}

func isMedia(v value.Value) bool { _, is := v.(value.Media); return is }

// mediaContent returns an image as an image, and a document as a resource.
func mediaContent(m value.Media) sdk.Content {
	if strings.HasPrefix(m.Type, "image/") {
		return &sdk.ImageContent{Data: m.Data, MIMEType: m.Type}
	}
	return &sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "data:" + m.Type, MIMEType: m.Type, Blob: m.Data}}
}

// named returns a failed result whose error begins with the call, as in word_count(filepath="a"): …
func named(t *tool.Tool, args *value.Dict, r tool.Result) tool.Result {
	if !r.Success {
		r.Error = t.FailedCall(args) + ": " + r.Error
	}
	return r
}

// failure returns an error as the result of a call, so that the model can read it. Its type
// is in _meta, since the structured content of a tool must fit its output schema.
func failure(r tool.Result) *sdk.CallToolResult {
	text := hint.Message(r.Error, hint.Models)
	forModel, forAll := hint.For(r.Suggestion, hint.Models), hint.For(r.Suggestion, hint.Users)
	if forModel != "" {
		text += "\nHint: " + forModel
	}
	if forAll != forModel {
		text += "\nFor the user: " + forAll
	}
	return &sdk.CallToolResult{
		Meta:    sdk.Meta{"cassidy.run/errorType": r.ErrorType},
		Content: []sdk.Content{&sdk.TextContent{Text: text}},
		IsError: true,
	}
}
