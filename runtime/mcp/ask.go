package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/hint"
	"github.com/cassidy-run/cassidy/runtime/host"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// clientUser is who has answered, for the record.
const clientUser = "the user of the MCP client"

// asked is what came of asking a client.
type asked struct {
	answered bool                // at least one question
	inputs   sdk.InputRequestMap // what is left to ask by the reply, or nil
}

// ask asks the client the questions of a parked run. A client of 2026-07-28 gets them with
// the reply; an older one is asked now. A client that can ask nobody is not asked. The error
// is for a client that lacks what no person could give in its place.
func (s *Server) ask(ctx context.Context, r *request, parked *host.ParkedError) (asked, error) {
	var out asked
	for i := range parked.Questions {
		q := &parked.Questions[i]
		input, ok := inputOf(q)
		if !ok {
			continue
		}
		_, form := input.(*sdk.ElicitParams)
		if form && s.opts.Unasked || !r.client.accepts(input) {
			if !form && len(parked.Questions) == 1 {
				_ = s.host.Cancel(ctx, r.run) // nobody will answer it
				return out, lacks(input)
			}
			continue
		}
		if a, ok := r.answer(ctx, q, input); ok {
			out.answered = s.host.Answer(ctx, q.ID, a) == nil || out.answered
		} else if r.client.version >= stateless && !r.declined(keyOf(q)) {
			if out.inputs == nil {
				out.inputs = sdk.InputRequestMap{}
			}
			out.inputs[keyOf(q)] = input
		}
	}
	if out.answered {
		out.inputs = nil // the run may ask others now
	}
	return out, nil
}

// declined reports whether the user has declined or dismissed the form of a question.
func (r *request) declined(key string) bool {
	form, ok := r.answers[key].(*sdk.ElicitResult)
	return ok && form.Action != "accept"
}

// answer returns the answer of the client to a question: the one that the request brings, or
// that of an older client when it is asked. A request that brings no state can answer only
// what the script asks its client: an approval must have been shown before.
func (r *request) answer(ctx context.Context, q *tool.Question, input sdk.InputRequest) (tool.Answer, bool) {
	key := keyOf(q)
	if response, given := r.answers[key]; given && isOurs(q) {
		delete(r.answers, key) // it counts once
		return answerOf(q, response)
	}
	if r.client.version >= stateless {
		return tool.Answer{}, false
	}
	response, err := r.client.send(ctx, input)
	if err != nil {
		return tool.Answer{}, false // the client has not asked its user
	}
	return answerOf(q, response)
}

// take records the answers in a request to the questions of its run.
func (s *Server) take(ctx context.Context, r *request) error {
	if !host.Operate(s.host).HasStore() {
		return value.Errorf(value.NotFound, "the call that waited for the answer has ended").WithHint("make the call again without requestState")
	}
	for q, err := range s.host.Waiting(ctx) {
		if err != nil {
			return err
		}
		if q.Run != r.run {
			continue
		}
		if a, ok := answerOf(&q, r.answers[keyOf(&q)]); ok {
			if err := s.host.Answer(ctx, q.ID, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// keyOf names a question among the input requests of a call.
func keyOf(q *tool.Question) string {
	if isOurs(q) {
		return cmp.Or(q.Args.Text("key"), stepOf(q))
	}
	return stepOf(q)
}

// stepOf names a question among all questions of its run.
func stepOf(q *tool.Question) string { return strings.TrimPrefix(q.ID, q.Run+":") }

// inputOf returns a question as an input request. ok is false if a form cannot show it in full.
func inputOf(q *tool.Question) (input sdk.InputRequest, ok bool) {
	if isOurs(q) {
		return clientInput(q), true
	}
	text, ok := formText(q)
	if isForm(q) {
		return &sdk.ElicitParams{Mode: "form", Message: text, RequestedSchema: json.RawMessage(value.FormatJSON(q.Form, ""))}, ok
	}
	field, schema := fieldOf(q)
	fields := map[string]any{field: schema}
	if q.TakesDone() {
		done := yesOrNo("Done")
		done["description"] = "yes: it was carried out, and is not repeated"
		fields[fieldDone] = done
		fields[fieldResult] = map[string]any{"type": "string", "title": "Result", "description": "if it was carried out: its result as JSON; empty is null"}
	}
	return &sdk.ElicitParams{
		Mode: "form", Message: text,
		RequestedSchema: map[string]any{"type": "object", "properties": fields, "required": []string{field}},
	}, ok
}

// laterHint says what to type to be asked less from now on, or is "".
func laterHint(q *tool.Question) string {
	switch {
	case len(q.Rules) > 0:
		return "\n\nTo allow exactly this from now on, type in a terminal, in the folder of the project:\n" +
			hint.RuleCommand("--rule", value.Map(q.Rules, func(r tool.Rule) string { return r.String() }))
	case len(q.Sources) > 0:
		return "\n\nIf only people whom you trust can write what was read, trust it from now on. Type in a terminal:\n" +
			hint.AddCommand("trusted_sources", q.Sources)
	}
	return ""
}

// The fields with which a form answers that an effect was carried out.
const fieldDone, fieldResult = "done", "result"

// fieldOf returns the name and the schema of the one field of a form.
func fieldOf(q *tool.Question) (name string, schema map[string]any) {
	switch q.Kind {
	case tool.QuestionAsk:
		return "answer", map[string]any{"type": "string", "title": "Answer"}
	case tool.QuestionApproval:
		return "approve", yesOrNo("Approve")
	case tool.QuestionUnknown:
		return "yes", yesOrNo("Do it again")
	}
	return "yes", yesOrNo("Answer")
}

// The answers to a question that only a person may answer.
const no, yes = "no", "yes"

// yesOrNo returns the schema of a question that is answered with yes or no. It is no boolean: a client shows one as a box
// without a tick, so that to accept the form means no, or has chosen true already. Clients may choose the first word of
// a list, so this is no.
func yesOrNo(title string) map[string]any {
	return map[string]any{"type": "string", "title": title, "enum": []string{no, yes}}
}

// answerOf returns the answer in a response of a client. There is none if the user has declined
// or dismissed the form: a client that cannot show forms declines them, too.
func answerOf(q *tool.Question, response sdk.InputResponse) (a tool.Answer, ok bool) {
	if isOurs(q) {
		return clientAnswer(q, response)
	}
	form, is := response.(*sdk.ElicitResult)
	if !is || form == nil || form.Action != "accept" {
		return a, false
	}
	a.By = clientUser
	if isForm(q) {
		content := form.Content
		if content == nil {
			content = map[string]any{}
		}
		a.Value = string(jsonOf(map[string]any{"action": form.Action, "content": content})) // the SDK leaves out an empty content
		_, err := q.Accepts(a)
		return a, err == nil
	}
	if form.Content[fieldDone] == yes && q.TakesDone() {
		text, _ := form.Content[fieldResult].(string)
		if a.Done = true; strings.TrimSpace(text) != "" {
			v, err := value.ParseJSON([]byte(text))
			if err != nil {
				return a, false
			}
			a.Value = v
		}
		return a, true
	}
	field, _ := fieldOf(q)
	text, isText := form.Content[field].(string)
	if q.Kind == tool.QuestionAsk {
		a.Value = text
		return a, isText
	}
	a.Yes = text == yes
	return a, a.Yes || text == no
}
