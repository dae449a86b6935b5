package tool

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cassidy-run/cassidy/runtime/value"
)

var update = flag.Bool("update", false, "write the golden files anew")

// richTool has something of everything that a definition can show.
func richTool() *Tool {
	return &Tool{
		Name: "find-places", Description: "Find places near a point.\n\nUse it for addresses; <b>not</b> for routes.", Group: "maps", Risky: true,
		Hints: Hints{ReadOnly: true, Idempotent: true, OpenWorld: true},
		Params: []Param{
			{Name: "query", Type: Type{Name: TypeString, MinLength: size(1), MaxLength: size(80), Pattern: `\S`}, Description: "What to look for.", Required: true, Aliases: []string{"q"}},
			{Name: "at", Type: Type{Name: TypeObject, Fields: []Param{
				{Name: "lat", Type: Type{Name: TypeNumber, Min: int64(-90), Max: 90.0}, Required: true, Description: "Degrees north."},
				{Name: "lon", Type: Type{Name: TypeNumber}, Required: true},
				{Name: "label", Type: Type{Name: TypeString, Nullable: true}},
			}}, Description: "Where.", Required: true},
			{Name: "limit", Type: Type{Name: TypeInteger, Min: int64(1), Max: int64(50)}, Default: int64(10), HasDefault: true},
			{Name: "kinds", Type: Type{Name: TypeCharacter, Enum: []value.Value{"café", "shop"}, MaxLength: size(3)}, Description: "One kind or some."},
			{Name: "sort", Type: Type{Name: TypeString, Enum: []value.Value{"near", "best"}, Nullable: true}, HasDefault: true},
			{Name: "tags", Type: Type{Name: TypeArray, Items: &Type{Name: TypeArray, Items: &Type{Name: TypeString}}}, Default: value.List{value.List{"a"}}, HasDefault: true},
			{Name: "weights", Type: Type{Name: TypeObject, Values: &Type{Name: TypeNumber}}},
			{Name: "open", Type: Type{Name: TypeLogical}, Default: true, HasDefault: true},
			{Name: "raw", Type: Type{Name: TypeList}},
			{Name: "extra", Type: Type{Name: TypeAny}},
			{Name: "shape", Type: Type{Name: "geometry"}},
			{Name: "working_dir", Type: Type{Name: TypeString}, FromHost: true},
		},
		Returns: &Type{Name: TypeObject, Fields: []Param{{Name: "places", Type: Type{Name: TypeArray, Items: &Type{Name: TypeObject}}, Required: true}}},
		Needs:   []Capability{{"http.get", "maps.example.com"}}, Timeout: 10 * time.Second,
		Examples: []Example{{Args: value.NewDict("query", "pizza", "at", value.NewDict("lat", 1.5, "lon", int64(2)))}},
	}
}

// TestMCPAnnotations checks that the annotations are the hints of the author, unless what the tool needs
// contradicts them.
func TestMCPAnnotations(t *testing.T) {
	t.Parallel()
	reads := Hints{ReadOnly: true}
	for _, tt := range []struct {
		hints                   Hints
		risky                   bool
		needs                   string
		only, destructive, open bool
	}{
		{reads, false, "", true, false, false},
		{reads, false, "fs.read", true, false, false},
		{reads, false, "http.get:example.com secret:KEY@example.com env:API_KEY", true, false, true},
		{reads, false, "http.head", true, false, true},
		{reads, true, "http.get", true, false, true},
		{reads, true, "", true, false, false},
		{Hints{}, true, "", false, true, false},
		{reads, false, "http.get http.post", false, true, true},
		{reads, false, "http", false, true, true},
		{reads, false, "fs.write:out", false, true, false},
		{reads, true, "shell:git", true, false, false},
		{Hints{}, true, "shell:ps", false, false, false},
		{reads, false, "shell:git shell:sh", false, true, false},
		{reads, false, "shell:make", false, true, false},
		{reads, false, "use:stock/*", false, true, false},
		{reads, false, "memory.add", false, true, false},
		{reads, false, "skill.create", false, true, false},
		{Hints{}, false, "http.get", false, false, true},
		{Hints{}, false, "", false, false, false},
		{Hints{OpenWorld: true}, false, "", false, false, true},
	} {
		one := &Tool{Name: "t", Hints: tt.hints, Risky: tt.risky}
		for _, text := range strings.Fields(tt.needs) {
			c, err := ParseCapability(text)
			if err != nil {
				t.Fatal(err)
			}
			one.Needs = append(one.Needs, c)
		}
		d, err := one.Definition(MCP)
		if err != nil {
			t.Fatal(err)
		}
		a := d.Dict("annotations")
		if a.Bool("readOnlyHint") != tt.only || a.Bool("destructiveHint") != tt.destructive || a.Bool("openWorldHint") != tt.open {
			t.Errorf("%+v, risky %v, needs %q: %s", tt.hints, tt.risky, tt.needs, value.FormatJSON(a, ""))
		}
	}
}

