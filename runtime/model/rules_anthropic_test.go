package model_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// What Anthropic documents of POST /v1/messages for the version 2026-10-21, and what its models
// refuse, from https://platform.claude.com/docs/en/api/messages, …/versioning and the pages "What's
// new" of the models.

var anthropicRequest = fields{
	"model": "string!", "max_tokens": "integer!", "messages": "array!", "system": "string|array", "tools": "array", "tool_choice": "object",
	"stream": "boolean", "stop_sequences": "array", "metadata": "object", "thinking": "object", "service_tier": "string", "speed": "string",
	"output_config": "object", "container": "string|object", "inference_geo": "string", "cache_control": "object", "diagnostics": "object",
	"user_profile_id": "string", "workspace_id": "string",
}

var anthropicBlock = map[string]fields{
	"text":                   {"type": "string!", "text": "string!", "cache_control": "object", "citations": "array|null"},
	"tool_use":               {"type": "string!", "id": "string!", "name": "string!", "input": "object!", "caller": "object", "toolset_name": "string|null", "cache_control": "object"},
	"server_tool_use":        {"type": "string!", "id": "string!", "name": "string!", "input": "object!", "caller": "object", "cache_control": "object"},
	"web_search_tool_result": {"type": "string!", "tool_use_id": "string!", "content": "array|object!", "caller": "object", "cache_control": "object"},
	"tool_result":            {"type": "string!", "tool_use_id": "string!", "content": "string|array", "is_error": "boolean", "toolset_name": "string|null", "cache_control": "object"},
	"thinking":               {"type": "string!", "thinking": "string!", "signature": "string!"},
	"redacted_thinking":      {"type": "string!", "data": "string!"},
	"image":                  {"type": "string!", "source": "object!", "cache_control": "object", "transformations": "object|null"},
	"document":               {"type": "string!", "source": "object!", "cache_control": "object", "citations": "object|null", "context": "string|null", "title": "string|null"},
}

// The models that refuse a part of a request.
var (
	refusesBudget   = []string{"claude-opus-4-7", "claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-fable-5", "claude-mythos-5", "claude-haiku-5"}
	refusesAdaptive = []string{"claude-3", "claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5", "claude-opus-4-1", "claude-sonnet-4-2", "claude-opus-4-2"}
	refusesOff      = []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5", "claude-mythos-5"}
	refusesForced   = []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1", "claude-mythos-5-2"}
	takesSystem     = []string{"claude-opus-4-8", "claude-opus-5", "claude-sonnet-5", "claude-haiku-5", "claude-fable-5", "claude-mythos-5"}
	bindsThinking   = []string{"claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-fable-5-2"}
)

