package cassidy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/internal/agentfile"
	"github.com/cassidy-run/cassidy/internal/config"
	"github.com/cassidy-run/cassidy/internal/jsonschema"
	"github.com/cassidy-run/cassidy/internal/mcpfile"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/engine/source"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// An object is a JSON object.
type object = map[string]any

// The parts of schemas.
func described(doc string, o object) object  { o["description"] = doc; return o }
func typed(name, doc string) object          { return described(doc, object{"type": name}) }
func oneOfWords(doc string, w ...any) object { return described(doc, object{"enum": w}) }
func listed(doc string, items object) object {
	return described(doc, object{"type": "array", "items": items})
}
func mapped(doc string, values object) object {
	return described(doc, object{"type": "object", "additionalProperties": values})
}
func closedTo(doc string, properties object) object {
	return described(doc, object{"type": "object", "additionalProperties": false, "properties": properties})
}
func eitherOf(doc string, list ...object) object { return described(doc, object{"anyOf": list}) }

// schemas returns the schemas of docs/schemas, by the names of their files.
func schemas() map[string]object {
	files := map[string]object{
		"tool.schema.json":   toolSchema(),
		"config.schema.json": configSchema(),
		"mcp.schema.json":    mcpSchema(),
		"agent.schema.json":  agentSchema(),
	}
	for name, s := range files {
		s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		s["title"] = strings.TrimSuffix(name, ".schema.json")
	}
	return files
}

// fieldSchema returns the schema of a field of a declaration.
func fieldSchema(f source.Field) object {
	switch f.Name {
	case "type", "items", "returns":
		return eitherOf(f.Doc, object{"type": "string", "examples": tool.TypeNames()}, object{"$ref": "#/$defs/param"})
	case "properties":
		return mapped(f.Doc, eitherOf("A type.", object{"type": "string"}, object{"$ref": "#/$defs/param"}))
	case "required":
		return eitherOf(f.Doc, object{"type": "boolean"}, object{"type": "array", "items": object{"type": "string"}})
	case "parameters":
		param := object{"$ref": "#/$defs/param"}
		named := object{"type": "object", "required": []string{"name"}, "properties": object{"name": typed("string", "The name of the parameter.")}, "allOf": []object{{"$ref": "#/$defs/fields"}}, "unevaluatedProperties": false}
		return eitherOf(f.Doc, listed("A list.", named), mapped("An object.", eitherOf("A parameter.", param, object{"type": "string"})))
	case "examples":
		return listed(f.Doc, closedTo("An example call.", fieldSchemas(source.Fields("example"))))
	case "needs":
		return listed(f.Doc, capabilitySchema())
	case "limits":
		properties := object{}
		for _, name := range source.LimitNames() {
			properties[name] = object{"type": "number", "exclusiveMinimum": 0}
		}
		properties["requests"] = object{"type": "integer", "minimum": 1, "maximum": tool.MaxRequests}
		return closedTo(f.Doc, properties)
	case "hints":
		properties := object{}
		for _, name := range source.HintNames() {
			properties[name] = object{"type": "boolean"}
		}
		return described(f.Doc, object{"type": "object", "additionalProperties": object{"type": "boolean"}, "properties": properties})
	case "deprecated":
		text := object{"type": "string"}
		return eitherOf(f.Doc, text, closedTo("The parts.", object{"since": text, "replacement": text, "message": text}))
	case "version":
		return described(f.Doc, object{"type": []string{"string", "number"}})
	}
	o := object{}
	if err := json.Unmarshal([]byte(value.FormatJSON(f.Type.JSONSchema(), "")), &o); err != nil {
		panic(err)
	}
	return described(f.Doc, o)
}

func fieldSchemas(fields []source.Field) object {
	properties := object{}
	for _, f := range fields {
		properties[f.Name] = fieldSchema(f)
	}
	return properties
}

// capabilitySchema is that of a capability with or without a target.
func capabilitySchema() object {
	var names []string
	for _, name := range tool.CapabilityNames() {
		names = append(names, regexp.QuoteMeta(name))
	}
	return object{"type": "string", "pattern": "^(" + strings.Join(names, "|") + ")(:.+)?$", "examples": tool.CapabilityNames()}
}

func toolSchema() object {
	s := closedTo("The front matter of a tool in Markdown.", fieldSchemas(source.MetaFields()))
	s["properties"].(object)["token_overhead"] = typed("integer", "Another name of overhead.")
	s["required"] = []string{"description"}
	s["$defs"] = object{
		"fields": object{"type": "object", "properties": fieldSchemas(source.Fields("param"))},
		"param":  closedTo("A parameter or a type.", fieldSchemas(source.Fields("param"))),
	}
	return s
}

