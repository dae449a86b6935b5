package encoding

import (
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
	"github.com/cassidy-run/cassidy/stdlib/internal/row"
)

// YAML returns the module yaml: encode and decode, without aliases and tags.
func YAML() tool.Module {
	return row.Pure(tool.Module{
		Name: "yaml",
		Doc:  "YAML for front matter and configuration.",
		Funcs: []tool.Func{
			{
				Name:    "encode",
				Doc:     "Encode a value as YAML in block style. The order of dicts is preserved.",
				Params:  []tool.Param{tool.Required("value", tool.TypeAny, "The value.")},
				Returns: "the YAML text, which ends with a line break",
				Do:      row.Do(yamlEncode),
			},
			{
				Name: "decode",
				Doc: "Decode one YAML document of at most 64 KB. Aliases, merge keys and custom tags are " +
					"errors. Dates remain text.",
				Params: []tool.Param{
					tool.Required("text", tool.TypeString, "The YAML text."),
					tool.Maybe("default", tool.TypeAny, "The value to return if the text is invalid, such as None. If you omit this argument, an invalid text is an error."),
				},
				Returns: "the value, or None for an empty text",
				Do:      row.Do(yamlDecode),
			},
		},
	})
}

func yamlEncode(a *value.Dict) (value.Value, error) {
	v := row.Arg(a, "value")
	// A node of the YAML library is large: what could not cross a border for
	// its size would take all memory here.
	if _, err := value.Append(nil, v); err != nil {
		return nil, err
	}
	return yaml.Format(v)
}

func yamlDecode(a *value.Dict) (value.Value, error) {
	v, err := yaml.Parse(a.Text("text"))
	if e := value.ErrorOf(err, value.Invalid); e != nil {
		// The position is one in this text. Left where it is, it would be taken
		// for one in the script.
		at := *e
		at.Pos = value.Position{}
		if e.Pos.Line > 0 {
			at.Err = row.Invalid("line %d: %w", e.Pos.Line, e.Err).Err
		}
		err = &at
	}
	return orDefault(a, v, err)
}
