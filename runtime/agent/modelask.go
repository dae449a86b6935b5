package agent

import (
	"cmp"
	"context"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/structured"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// ModelModule returns the module model, with which scripts ask a language model. Its function
// model.ask needs the capability model. open returns the model for each call; its error
// becomes the script's. If open is nil, no model is configured. A program provides the module
// to its scripts with the options of its host.
func ModelModule(open func(ctx context.Context) (model.Model, error)) tool.Module {
	return tool.Module{
		Name: "model",
		Doc:  "The language model that the user has configured. Each question is a separate conversation, in which the model can call no tools. The answer is untrusted text: check the answer before you act on it.",
		Funcs: []tool.Func{{
			Name: "ask",
			Doc:  "Ask the model. An empty answer is an error. An answer that the provider blocks is an error too.",
			Params: []tool.Param{textParam("prompt", "what to ask", true), textParam("system", "an instruction before the conversation, such as the role of the model", false),
				schemaParam("a JSON Schema, or a type such as \"list[str]\": the answer must be a JSON value that matches it. If it does not, the model is asked again, up to twice; then the call fails")},
			Returns: "the text of the answer; an answer that is longer than the model's limit is cut off. With schema, the value",
			Kind:    tool.Repeatable,
			Target:  func(*value.Dict) ([]tool.Capability, error) { return []tool.Capability{{Name: "model"}}, nil },
			Do: func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
				reply, err := modelAsk(ctx, open, e.Args, g)
				return tool.Outcome{Value: reply}, err
			},
		}},
	}
}

// modelAsk asks the model once, and emits the usage.
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
	wanted, _ := args.Get("schema")
	schema, err := structured.New(wanted)
	if err != nil {
		return nil, err
	}
	q := &question{Request: r, model: m, g: g}
	if schema == nil {
		reply, err := q.ask(ctx)
		if err != nil {
			return nil, err
		}
		return reply.Text, nil
	}
	r.Schema, r.Messages[0].Text = schema.Dict, r.Messages[0].Text+"\n\n"+schema.Request()
	for attempt := 0; ; attempt++ {
		reply, err := q.ask(ctx)
		if err != nil {
			return nil, err
		}
		v, err := schema.Read(reply.Text)
		if err == nil {
			return v, nil
		}
		if attempt == structured.Retries {
			return nil, schema.Failed("", err)
		}
		r.Messages, r.Thread = append(r.Messages, reply.Message(), model.Message{Role: model.User, Text: schema.Again(err)}), reply.Thread
	}
}

// A question is a conversation of a script with a model.
type question struct {
	*model.Request
	model model.Model
	g     tool.Grant
	asked int
}

// ask asks the model, emits the usage and records it.
func (q *question) ask(ctx context.Context) (*model.Reply, error) {
	q.asked++
	emit := q.g.Emit
	if emit == nil {
		emit = func(tool.Report) {}
	}
	tokens := tool.EstimateTokens(q.System)
	for i := range q.Messages {
		tokens += tool.EstimateTokens(q.Messages[i].Text)
	}
	emit(tool.ModelAsk{Iteration: q.asked, Messages: len(q.Messages), Tokens: tokens})
	reply, err := q.send(ctx)
	if err == nil || q.Schema == nil || value.KindOf(err) != value.Invalid || ctx.Err() != nil {
		return q.read(reply, err, emit)
	}
	q.Schema = nil // the provider refuses it, but the prompt has it
	reply, err = q.send(ctx)
	return q.read(reply, err, emit)
}

func (q *question) send(ctx context.Context) (*model.Reply, error) {
	reply, used, err := meter.Of(ctx).Ask(ctx, q.model, model.InfoOf(ctx, q.model).Price, q.Request)
	if q.g.Note != nil && used.Requests > 0 {
		err = cmp.Or(q.g.Note(used.Note()), err)
	}
	return reply, err
}

// read checks a reply.
func (q *question) read(reply *model.Reply, err error, emit func(tool.Report)) (*model.Reply, error) {
	if err != nil {
		return nil, err
	}
	emit(tool.ModelReply{Iteration: q.asked, Text: reply.Text, InputTokens: reply.Usage.InputTokens, OutputTokens: reply.Usage.OutputTokens})
	switch {
	case reply.Stop == model.StopRefuse:
		return nil, value.Errorf(value.Failed, "the provider blocked the answer of the model %s", q.model.Name()).WithHint("ask in different words")
	case strings.TrimSpace(reply.Text) == "":
		return nil, value.Errorf(value.Unavailable, "the model %s: %w", q.model.Name(), model.ErrEmpty).WithHint("ask again, or for less")
	}
	return reply, nil
}