func configSchema() object {
	text, capability := object{"type": "string"}, capabilitySchema()
	// In a rule, http and shell capabilities have further forms.
	ruleText := object{"type": "string", "pattern": strings.TrimSuffix(capability["pattern"].(string), "$"), "examples": capability["examples"]}
	rules := func(doc string, more object) object {
		properties := object{"tool": typed("string", "The name of a tool, or @GROUP."), "capability": ruleText}
		for name, s := range more {
			properties[name] = s
		}
		rule := closedTo("A rule for a tool.", properties)
		rule["required"] = []string{"capability"}
		return described(doc, object{"type": []string{"array", "null"}, "items": eitherOf("A rule.", ruleText, rule)})
	}
	positive := func(doc string) object { return described(doc, object{"type": "integer", "minimum": 1}) }
	seconds := func(doc string) object {
		return described(doc, object{"type": "number", "exclusiveMinimum": 0, "maximum": 86400})
	}
	price := func(doc string) object { return described(doc, object{"type": "number", "minimum": 0}) }
	duration := func(doc string) object {
		return described(doc, object{"type": "string", "pattern": `^([0-9.]+(ns|us|µs|ms|s|m|h))+$`, "examples": []string{"720h", "1h30m"}})
	}
	sandboxMode := oneOfWords("Where scripts run.", "process", "strict", "inline")
	var apis []any
	for _, api := range config.APIs() {
		apis = append(apis, api)
	}
	properties := object{
		"project_overrides_personal": typed("boolean", "Whether a tool of the project replaces a personal tool of the same name."),
		"sandbox": eitherOf("Where scripts run.", sandboxMode, closedTo("The mode, and whether it must confine.", object{
			"mode": sandboxMode, "required": typed("boolean", "Whether it is an error if scripts and commands cannot be confined."),
		})),
		"allow": rules("Rules that allow.", object{
			"project": typed("string", "The absolute path of the only project for which the rule is valid."), "id": typed("string", "The ID of the folder of this project."),
		}),
		"ask":               rules("Rules that ask.", nil),
		"deny":              rules("Rules that deny.", nil),
		"trusted_sources":   listed("Sources whose text a model may follow.", text),
		"untrusted_sources": listed("Sources whose text a model may not follow.", text),
		"secrets":           mapped("The sources of secrets, by name.", closedTo("One of env, file and keyring.", object{"env": typed("string", "An environment variable."), "file": typed("string", "A file."), "keyring": typed("string", "An entry of the system's keyring.")})),
		"http":              closedTo("The network.", object{"private": listed("Addresses and blocks of your own network that tools may reach.", text)}),
		"commands": mapped("Rules for commands, by name.", closedTo("A rule.", object{
			"path": typed("string", "The absolute path of the program."), "exec": oneOfWords("any allows all arguments.", "any"), "args": listed("Patterns of arguments.", text),
			"network": typed("boolean", "Whether the command may use the network."), "read": listed("What it may read.", text), "write": listed("What it may write.", text), "env": listed("The environment variables that it gets.", text),
		})),
		"unprotected": listed("Protected files and folders that tools may write, by name.", text),
		"limits": closedTo("The largest limits of tools.", object{
			"steps": positive("Steps of a script."), "cpu": seconds("CPU time in seconds."), "memory": positive("Memory in bytes."), "result": positive("The result in bytes."), "requests": positive("HTTP requests of a call."), "timeout": seconds("Wall time in seconds."), "host_memory": positive("Memory in bytes that all calls may hold in the process of cassidy."),
		}),
		"model":               typed("string", "The default model, as in openai:NAME."),
		"format":              oneOfWords("How models write calls.", "pure_json", "xml_json", "markdown", "native", "code"),
		"docs":                oneOfWords("How long the descriptions of tools are.", "auto", "detailed", "brief"),
		"repeat_instructions": typed("boolean", "Whether each message repeats how to write calls."),
		"providers": mapped("Where models are asked, by name.", closedTo("A provider.", object{
			"api": oneOfWords("The API.", apis...), "base_url": typed("string", "The address of the API."), "key_env": typed("string", "The environment variable with the key."),
			"auth": typed("string", "The header with the key, or bearer, or auto."), "version": typed("string", "The version of the API of Anthropic."),
			"headers": mapped("Further headers.", eitherOf("A text, or an environment variable.", text, closedTo("An environment variable.", object{"env": text}))),
			"extra":   typed("object", "Further fields of each request."),
		})),
		"models": mapped("Sizes and prices of models, by PROVIDER:MODEL.", closedTo("A model.", object{
			"context": positive("Tokens of a conversation with its reply."), "max_output": positive("Tokens of a reply."), "max_tools": positive("Tools of a request."),
			"input_price": price("US dollars for a million tokens."), "output_price": price("US dollars for a million tokens."),
			"cached_input_price": price("US dollars for a million tokens."), "cache_write_price": price("US dollars for a million tokens."),
		})),
		"runs": closedTo("The records of runs.", object{"keep_for": duration("How long runs are kept."), "keep": positive("How many runs are kept."), "answer_within": duration("How long questions can be answered.")}),
		"engine": closedTo("What records and executes the runs.", object{
			"kind": oneOfWords("This machine, or a deployment of Temporal.", "local", "temporal"), "profile": typed("string", "The profile of the config of Temporal."), "address": typed("string", "The address of the server."),
			"namespace": typed("string", "The namespace of the runs."), "queue": typed("string", "The queue of all runs, instead of one for each checkout."),
			"blobs": typed("string", "The folder of large values, which all machines share."), "key": typed("string", "The secret with which everything is encrypted, or none."),
		}),
		"server": closedTo("Who may use cassidy serve.", object{
			"users": mapped("The users, by name.", closedTo("A user.", object{
				"role": oneOfWords("What the user may do: also what those before it may.", "view", "run", "approve", "admin"), "token": described("The hash of the user's token.", object{"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}),
			})),
			"forbid_own": typed("boolean", "Whether nobody may answer the questions of runs that they began."), "hosts": listed("The names by which clients address the server, besides localhost.", text),
		}),
	}
	for _, s := range properties { // a field whose lines are all comments is null
		s := s.(object)
		if name, ok := s["type"].(string); ok {
			s["type"] = []string{name, "null"}
		} else if list, ok := s["anyOf"].([]object); ok {
			s["anyOf"] = append(list, object{"type": "null"})
		} else if words, ok := s["enum"].([]any); ok {
			s["enum"] = append(words, nil)
		}
	}
	s := closedTo("config.yaml of a user or a project. Of a project, only allow, ask, deny and untrusted_sources are read.", properties)
	s["type"] = []string{"object", "null"}
	return s
}

func mcpSchema() object {
	text := object{"type": "string"}
	entry := described("A server: command for a program, or url for a server over HTTP.", object{"type": "object", "properties": object{
		"command": typed("string", "The program to start."), "args": listed("Its arguments.", text), "env": mapped("Its environment variables.", text),
		"cwd": typed("string", "The folder in which it starts, from the root of the project."), "url": typed("string", "The address of a server over HTTP."),
		"headers": mapped("Headers of each request.", text), "type": oneOfWords("The transport.", "stdio", "http", "streamable-http", "sse"),
		"cassidy": described("What the server is granted.", object{"type": "object", "properties": object{
			"network": typed("boolean", "Whether the program may use the network."), "trust_annotations": typed("boolean", "Whether the hints of its tools are believed."),
			"read": listed("What it may read outside the project.", text), "write": listed("What it may write.", text), "include": listed("The tools that are used; * stands for any characters.", text), "exclude": listed("The tools that are not used.", text), "timeout": described("Seconds of a call.", object{"type": "number", "exclusiveMinimum": 0}),
		}},
		)}, "oneOf": []object{{"required": []string{"command"}}, {"required": []string{"url"}}}})
	return described("mcp.json: the MCP servers of a project or of its user.", object{"type": "object", "required": []string{"mcpServers"}, "properties": object{"mcpServers": mapped("The servers, by name.", entry)}})
}

func agentSchema() object {
	known := object{
		"name": typed("string", "The name of the agent. The default is the name of the file."), "description": typed("string", "What the agent is for and when to use it."),
		"model": typed("string", "The model, as in openai:NAME, or inherit."), "effort": typed("string", "How much the model thinks."),
		"temperature": described("The temperature.", object{"type": "number", "minimum": 0, "maximum": 2}), "policy": typed("string", "The policy that controls the agent."),
		"maxTurns": described("The largest number of requests.", object{"type": "integer", "minimum": 1}), "maxSteps": described("The same as maxTurns.", object{"type": "integer", "minimum": 1}),
		"output_schema": described("A JSON Schema of the answer, or a type such as list[str].", object{"type": []string{"string", "object"}}),
		"limits": closedTo("Limits of the agent.", object{
			"tokens": typed("integer", "Tokens."), "requests": typed("integer", "Requests."), "tool_calls": typed("integer", "Calls of tools."),
			"cost": typed("number", "US dollars."), "time": typed("string", "A duration with a unit, as in 5m."),
		}),
		"mode":   oneOfWords("Who can start the agent.", "all", "primary", "subagent"),
		"hidden": typed("boolean", "Whether the agent is left out of lists."), "disable": typed("boolean", "Whether the agent cannot be used."),
		"tools": described("The tools that the agent may use.", object{}), "disallowedTools": described("The tools that the agent may not use.", object{}),
		"permissions": described("Rules that deny or ask.", object{}),
	}
	properties := object{}
	for _, name := range agentfile.Fields() {
		s, ok := known[name].(object)
		if !ok {
			s = described("A field of Claude Code or opencode.", object{})
		}
		properties[name] = s
	}
	return described("The front matter of an agent file. Unknown fields are ignored.", object{"type": "object", "required": []string{"description"}, "properties": properties})
}

// TestSchemas compares the schemas of docs/schemas with the tables of the code.
func TestSchemas(t *testing.T) {
	t.Parallel()
	want := schemas()
	for name, s := range want {
		text, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, '\n')
		file := filepath.Join("docs/schemas", name)
		if *update {
			if err := os.MkdirAll("docs/schemas", 0o755); err != nil {
				t.Fatal(err)
			}
			putFile(t, file, string(text))
		}
		if diff := cmp.Diff(string(text), readPage(t, file)); diff != "" {
			t.Errorf("%s differs from the code; run go test . -run 'TestSchemas$' -update (-code +file):\n%s", file, diff)
		}
	}
	files, err := filepath.Glob("docs/schemas/*")
	if err != nil || len(files) != len(want) {
		t.Errorf("docs/schemas has %v, %v, want %d files", files, err, len(want))
	}
}

// schemaOf opens a schema of docs/schemas.
func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.New([]byte(readPage(t, "docs/schemas/"+name)), nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return s
}

// TestSchemasMatch checks that the files of the repository match the schemas.
func TestSchemasMatch(t *testing.T) {
	t.Parallel()
	check := func(schema, what, text string) {
		t.Helper()
		v, err := yaml.Parse(text)
		if err == nil {
			err = schemaOf(t, schema).Check(v)
		}
		if err != nil {
			t.Errorf("%s does not match %s: %v", what, schema, err)
		}
	}
	page := readPage(t, "docs/config.yaml")
	check("config.schema.json", "docs/config.yaml", page)
	var examples []string
	for _, m := range regexp.MustCompile(`(?m)^#(\S.*|  .*)$`).FindAllStringSubmatch(page, -1) {
		examples = append(examples, m[1])
	}
	check("config.schema.json", "the examples of docs/config.yaml", strings.Join(examples, "\n"))
	check("config.schema.json", "the template", readPage(t, "scripts/templates/config.yaml"))

	n := 0
	fronts := func(schema, what, text string) {
		if meta, end := yaml.FrontMatter(strings.Split(text, "\n")); end > 0 {
			n++
			check(schema, what, meta)
		}
	}
	for _, pattern := range []string{"examples/*/.cassidy/tools/*.md", "cmd/cassidy/testdata/neovim/tools/*.md", "scripts/templates/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			schema := "tool.schema.json"
			if strings.Contains(file, "agent") {
				schema = "agent.schema.json"
			} else if strings.Contains(file, "skill") {
				continue
			}
			fronts(schema, file, regexp.MustCompile(`\{\{[^}]*\}\}`).ReplaceAllString(readPage(t, file), "x")) // the places of a template
		}
	}
	for _, page := range []string{"docs/writing-tools.md", "docs/agents.md", "docs/mcp.md"} {
		for _, b := range docBlocks(readPage(t, page)) {
			switch {
			case b.lang == "json" && strings.Contains(b.code, `"mcpServers"`) && !strings.Contains(b.code, "…") && !strings.Contains(b.code, `"transport"`): // which Cline has
				n++
				check("mcp.schema.json", fmt.Sprintf("%s, line %d", page, b.line), b.code)
			case strings.HasPrefix(b.code, "---\n") && strings.Contains(b.code, "```"):
				fronts("tool.schema.json", page, b.code)
			case strings.HasPrefix(b.code, "---\n"):
				fronts("agent.schema.json", page, b.code)
			}
		}
	}
	if n < 8 {
		t.Errorf("only %d files and examples were checked", n)
	}
}

