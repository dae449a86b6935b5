package agent

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/agent/decision"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/meter"
	"github.com/cassidy-run/cassidy/runtime/agent/internal/structured"
	"github.com/cassidy-run/cassidy/runtime/model"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// askQuestion is model.ask: it asks the model once, and emits the usage.
func askQuestion(ctx context.Context, open func(context.Context) (model.Model, error), args *value.Dict, g tool.Grant) (value.Value, error) {
	r := &model.Request{System: args.Text("system"), Messages: []model.Message{{Role: model.User, Text: args.Text("prompt")}}}
	if strings.TrimSpace(r.Messages[0].Text) == "" {
		return nil, value.Errorf(value.Invalid, "the prompt is empty")
	}
	if open == nil {
		return nil, value.Errorf(value.Unavailable, "no model is configured").WithHint("add --model MODEL, or set the field model in your config.yaml; in Go, pass a model to the module")
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
	a := meter.Asks{MaxTokens: int(args.Int("max_output_tokens")), Effort: args.Text("effort")}
	if v, _ := args.Get("temperature"); v != nil {
		t, _ := value.ToGo[float64](v)
		a.Temperature = &t
	}
	if err := a.Check(); err != nil {
		return nil, err
	}
	of := meter.Of(ctx).Asks()
	a.Fill(r)
	of.Fill(r)
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
	of := meter.Of(ctx)
	if q.g.Note != nil {
		if changed := of.Change(); changed != nil {
			if err := q.g.Note(changed); err != nil {
				return nil, err
			}
		}
	}
	reply, used, err := of.Ask(ctx, q.model, model.InfoOf(ctx, q.model).Price, q.Request)
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
		return nil, blocked(q.model.Name(), reply.Text)
	case strings.TrimSpace(reply.Text) == "":
		return nil, value.Errorf(value.Unavailable, "the model %s: %w", q.model.Name(), model.ErrEmpty).WithHint("ask again, or ask for a shorter answer")
	}
	return reply, nil
}

// blocked is the error of a reply that the provider blocked. What it wrote instead is a part of it.
func blocked(name, text string) error {
	e := value.Errorf(value.Failed, "the provider blocked the answer of the model %s", name)
	if text = value.Clean(strings.TrimSpace(text), 500); text != "" {
		e = value.Errorf(value.Failed, "%s: %s", e.Message(), text)
	}
	return e.WithHint("ask in different words, or use another model")
}

// uncalled returns which call a reply lacks that the tool choice of its request requires, for the
// model. It is "" if the reply lacks none.
func uncalled(choice string, calls []model.Call) string {
	switch choice {
	case "", model.ToolAuto, model.ToolNone:
		return ""
	case model.ToolRequired:
		if len(calls) > 0 {
			return ""
		}
		return "a call of a tool is required, but the reply has none"
	}
	if slices.ContainsFunc(calls, func(c model.Call) bool { return c.Tool == choice }) {
		return ""
	}
	return "a call of the tool " + choice + " is required, but the reply has none"
}

// checkChoice checks a tool choice against the format of calls and the names of the tools.
func checkChoice(c string, format decision.Format, tools []string) error {
	switch {
	case c == "" || c == model.ToolAuto:
		return nil
	case format != decision.Native:
		return value.Errorf(value.Invalid, "the tool choice %q needs native calls, but the format is %s", c, format).WithHint("use the format native, with a model that supports it")
	case c == model.ToolNone || c == model.ToolRequired && len(tools) > 0:
		return nil
	case slices.Contains(tools, c):
		return nil
	case c == model.ToolRequired:
		return value.Errorf(value.Invalid, "the tool choice %q needs a tool, but the agent has no tools", c).WithHint("offer a tool to the agent, or omit the tool choice")
	}
	return value.Errorf(value.Invalid, "unknown tool choice %q%s", c, value.DidYouMean(c, tools)).
		WithHint(`use "auto", "none", "required", or the name of a tool that the model may call`)
}