func among(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// rules collects what is wrong with a request.
type rules struct {
	version  string
	name     string // of the model
	problems []string
	marks    int
}

func (r *rules) add(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// anthropicProblems returns what the API would refuse of a request.
func anthropicProblems(version string, q request) []string {
	r := &rules{version: version, name: q.body.Text("model")}
	if got := q.header.Get("Anthropic-Version"); got != version {
		r.add("version %q, want %q", got, version)
	}
	table := anthropicRequest
	if version == "2023-06-01" && !among(r.name, refusesBudget) {
		table = fields{"temperature": "number", "top_p": "number", "top_k": "integer"}
		for k, v := range anthropicRequest {
			table[k] = v
		}
	}
	r.fields("the request", q.body, table)
	if q.body.Int("max_tokens") > 21_333 && !q.body.Bool("stream") {
		r.add("%d tokens without a stream", q.body.Int("max_tokens"))
	}
	r.thinking(q)
	r.output(q.body)
	r.tools(q.body)
	for _, b := range listOf(q.body, "system") {
		r.block("system", b)
	}
	r.messages(q.body)
	if r.marks > 4 {
		r.add("%d marks of the cache, of 4", r.marks)
	}
	return r.problems
}

// fields checks an object against a table.
func (r *rules) fields(where string, d *value.Dict, table fields) {
	if d == nil {
		r.add("%s: not an object", where)
	}
	for k, v := range d.All() {
		want, ok := table[k.(string)]
		got := value.TypeOf(v)
		types := strings.Split(strings.TrimSuffix(want, "!"), "|")
		if !ok {
			r.add("%s.%s: Extra inputs are not permitted", where, k)
		} else if !slices.Contains(types, got) && !(got == "integer" && slices.Contains(types, "number")) {
			r.add("%s.%s: Input should be %s, not %s", where, k, want, got)
		}
	}
	for name, want := range table {
		if strings.HasSuffix(want, "!") && !d.Has(name) {
			r.add("%s.%s: Field required", where, name)
		}
	}
	if c := inner(d, "cache_control"); c != nil {
		r.marks++
		r.fields(where+".cache_control", c, fields{"type": "string!", "ttl": "string"})
	}
}

// listOf returns the objects of a list.
func listOf(d *value.Dict, name string) (list []*value.Dict) {
	v, _ := d.Get(name)
	items, _ := v.(value.List)
	for _, item := range items {
		one, _ := item.(*value.Dict)
		list = append(list, one)
	}
	return list
}

func (r *rules) thinking(q request) {
	d := inner(q.body, "thinking")
	switch kind := d.Text("type"); {
	case d == nil:
	case kind == "adaptive":
		table := fields{"type": "string!", "display": "string"}
		if strings.Contains(q.header.Get("Anthropic-Beta"), "thinking-binding-controls-2026-08-01") {
			table["block_binding"] = "object"
		}
		r.fields("thinking", d, table)
		if among(r.name, refusesAdaptive) {
			r.add("adaptive thinking is not supported on this model")
		}
	case kind == "enabled":
		r.fields("thinking", d, fields{"type": "string!", "budget_tokens": "integer!", "display": "string"})
		if n := d.Int("budget_tokens"); n < 1024 || n >= q.body.Int("max_tokens") {
			r.add("thinking.budget_tokens is %d, with %d max_tokens", n, q.body.Int("max_tokens"))
		}
		if among(r.name, refusesBudget) {
			r.add(`"thinking.type.enabled" is not supported for this model`)
		}
	case kind == "disabled" && !among(r.name, refusesOff), kind == "between_tools" && r.name == "claude-sonnet-5-5":
		r.fields("thinking", d, fields{"type": "string!"})
	default:
		r.add(`"thinking.type.%s" is not supported for this model`, kind)
	}
	if c := inner(q.body, "tool_choice").Text("type"); c == "any" || c == "tool" {
		if among(r.name, refusesForced) {
			r.add("tool_choice: forced tool use is not supported for this model")
		}
		if d.Text("type") == "enabled" {
			r.add("Thinking may not be enabled when tool_choice forces tool use")
		}
	}
}

func (r *rules) output(body *value.Dict) {
	d := inner(body, "output_config")
	if d == nil {
		return
	}
	r.fields("output_config", d, fields{"effort": "string", "format": "object"})
	if effort := d.Text("effort"); d.Has("effort") && !slices.Contains([]string{"low", "medium", "high", "xhigh", "max"}, effort) || effort == "xhigh" && strings.HasSuffix(r.name, "-4-6") {
		r.add("output_config.effort: %q", effort)
	}
	if f := inner(d, "format"); f != nil {
		r.fields("output_config.format", f, fields{"type": "string!", "schema": "object!"})
		r.schema("output_config.format.schema", inner(f, "schema"))
	}
}

// schema checks the form of a JSON Schema that the API can enforce.
func (r *rules) schema(where string, d *value.Dict) {
	allowed := fields{"type": "string", "properties": "object", "required": "array", "additionalProperties": "boolean", "items": "object", "enum": "array", "const": "string|number|boolean|null",
		"anyOf": "array", "$ref": "string", "$defs": "object", "format": "string", "minItems": "integer", "description": "string", "title": "string"}
	r.fields(where, d, allowed)
	if d.Text("type") == "object" {
		if closed, _ := d.Get("additionalProperties"); closed != false {
			r.add("%s: For 'object' type, 'additionalProperties' must be explicitly set to false", where)
		}
	}
	if !d.Has("type") && !d.Has("enum") && !d.Has("const") && !d.Has("anyOf") && !d.Has("$ref") {
		r.add("%s: no type", where)
	}
	for _, name := range []string{"properties", "$defs"} {
		for k := range inner(d, name).All() {
			r.schema(where+"."+k.(string), inner(inner(d, name), k.(string)))
		}
	}
	if items := inner(d, "items"); items != nil {
		r.schema(where+".items", items)
	}
	for _, one := range listOf(d, "anyOf") {
		r.schema(where+".anyOf", one)
	}
}

func (r *rules) tools(body *value.Dict) {
	for _, d := range listOf(body, "tools") {
		r.fields("a tool", d, fields{"name": "string!", "description": "string", "input_schema": "object!", "type": "string", "strict": "boolean", "cache_control": "object"})
	}
	if d := inner(body, "tool_choice"); d != nil {
		r.fields("tool_choice", d, fields{"type": "string!", "name": "string", "disable_parallel_tool_use": "boolean"})
		if !body.Has("tools") || (d.Text("type") == "tool") != d.Has("name") || !slices.Contains([]string{"auto", "any", "tool", "none"}, d.Text("type")) {
			r.add("tool_choice: %s", d)
		}
	}
}

func (r *rules) messages(body *value.Dict) {
	open, want := map[string]bool{}, "user"
	messages := listOf(body, "messages")
	for i, m := range messages {
		where := fmt.Sprintf("messages.%d", i)
		r.fields(where, m, fields{"role": "string!", "content": "string|array!"})
		if m.Text("role") == "system" {
			if !among(r.name, takesSystem) || i == 0 || messages[i-1].Text("role") == "assistant" {
				r.add("%s: role 'system' is not supported here", where)
			}
			for _, b := range listOf(m, "content") {
				r.block(where, b)
			}
			continue
		}
		if m.Text("role") != want {
			r.add("%s: a message of %s where one of %s must follow", where, m.Text("role"), want)
		}
		r.blocks(where, m, open, body.Has("tools"))
		if want = "assistant"; m.Text("role") == "assistant" {
			want = "user"
		}
	}
	if want == "user" && !endsPaused(messages) {
		r.add("This model does not support assistant message prefill")
	}
}

// endsPaused reports whether a conversation ends in a turn that was paused: with the result of one
// of the vendor's tools.
func endsPaused(messages []*value.Dict) bool {
	if len(messages) == 0 {
		return false
	}
	blocks := listOf(messages[len(messages)-1], "content")
	return len(blocks) > 0 && (strings.HasSuffix(blocks[len(blocks)-1].Text("type"), "_tool_result") || blocks[len(blocks)-1].Text("type") == "server_tool_use")
}

func (r *rules) blocks(where string, m *value.Dict, open map[string]bool, tools bool) {
	blocks := listOf(m, "content")
	if len(blocks) == 0 && m.Text("content") == "" {
		r.add("%s: content is empty", where)
	}
	byUser, other := m.Text("role") == "user", false
	for j, b := range blocks {
		at := fmt.Sprintf("%s.content.%d", where, j)
		r.block(at, b)
		switch kind := b.Text("type"); kind {
		case "tool_use":
			open[b.Text("id")] = true
			if byUser || !tools {
				r.add("%s: a call by %s, tools: %t", at, m.Text("role"), tools)
			}
		case "tool_result":
			if other || !byUser || !open[b.Text("tool_use_id")] {
				r.add("%s: a result by %s, after other blocks: %t, of %q", at, m.Text("role"), other, b.Text("tool_use_id"))
			}
			delete(open, b.Text("tool_use_id"))
			if content, _ := b.Get("content"); value.TypeOf(content) == "array" {
				for _, part := range listOf(b, "content") {
					r.block(at+".content", part)
				}
			}
			continue
		case "text":
			if citations, _ := b.Get("citations"); byUser && value.TypeOf(citations) == "array" {
				r.add("%s.citations: not permitted in a user message", at)
			}
		case "image", "document":
			if !byUser {
				r.add("%s: %s in an assistant message", at, kind)
			}
		case "thinking", "redacted_thinking", "server_tool_use":
			if byUser {
				r.add("%s: %s in a user message", at, kind)
			}
		}
		other = true
	}
	if byUser && len(open) > 0 {
		r.add("%s: `tool_use` ids were found without `tool_result` blocks immediately after: %v", where, open)
	}
}

// block checks one content block.
func (r *rules) block(where string, b *value.Dict) {
	kind := b.Text("type")
	table, ok := anthropicBlock[kind]
	if !ok {
		r.add("%s: unknown block %q", where, kind)
	}
	r.fields(where, b, table)
	if kind == "text" && strings.TrimSpace(b.Text("text")) == "" {
		r.add("%s: text content blocks must contain non-whitespace text", where)
	}
	source := inner(b, "source")
	switch {
	case kind != "image" && kind != "document":
	case source.Text("type") == "text" && kind == "document":
		r.fields(where+".source", source, fields{"type": "string!", "media_type": "string!", "data": "string!"})
	default:
		r.fields(where+".source", source, fields{"type": "string!", "media_type": "string!", "data": "string!"})
		types := map[string][]string{"image": {"image/png", "image/jpeg", "image/gif", "image/webp"}, "document": {"application/pdf"}}
		if source.Text("type") != "base64" || !slices.Contains(types[kind], source.Text("media_type")) {
			r.add("%s.source: %s %s", where, source.Text("type"), source.Text("media_type"))
		}
	}
}