// TestSchemasReject checks that the schemas find mistakes.
func TestSchemasReject(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ schema, text string }{
		{"tool.schema.json", "need: [fs.read]\ndescription: x\n"},
		{"tool.schema.json", "needs: [fs.reed]\ndescription: x\n"},
		{"tool.schema.json", "description: x\nparameters: [{name: a, typ: string}]\n"},
		{"tool.schema.json", "description: x\nparameters: [{type: string}]\n"},
		{"tool.schema.json", "description: x\nparameters: {a: {min: low}}\n"},
		{"tool.schema.json", "name: x\n"},
		{"tool.schema.json", "description: x\nexamples: [{arg: {}}]\n"},
		{"tool.schema.json", "description: x\nlimits: {requests: 1001}\n"},
		{"config.schema.json", "sandbox: open\n"},
		{"config.schema.json", "alow: [fs.read]\n"},
		{"config.schema.json", "limits: {cpu: -1}\n"},
		{"mcp.schema.json", `{"mcpServers": {"a": {}}}`},
		{"mcp.schema.json", `{"mcpServers": {"a": {"command": "x", "args": "y"}}}`},
		{"agent.schema.json", "description: x\nmode: other\n"},
		{"agent.schema.json", "description: x\nlimits: {money: 1}\n"},
	} {
		v, err := yaml.Parse(tt.text)
		if err != nil {
			t.Fatal(err)
		}
		if schemaOf(t, tt.schema).Check(v) == nil {
			t.Errorf("%s accepts %q", tt.schema, tt.text)
		}
	}
}

