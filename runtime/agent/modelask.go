package agent

import (
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ModelModule returns the module model, with which scripts ask a language model:
// the function model.ask, which takes the capability model. Open gives the model
// each time that one is asked; its error is the script's. Nil says that there is
// no model. A program lends the module to its scripts with the options of its
// host.
func ModelModule(open func(ctx context.Context) (model.Model, error)) tool.Module {
	text := func(name, doc string, required bool) tool.Param {
		return tool.Param{Name: name, Type: tool.Type{Name: tool.TypeString}, Description: doc, Required: required, HasDefault: !required, Default: defaultText(required)}
	}
	return tool.Module{
		Name: "model",
		Doc: "The language model that the user has configured. Each question is a conversation of its own, in which the model can call no tools. " +
			"What it answers is a text like any other: look at it before you act on it.",
		Funcs: []tool.Func{{
			Name:    "ask",
			Doc:     "Ask the model. That it says nothing, or its provider keeps it from answering, is an error.",
			Params:  []tool.Param{text("prompt", "what to ask", true), text("system", "what stands before the conversation, as the role that the model has in it", false)},
			Returns: "the text of its answer; one that reaches the model's greatest length ends there",
			Kind:    tool.Repeatable,
			Target:  func(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "model"}}, nil },
			Do: func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
				reply, err := modelAsk(ctx, open, e.Args, g)
				return tool.Outcome{Value: reply}, err
			},
		}},
	}
}

// modelAsk asks once, and tells what it cost.
func modelAsk(ctx context.Context, open func(context.Context) (model.Model, error), args *value.Dict, g tool.Grant) (value.Value, error) {
	r := &model.Request{System: args.Text("system"), Messages: []model.Message{{Role: model.User, Text: args.Text("prompt")}}}
	if strings.TrimSpace(r.Messages[0].Text) == "" {
		return nil, value.Errorf(value.Invalid, "the prompt is empty")
	}
	if open == nil {
		return nil, value.Errorf(value.Unavailable, "no model is configured")
	}
	m, err := open(ctx)
	if err != nil {
		return nil, err
	}
	emit := g.Emit
	if emit == nil {
		emit = func(tool.Report) {}
	}
	emit(tool.ModelAsk{Iteration: 1, Messages: 1, Tokens: tool.EstimateTokens(r.System) + tool.EstimateTokens(r.Messages[0].Text)})
	reply, err := m.Ask(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case reply == nil:
		return nil, value.Errorf(value.Internal, "the model %s gave neither a reply nor an error", m.Name())
	}
	emit(tool.ModelReply{Iteration: 1, Text: reply.Text, InputTokens: reply.Usage.InputTokens, OutputTokens: reply.Usage.OutputTokens})
	switch {
	case reply.Stop == model.StopRefuse:
		return nil, value.Errorf(value.Failed, "the provider keeps the model %s from answering this", m.Name()).WithHint("ask in other words")
	case strings.TrimSpace(reply.Text) == "":
		return nil, value.Errorf(value.Unavailable, "the model %s: %w", m.Name(), model.ErrEmpty).WithHint("ask again, or for less")
	}
	return reply.Text, nil
}