func TestDefinitions(t *testing.T) {
	tool := richTool()
	if err := tool.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, f := range Formats() {
		d, err := tool.Definition(f)
		if err != nil {
			t.Errorf("%s: %v", f, err)
			continue
		}
		got := value.FormatJSON(d, "  ") + "\n"
		path := filepath.Join("testdata", "definition."+string(f)+".json")
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f, diff)
		}
	}
	_, err := tool.Definition("opnai")
	if e := value.ErrorOf(err, value.Internal); e == nil || e.Error() != `unknown format "opnai"; did you mean "openai"?` || e.Hint != `use "json-schema", "openai", "anthropic" or "mcp"` {
		t.Errorf("an unknown format: got %v", err)
	}
}

// A schema that somebody else wrote goes to the model as it is.
func TestDefinitionOfRawSchema(t *testing.T) {
	tool := Tool{Name: "t", Description: "d", Schema: []byte(`{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"$defs":{}}`)}
	d, err := tool.Definition(Anthropic)
	if want := `{"name":"t","description":"d","input_schema":` + string(tool.Schema) + `}`; err != nil || value.FormatJSON(d, "") != want {
		t.Errorf("got %s, %v, want %s", value.FormatJSON(d, ""), err, want)
	}
	for _, schema := range []string{`[]`, `{`, `true`} {
		if d, err := (&Tool{Name: "t", Schema: []byte(schema)}).Definition(OpenAI); err == nil {
			t.Errorf("schema %s: got %s, want an error", schema, value.FormatJSON(d, ""))
		}
	}
}