// keysOf returns the names of the properties of a schema.
func keysOf(s object) (names []string) {
	for name := range s["properties"].(object) {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestSchemasHaveAllFields compares the fields that readers accept with those of the schemas.
func TestSchemasHaveAllFields(t *testing.T) {
	t.Parallel()
	// fields returns the fields that an error about an unknown field names.
	fields := func(text string) (names []string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "config.yaml")
		putFile(t, file, text)
		_, err := config.Read("", &config.Options{File: file})
		_, list, ok := strings.Cut(value.ErrorOf(err, value.Internal).Hint, "the fields are ")
		if !ok {
			t.Fatalf("%q: %v, want a hint with the fields", text, err)
		}
		names = strings.Split(list, ", ")
		slices.Sort(names)
		return names
	}
	all := configSchema()
	in := func(path ...string) object {
		s := all
		for _, name := range path {
			switch name {
			case "*":
				s = s["additionalProperties"].(object)
			case "[]":
				s = s["items"].(object)
			case "?":
				s = s["anyOf"].([]object)[1]
			default:
				s = s["properties"].(object)[name].(object)
			}
		}
		return s
	}
	for text, s := range map[string]object{
		"zz: 1\n":                           all,
		"sandbox: {zz: 1}\n":                in("sandbox", "?"),
		"allow: [{zz: 1}]\n":                in("allow", "[]", "?"),
		"deny: [{zz: 1}]\n":                 in("deny", "[]", "?"),
		"secrets: {A: {zz: 1}}\n":           in("secrets", "*"),
		"http: {zz: 1}\n":                   in("http"),
		"limits: {zz: 1}\n":                 in("limits"),
		"providers: {a: {zz: 1}}\n":         in("providers", "*"),
		"models: {\"openai:a\": {zz: 1}}\n": in("models", "*"),
		"runs: {zz: 1}\n":                   in("runs"),
	} {
		if diff := cmp.Diff(fields(text), keysOf(s)); diff != "" {
			t.Errorf("%q: the fields differ (-reader +schema):\n%s", strings.TrimSpace(text), diff)
		}
	}
	servers := mcpSchema()["properties"].(object)["mcpServers"].(object)["additionalProperties"].(object)
	for at, s := range map[string]object{"": servers, "cassidy": servers["properties"].(object)["cassidy"].(object)} {
		for _, name := range append(keysOf(s), "zz") {
			entry := value.NewDict("command", "x", name, nil)
			if at != "" {
				entry = value.NewDict("command", "x", at, value.NewDict(name, nil))
			}
			_, warnings, err := mcpfile.Parse(value.FormatJSON(value.NewDict("mcpServers", value.NewDict("a", entry)), ""))
			ignored := slices.ContainsFunc(warnings, func(w string) bool { return strings.HasSuffix(w, "."+name+" is ignored") })
			if err == nil && ignored != (name == "zz") {
				t.Errorf("mcp.json: the field %s of %q is ignored: %v", name, at, ignored)
			}
		}
	}
	if diff := cmp.Diff(agentfile.Fields(), keysOf(agentSchema())); diff != "" {
		t.Errorf("agent files (-reader +schema):\n%s", diff)
	}
}
