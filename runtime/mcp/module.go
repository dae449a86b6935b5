//lint:file-ignore SA1019 clients of older versions have logging, sampling and roots.

package mcp

import (
	"context"
	"encoding/json"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// moduleName is the name of the module for scripts.
const moduleName = "client"

// Module returns the module client, with which scripts ask the MCP client that has called
// them: for a form that its user fills in, for the reply of its model, and for the folders
// that it works on. A tool declares the capability use:client/elicit, use:client/sample or
// use:client/roots for it. Register it with the host of a server: an entry of
// [host.Options].Modules.
//
// Each function asks a question of the call. If the client cannot answer it, the run of the
// call waits, and a person can answer: with the JSON of the response or, for a form with one
// field, with its text.
func Module() tool.Module {
	optional := func(name, typ string, otherwise value.Value, doc string) tool.Param {
		return tool.Optional(name, typ, otherwise, doc)
	}
	key := optional("key", tool.TypeString, "", "the name of the question in the protocol; it must differ from those of other questions asked at the same time")
	return tool.Module{
		Name: moduleName,
		Doc:  "Questions to the MCP client that made the call. A run whose client cannot answer is parked until a person answers.",
		Funcs: []tool.Func{
			clientFunc("elicit", "Ask the user of the client to fill in a form.", `a dict: "action" is "accept", "decline" or "cancel"; "content" has the fields by name`,
				tool.Required("message", tool.TypeString, "what the user is asked"),
				optional("schema", tool.TypeObject, &value.Dict{}, "the JSON Schema of the form: an object whose properties are texts, numbers, booleans or choices"), key),
			clientFunc("sample", "Ask the model of the client.", "its reply as a string",
				tool.Required("prompt", tool.TypeString, "the message of the user"),
				optional("max_tokens", tool.TypeInteger, int64(1000), "the number of tokens that the reply may have"), key),
			detachFunc(),
			clientFunc("roots", "Ask which folders the client works on.", `a list of dicts with "uri" and "name"`, key),
		},
	}
}

// detachFunc is for calls that take long.
func detachFunc() tool.Func {
	return tool.Func{
		Name: "detach", Kind: tool.Repeatable, Returns: "None",
		Doc: "Continue the call as a task, if its client supports tasks: the client can do something else, and ask for the result later. Otherwise the client waits.",
		Do: func(ctx context.Context, _ tool.Effect, _ tool.Grant) (tool.Outcome, error) {
			detachCall(ctx)
			return tool.Outcome{}, nil
		},
		Again: func(ctx context.Context, _ tool.Effect, _ tool.Outcome, _ error) error {
			detachCall(ctx)
			return nil
		},
	}
}

func clientFunc(name, doc, returns string, params ...tool.Param) tool.Func {
	return tool.Func{
		Name: name, Doc: doc, Returns: returns, Params: params, Kind: tool.Repeatable, Risk: tool.RiskSafe,
		Target: func(*value.Dict) ([]tool.Capability, error) {
			return []tool.Capability{{Name: "use", Target: moduleName + "/" + name}}, nil
		},
		Do: func(ctx context.Context, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
			return askClient(ctx, name, e, g)
		},
	}
}

// askClient asks the question of an effect, and reads the answer.
func askClient(ctx context.Context, name string, e tool.Effect, g tool.Grant) (tool.Outcome, error) {
	if g.Ask == nil {
		return tool.Outcome{}, value.Errorf(value.Unavailable, "the call has no MCP client that could answer").WithHint("call the tool from an MCP client; in Go, serve the host with mcp.New")
	}
	text := map[string]string{
		"elicit": e.Args.Text("message"),
		"sample": "Write the reply of a model to: " + e.Args.Text("prompt"),
		"roots":  "Which folders does the client work on? Answer with a JSON list of {\"uri\": \"file:///…\"}.",
	}[name]
	v, err := g.Ask(ctx, text, false, 0)
	if err != nil {
		return tool.Outcome{}, err
	}
	answer, _ := v.(string)
	out, err := readAnswer(name, e.Args, answer)
	return tool.Outcome{Value: out}, err
}

// readAnswer returns the result of a function of the module: of the JSON of a response, or of
// what a person has typed.
func readAnswer(name string, args *value.Dict, answer string) (value.Value, error) {
	parsed, err := value.ParseJSON([]byte(answer))
	switch d, isDict := parsed.(*value.Dict); {
	case name == "sample":
		return answer, nil
	case name == "roots":
		if _, isList := parsed.(value.List); err == nil && isList {
			return parsed, nil
		}
		return nil, value.Errorf(value.Invalid, "the answer is not a JSON list of folders")
	case err == nil && isDict && d.Has("action"):
		return d, nil
	case err == nil && isDict:
		return value.NewDict("action", "accept", "content", d), nil
	}
	properties := args.Dict("schema").Dict("properties")
	if properties.Len() != 1 {
		return nil, value.Errorf(value.Invalid, "the answer is not a JSON object with the fields of the form")
	}
	content := &value.Dict{}
	for field := range properties.All() {
		content.Put(field.(string), answer)
	}
	return value.NewDict("action", "accept", "content", content), nil
}

// isOurs reports whether a function of the module asks a question.
func isOurs(q *tool.Question) bool { return strings.HasPrefix(q.Func, moduleName+".") }

// isForm reports whether a question asks for a form, such as one of an attached server.
func isForm(q *tool.Question) bool { return q.Kind == tool.QuestionAsk && q.Form != nil && !isOurs(q) }

// clientInput returns the input request of a question of the module.
func clientInput(q *tool.Question) sdk.InputRequest {
	switch q.Func {
	case moduleName + ".elicit":
		schema := q.Args.Dict("schema")
		if schema.Len() == 0 {
			schema = value.NewDict("type", "object", "properties", &value.Dict{})
		}
		return &sdk.ElicitParams{Mode: "form", Message: q.Args.Text("message"), RequestedSchema: json.RawMessage(value.FormatJSON(schema, ""))}
	case moduleName + ".sample":
		return &sdk.CreateMessageParams{
			MaxTokens: q.Args.Int("max_tokens"),
			Messages:  []*sdk.SamplingMessage{{Role: "user", Content: &sdk.TextContent{Text: q.Args.Text("prompt")}}},
		}
	}
	return &sdk.ListRootsParams{}
}

// clientAnswer returns the answer to a question of the module.
func clientAnswer(q *tool.Question, response sdk.InputResponse) (a tool.Answer, ok bool) {
	a.By = clientUser
	switch v := response.(type) {
	case *sdk.ElicitResult:
		a.Value, ok = string(jsonOf(v)), q.Func == moduleName+".elicit" && fits(q, v)
	case *sdk.CreateMessageResult:
		a.Value, ok = textOf(v.Content), q.Func == moduleName+".sample"
	case *sdk.CreateMessageWithToolsResult:
		a.Value, ok = textOf(v.Content...), q.Func == moduleName+".sample"
	case *sdk.ListRootsResult:
		a.Value, ok = string(jsonOf(v.Roots)), q.Func == moduleName+".roots"
	}
	return a, ok
}

// fits reports whether a form that was accepted has the fields that its schema requires.
func fits(q *tool.Question, form *sdk.ElicitResult) bool {
	schema := q.Args.Dict("schema")
	if form.Action != "accept" || schema.Len() == 0 {
		return true
	}
	check, err := jsonschema.New([]byte(value.FormatJSON(schema, "")), nil)
	if err != nil {
		return true // the form is shown as the script wants it
	}
	content, err := value.FromGo(form.Content)
	return err == nil && check.Check(content) == nil
}

func jsonOf(v any) json.RawMessage {
	text, _ := json.Marshal(v) // what was read from JSON marshals
	return text
}

// textOf returns the texts of a model's reply.
func textOf(blocks ...sdk.Content) string {
	var texts []string
	for _, b := range blocks {
		if t, ok := b.(*sdk.TextContent); ok {
			texts = append(texts, t.Text)
		}
	}
	return strings.Join(texts, "\n")
}
