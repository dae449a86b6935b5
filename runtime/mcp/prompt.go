package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// PromptHint is the hint of a tool that writes a prompt: clients see it among their prompts,
// which people choose, instead of among the tools. The result is a text, or a list of content
// blocks if the tool has [ContentHint], too.
const PromptHint = "mcp_prompt"

// sdkPrompt returns the prompt of a tool. The arguments of prompts are texts.
func sdkPrompt(t *tool.Tool) *sdk.Prompt {
	p := &sdk.Prompt{Name: t.ModelName(), Title: t.DisplayTitle(), Description: t.Description}
	params, _ := t.CallerParams() // a tool with a schema of its own has no prompt arguments
	for i := range params {
		p.Arguments = append(p.Arguments, &sdk.PromptArgument{Name: params[i].Name, Description: params[i].Description, Required: params[i].Required})
	}
	return p
}

// getPrompt calls the tool that writes a prompt.
func (s *Server) getPrompt(ctx context.Context, params *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	arguments, _ := json.Marshal(params.Params.Arguments) // texts always marshal
	r, err := s.read(clientOf(params), params.Params.Name, arguments)
	if err != nil {
		return nil, invalidParams(err)
	}
	r.call.Texts = true
	r.state, r.answers = params.Params.RequestState, params.Params.InputResponses
	stop := r.client.beats(ctx)
	reply, err := s.serve(ctx, r)
	stop()
	switch {
	case err != nil:
		return nil, err
	case reply.inputs != nil:
		return &sdk.GetPromptResult{InputRequests: reply.inputs, RequestState: reply.state}, nil
	case !reply.result.Success:
		return nil, invalidParams(&value.Error{Kind: value.Failed, Err: errorText(reply.result.Error), Hint: reply.result.Suggestion})
	}
	out, err := resultOf(r.tool, reply.result)
	if err != nil {
		return nil, invalidParams(err)
	}
	prompt := &sdk.GetPromptResult{Description: r.tool.Summary()}
	for _, block := range out.Content {
		prompt.Messages = append(prompt.Messages, &sdk.PromptMessage{Role: "user", Content: block})
	}
	return prompt, nil
}

type errorText string

func (e errorText) Error() string { return string(e) }

// complete proposes the values of a prompt's argument: those of its choices that begin with
// what is typed.
func (s *Server) complete(_ context.Context, params *sdk.CompleteRequest) (*sdk.CompleteResult, error) {
	out := &sdk.CompleteResult{Completion: sdk.CompletionResultDetails{Values: []string{}}}
	ref := cmp.Or(params.Params.Ref, &sdk.CompleteReference{})
	t, err := s.host.Tool(ref.Name)
	if ref.Type != "ref/prompt" || err != nil || !t.Hints.Other[PromptHint] || !s.serves(entry{aPrompt, t.ModelName()}) {
		return out, nil
	}
	p, ok := t.Param(params.Params.Argument.Name)
	if !ok {
		return out, nil
	}
	for _, choice := range p.Type.Enum {
		if text, is := choice.(string); is && strings.HasPrefix(text, params.Params.Argument.Value) {
			out.Completion.Values = append(out.Completion.Values, text)
		}
	}
	slices.Sort(out.Completion.Values)
	const most = 100 // of the protocol
	out.Completion.Total = len(out.Completion.Values)
	if out.Completion.Total > most {
		out.Completion.Values, out.Completion.HasMore = out.Completion.Values[:most], true
	}
	return out, nil
}
