package tool

import (
	"strings"
	"testing"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// TestCheckNameC1 goes through what C1 says of names.
func TestCheckNameC1(t *testing.T) {
	for _, name := range []string{"a", "read_file", "my-tool", "my_tool", "custom-reader", "a1", "a-1", "a_1-b", "word_count_2", strings.Repeat("a", MaxName)} {
		if err := CheckName(name); err != nil {
			t.Errorf("CheckName(%q) = %v, want nil", name, err)
		}
	}
	for _, name := range []string{"server.tool", "my-server.read_file", "server__tool", "read_file"} {
		if err := CheckCallName(name); err != nil {
			t.Errorf("CheckCallName(%q) = %v, want nil", name, err)
		}
	}
	for _, name := range []string{"a.b.c", ".a", "a.", "a__b__c", "a.b__c", "a..b", "A.b", "a.B", "a.b c", "a.1b", strings.Repeat("a", MaxName-2) + ".a", ""} {
		if err := CheckCallName(name); err == nil {
			t.Errorf("CheckCallName(%q) = nil, want an error", name)
		}
	}
	if Key("my-server.read-file") != Key("my_server__read_file") {
		t.Error("the two spellings of a server's tool have different keys")
	}
	tests := []struct{ name, suggestion string }{
		{"", ""}, {"_", ""}, {"1tool", ""}, {"-a", "a"}, {"a-", "a"}, {"_a", "a"}, {"a_", "a"}, {"a--b", "a_b"}, {"a__b", "a_b"}, {"a-_b", "a_b"},
		{"MyTool", "mytool"}, {"My Tool", "my_tool"}, {"read.file", "read_file"}, {"read/file", "read_file"}, {"a b", "a_b"}, {" a ", "a"},
		{"café", "caf"}, {"日本", ""}, {"a\n", "a"}, {"a\x00b", "a_b"}, {strings.Repeat("a", MaxName+1), ""}, {"triangle_properties.get", "triangle_properties_get"},
	}
	for _, tt := range tests {
		err := CheckName(tt.name)
		if err == nil {
			t.Errorf("CheckName(%q) = nil, want an error", tt.name)
			continue
		}
		e := value.ErrorOf(err, value.Internal)
		if !strings.HasPrefix(e.Error(), "Invalid tool name: ") || e.Kind != value.Invalid || !strings.HasPrefix(e.Hint, "begin with a letter, and use ") {
			t.Errorf("CheckName(%q) = %v (hint %q)", tt.name, e, e.Hint)
		}
		if tt.suggestion == "" {
			if strings.Contains(e.Hint, "try") {
				t.Errorf("CheckName(%q): hint %q, want no suggestion", tt.name, e.Hint)
			}
			continue
		}
		if want := `; try "` + tt.suggestion + `"`; !strings.HasSuffix(e.Hint, want) {
			t.Errorf("CheckName(%q): hint %q, want it to end in %q", tt.name, e.Hint, want)
		}
		if err := CheckName(tt.suggestion); err != nil {
			t.Errorf("the suggestion %q: %v", tt.suggestion, err)
		}
	}
}

func TestKeyC1(t *testing.T) {
	for name, want := range map[string]string{"my-tool": "my_tool", "my_tool": "my_tool", "a-b_c": "a_b_c", "a": "a"} {
		if got := Key(name); got != want {
			t.Errorf("Key(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestToolNames(t *testing.T) {
	tests := []struct {
		tool                  Tool
		title, group, summary string
	}{
		{Tool{Name: "word_count", Description: "Count words.\n\nMore."}, "Word Count", "ungrouped", "Count words."},
		{Tool{Name: "my-2nd_tool", Title: "My own", Group: "text", Description: "\n  First line \nsecond"}, "My own", "text", "First line"},
		{Tool{Name: "a"}, "A", "ungrouped", ""},
	}
	for _, tt := range tests {
		if got := tt.tool.DisplayTitle(); got != tt.title {
			t.Errorf("A2 %s: DisplayTitle() = %q, want %q", tt.tool.Name, got, tt.title)
		}
		if got := tt.tool.DisplayGroup(); got != tt.group {
			t.Errorf("A3 %s: DisplayGroup() = %q, want %q", tt.tool.Name, got, tt.group)
		}
		if got := tt.tool.Summary(); got != tt.summary {
			t.Errorf("%s: Summary() = %q, want %q", tt.tool.Name, got, tt.summary)
		}
	}
}

func TestToolParam(t *testing.T) {
	tool := Tool{Params: []Param{{Name: "a", Aliases: []string{"b"}}, {Name: "b"}}}
	for name, want := range map[string]string{"a": "a", "b": "b"} { // a name goes before an alias
		if p, ok := tool.Param(name); !ok || p.Name != want {
			t.Errorf("Param(%q) = %v, %v, want %s", name, p, ok, want)
		}
	}
	if p, ok := tool.Param("c"); ok {
		t.Errorf("Param(c) = %v, want none", p)
	}
}

func TestNeedsApprovalA4(t *testing.T) {
	for _, tt := range []struct {
		tool Tool
		want bool
	}{
		{Tool{}, false}, {Tool{Risky: true}, true}, {Tool{Needs: []Capability{{Name: "fs.read"}}}, false},
		{Tool{Needs: []Capability{{Name: "fs.read"}, {Name: "fs.write", Target: "out/**"}}}, true}, {Tool{Hints: Hints{ReadOnly: true}, Needs: []Capability{{Name: "shell"}}}, true},
	} {
		if got := tt.tool.NeedsApproval(); got != tt.want {
			t.Errorf("NeedsApproval of risky=%v, needs=%v = %v, want %v", tt.tool.Risky, tt.tool.Needs, got, tt.want)
		}
	}
}

func TestValidate(t *testing.T) {
	with := func(change func(*Tool)) Tool {
		tool := Tool{Name: "t", Description: "d"}
		change(&tool)
		return tool
	}
	param := func(p Param) Tool { return with(func(t *Tool) { t.Params = []Param{p} }) }
	typed := func(typ Type) Tool { return param(Param{Name: "x", Type: typ}) }
	tests := []struct {
		name string
		tool Tool
		want string // "" is valid
	}{
		{"A1 the least", with(func(*Tool) {}), ""},
		{"B16 name", with(func(t *Tool) { t.Name = "T" }), `Invalid tool name: "T"`},
		{"A1 description", with(func(t *Tool) { t.Description = " \n" }), "tool 't' has no description"},
		{"a long description", with(func(t *Tool) { t.Description = strings.Repeat("a", maxDescription+1) }), "the description is longer than 16 KB"},
		{"calls and steps", with(func(t *Tool) { t.OnlyCalls, t.Steps = true, []Func{{Name: "f"}} }), "OnlyCalls and Steps are mutually exclusive: a tool with Steps has effects of its own"},
		{"no name", param(Param{}), `"" is not a valid parameter name`},
		{"a control character in a name", param(Param{Name: "a\nb"}), `"a\nb" is not a valid parameter name`},
		{"a name twice", with(func(t *Tool) { t.Params = []Param{{Name: "a"}, {Name: "a"}} }), "the parameter name 'a' is used twice"},
		{"a name as an alias", with(func(t *Tool) { t.Params = []Param{{Name: "a"}, {Name: "b", Aliases: []string{"a"}}} }), "the parameter name 'a' is used twice"},
		{"D44 an unknown type", typed(Type{Name: "geometry"}), ""},
		{"C32 a default that does not fit", param(Param{Name: "x", Type: Type{Name: TypeInteger}, Default: "3", HasDefault: true}), "the default of 'x' should be integer but got string"},
		{"C32 a default out of bounds", param(Param{Name: "x", Type: Type{Name: TypeInteger, Min: int64(1)}, Default: int64(0), HasDefault: true}), "the default of 'x' must be >= 1 (got 0)"},
		{"a default of null", param(Param{Name: "x", Type: Type{Name: TypeInteger}, HasDefault: true}), ""},
		{"a pattern", typed(Type{Name: TypeString, Pattern: "("}), "the pattern of parameter 'x': error parsing regexp"},
		{"lookahead", typed(Type{Name: TypeString, Pattern: "(?=a)"}), "the pattern of parameter 'x': error parsing regexp"},
		{"min is no number", typed(Type{Name: TypeNumber, Min: "1"}), `min of parameter 'x' should be a number but got "1"`},
		{"min and max", typed(Type{Name: TypeNumber, Min: int64(2), Max: 1.5}), "min of parameter 'x' is greater than its max"},
		{"min is max", typed(Type{Name: TypeNumber, Min: int64(2), Max: 2.0}), ""},
		{"lengths", typed(Type{Name: TypeString, MinLength: size(2), MaxLength: size(1)}), "min_length and max_length of parameter 'x' should satisfy 0 <= min_length <= max_length"},
		{"a negative length", typed(Type{Name: TypeString, MaxLength: size(-1)}), "min_length and max_length of parameter 'x' should satisfy 0 <= min_length <= max_length"},
		{"an enum value of another type", typed(Type{Name: TypeInteger, Enum: []value.Value{int64(1), "2"}}), "the enum value 2 of parameter 'x' should be integer but got string"},
		{"an enum of character", typed(Type{Name: TypeCharacter, Enum: []value.Value{"a"}}), ""},
		{"inside a list", typed(Type{Name: TypeArray, Items: &Type{Name: TypeString, Pattern: "("}}), "the pattern of an item of parameter 'x': error parsing regexp"},
		{"inside an object", typed(Type{Name: TypeObject, Fields: []Param{{Name: "a"}, {Name: "a"}}}), "the parameter name 'a' is used twice"},
		{"the result", with(func(t *Tool) { t.Returns = &Type{Name: TypeString, Pattern: "("} }), "the pattern of the result: error parsing regexp"},
		{"a raw schema", with(func(t *Tool) { t.Schema = []byte(`{"type":"object"}`) }), ""},
		{"a broken raw schema", with(func(t *Tool) { t.Schema = []byte(`{"$ref":"http://x/y"}`) }), "remote schemas are not supported"},
		{"an example", with(func(t *Tool) {
			t.Params = []Param{required("a", Type{Name: TypeString})}
			t.Examples = []Example{{Args: value.NewDict("a", "b")}}
		}), ""},
		{"an example that does not pass", with(func(t *Tool) {
			t.Params = []Param{required("a", Type{Name: TypeString})}
			t.Examples = []Example{{Args: value.NewDict("a", "b")}, {}}
		}), "example 2 is invalid: Tool input validation failed for 't':\n  - Missing required parameter: a"},
	}
	for _, tt := range tests {
		err := tt.tool.Validate()
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: Validate() = %v, want nil", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || value.KindOf(err) != value.Invalid):
			t.Errorf("%s: Validate() = %v, want %s", tt.name, err, tt.want)
		}
	}
}

func TestOverheadP(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{{"", 0}, {"a", 1}, {"abc", 2}, {strings.Repeat("a", 60), 23}, {strings.Repeat("a", 61), 24}, {strings.Repeat("日", 60), 23}, {strings.Repeat("a", 600_000), 230_000}} {
		if got := EstimateTokens(tt.text); got != tt.want {
			t.Errorf("P143 EstimateTokens of %d characters = %d, want %d", len([]rune(tt.text)), got, tt.want)
		}
	}
	tests := []struct {
		name string
		tool Tool
		want int
	}{
		{"A12 calibrated by hand", Tool{Name: "read_file", Description: "d", Overhead: 120}, 120},
		{"P139 nothing", Tool{Name: "t"}, 0},
		// 60 characters are 23 tokens; 1.1 × 23 = 25.3.
		{"P139 a description", Tool{Name: "t", Description: strings.Repeat("a", 60)}, 26},
		// 1.1 × 100 is 110 and no more: 100 tokens are 260 characters.
		{"P139 no rounding error", Tool{Name: "t", Description: strings.Repeat("a", 260)}, 110},
		// "p (string): " and 48 characters are 60: 23 tokens more.
		{"P139 a parameter", Tool{Name: "t", Description: strings.Repeat("a", 60), Params: []Param{{Name: "p", Type: Type{Name: TypeString}, Description: strings.Repeat("b", 48)}}}, 51},
		{"P139 not what the host fills in", Tool{Name: "t", Description: strings.Repeat("a", 60), Params: []Param{{Name: "p", FromHost: true, Description: strings.Repeat("b", 48)}}}, 26},
		// t(p="…") is 60 characters; only the first example counts.
		{"P139 an example", Tool{Name: "t", Description: strings.Repeat("a", 60), Examples: []Example{{Args: value.NewDict("p", strings.Repeat("c", 53))}, {Args: value.NewDict("p", strings.Repeat("c", 540))}}}, 51},
	}
	for _, tt := range tests {
		if got := tt.tool.EstimateOverhead(); got != tt.want {
			t.Errorf("%s: EstimateOverhead() = %d, want %d", tt.name, got, tt.want)
		}
	}
	if BaseOverhead != 500 || UnknownOverhead != 150 || TokenLimit != 200_000 {
		t.Errorf("P140 P141 base, unknown and limit are %d, %d and %d, want 500, 150 and 200000", BaseOverhead, UnknownOverhead, TokenLimit)
	}
}

func TestCallText(t *testing.T) {
	tool := Tool{Name: "t"}
	odd := &value.Dict{}
	if err := odd.Set(int64(1), nil); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args *value.Dict
		want string
	}{
		{nil, "t()"}, {value.NewDict("a", "x\n", "b", value.List{int64(1), 2.0}, "c", nil), `t(a="x\n", b=[1,2.0], c=null)`}, {odd, `t("1"=null)`},
	} {
		if got := tool.CallText(tt.args); got != tt.want {
			t.Errorf("CallText = %s, want %s", got, tt.want)
		}
	}
}