// Parameters that were read from a schema give that schema again.
func TestParamsFromSchemaAndBack(t *testing.T) {
	schema := `{
  "type": "object",
  "properties": {
    "a": {"type": "string", "minLength": 1, "maxLength": 5, "pattern": "^x", "enum": ["x"], "description": "A.", "default": "x"},
    "b": {"type": ["integer", "null"], "minimum": 1, "maximum": 9.5},
    "c": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}, "minItems": 1, "maxItems": 2},
    "d": {"type": "object", "properties": {"e": {"type": "boolean"}, "f": {}}, "required": ["e"]},
    "g": {"type": "object", "additionalProperties": {"type": "string"}},
    "h": {}
  },
  "required": ["a", "c"],
  "additionalProperties": false
}`
	params, err := ParamsFromSchema(readArgs(t, schema))
	if err != nil {
		t.Fatal(err)
	}
	tool := Tool{Name: "t", Params: params}
	got, err := tool.ArgsSchema()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sortKeys(readAll(t, schema)), sortKeys(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// sortKeys writes a value with the names of its objects in order.
func sortKeys(v value.Value) string {
	var parts []string
	if d, ok := v.(*value.Dict); ok {
		for k, item := range d.All() {
			parts = append(parts, k.(string)+":"+sortKeys(item))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ",") + "}"
	}
	items, ok := value.Elements(v)
	if !ok {
		return value.FormatJSON(v, "")
	}
	for _, item := range items {
		parts = append(parts, sortKeys(item))
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func TestParamsFromSchema(t *testing.T) {
	tests := []struct{ name, schema, want string }{
		{"nothing", `{}`, `{"type":"object","properties":{},"additionalProperties":false}`},
		{"foreign names of types", `{"properties":{"a":{"type":"dict"},"b":{"type":"float"},"c":{"type":"tuple","items":{"type":"int"}},"d":{"type":"any"},"e":{"type":"bool"},"f":{"type":"str"}}}`,
			`{"type":"object","properties":{"a":{"type":"object"},"b":{"type":"number"},"c":{"type":"array","items":{"type":"integer"}},"d":{},"e":{"type":"boolean"},"f":{"type":"string"}},"additionalProperties":false}`},
		{"types of Java and JavaScript", `{"properties":{"a":{"type":"String"},"b":{"type":"Boolean"},"c":{"type":"long"},"d":{"type":"double"},"e":{"type":"HashMap"},"f":{"type":"ArrayList"},` +
			`"g":{"type":"char"},"h":{"type":"Array","items":{"type":"String"}},"i":{"type":"ArrayList<Integer>"},"j":{"type":"HashMap<String, Double>"},"k":{"type":["String","null"]},"l":{"type":"Character"},"m":{"type":"Dict"},"n":{"type":"OBJECT"}}}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"},"c":{"type":"integer"},"d":{"type":"number"},"e":{"type":"object"},"f":{"type":"array"},` +
				`"g":{"type":"string"},"h":{"type":"array","items":{"type":"string"}},"i":{"type":"array","items":{"type":"integer"}},"j":{"type":"object","additionalProperties":{"type":"number"}},"k":{"type":["string","null"]},"l":{"type":"string"},"m":{"type":"object"},"n":{"type":"object"}},"additionalProperties":false}`},
		{"unknown names of types", `{"properties":{"a":{"type":"geometry"}}}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`},
		{"true", `{"properties":{"a":true}}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`},
		{"several types", `{"properties":{"a":{"type":["string","integer"]}}}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`},
		{"null first", `{"properties":{"a":{"type":["null","string"]}}}`, `{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false}`},
		{"a default of another type is documentation", `{"properties":{"a":{"type":"integer","default":"none"}}}`, `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`},
		{"a default in its one form", `{"properties":{"a":{"type":"integer","default":3.0}}}`, `{"type":"object","properties":{"a":{"type":"integer","default":3}},"additionalProperties":false}`},
		{"bounds that are not numbers", `{"properties":{"a":{"type":"integer","minimum":"1","maxLength":1.5,"enum":3,"pattern":7}}}`, `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`},
		{"what a type cannot say", `{"properties":{"a":{"oneOf":[{"type":"string"}],"const":1}}}`, `{"type":"object","properties":{"a":{}},"additionalProperties":false}`},
		{"odd names", `{"properties":{"a.b":{},"":{}},"required":["a.b",1,["x"]]}`, `{"type":"object","properties":{"a.b":{},"":{}},"required":["a.b"],"additionalProperties":false}`},
	}
	for _, tt := range tests {
		params, err := ParamsFromSchema(readArgs(t, tt.schema))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		tool := Tool{Name: "t", Params: params}
		got, err := tool.ArgsSchema()
		if err != nil || value.FormatJSON(got, "") != tt.want {
			t.Errorf("%s: got %s, %v, want %s", tt.name, value.FormatJSON(got, ""), err, tt.want)
		}
	}
	for schema, want := range map[string]string{
		`{"properties":[]}`:                                           "'properties' of a schema should be an object but got array",
		`{"properties":{"a":3}}`:                                      "property 'a' should be a schema but got integer",
		`{"properties":{"a":false}}`:                                  "property 'a' should be a schema but got boolean",
		`{"properties":{"a":{"type":3}}}`:                             "property 'a': 'type' of a schema should be a name but got integer",
		`{"properties":{"a":{"type":"list["}}}`:                       `property 'a': type "list["`,
		`{"properties":{"a":{"properties":{"b":1},"type":"object"}}}`: "property 'a': property 'b' should be a schema but got integer",
	} {
		if params, err := ParamsFromSchema(readArgs(t, schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %s", schema, params, err, want)
		}
	}
	// Several types, null among them: null is a value, also where required.
	params, err := ParamsFromSchema(readArgs(t, `{"properties":{"a":{"type":["string","integer","null"]}},"required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&Tool{Name: "t", Params: params}).Check(readArgs(t, `{"a":null}`)); err != nil {
		t.Errorf("null of several types: %v", err)
	}
}
