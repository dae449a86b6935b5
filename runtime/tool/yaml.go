package tool

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// MaxYAML is how long a YAML text may be: front matter and configuration are
// written by hand and far shorter.
const MaxYAML = 64 << 10

// ParseYAML reads one YAML document as a value: mappings as dicts in order,
// sequences as lists, and scalars by the YAML 1.2 core schema. Aliases,
// merge keys, custom tags and repeated keys are refused, so that a short text cannot stand
// for a large value. The position of an error is its line.
func ParseYAML(text string) (Value, error) {
	if len(text) > MaxYAML {
		return nil, limitError("source", "a YAML text of more than %d KB", MaxYAML>>10)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		return nil, yamlError(err)
	}
	if doc.Kind == 0 {
		return nil, nil
	}
	return fromYAML(doc.Content[0], MaxDepth)
}

// yamlError turns "yaml: line 3: did not find …" into an error with a position.
func yamlError(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	e := Errorf(Invalid, "invalid YAML: %s", text)
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if n, what, ok := strings.Cut(rest, ": "); ok {
			e = Errorf(Invalid, "invalid YAML: %s", what)
			e.Pos.Line, _ = strconv.Atoi(n)
		}
	}
	return e
}

func yamlErrorAt(n *yaml.Node, format string, args ...any) error {
	e := Errorf(Invalid, format, args...)
	e.Pos = Position{Line: n.Line, Col: n.Column}
	return e
}

func fromYAML(n *yaml.Node, depth int) (Value, error) {
	if depth == 0 {
		return nil, yamlErrorAt(n, "nested more than %d deep", MaxDepth)
	}
	switch n.Kind {
	case yaml.AliasNode:
		return nil, yamlErrorAt(n, "an alias (*%s): write the value out", n.Value)
	case yaml.SequenceNode:
		list := make(List, len(n.Content))
		for i, c := range n.Content {
			v, err := fromYAML(c, depth-1)
			if err != nil {
				return nil, err
			}
			list[i] = v
		}
		return list, nil
	case yaml.MappingNode:
		return mappingFromYAML(n, depth)
	}
	return scalarFromYAML(n)
}

func mappingFromYAML(n *yaml.Node, depth int) (Value, error) {
	d := &Dict{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			return nil, yamlErrorAt(n.Content[i], "a merge key (<<): write the fields out")
		}
		key, err := fromYAML(n.Content[i], depth-1)
		if err != nil {
			return nil, err
		}
		value, err := fromYAML(n.Content[i+1], depth-1)
		if err != nil {
			return nil, err
		}
		before := d.Len()
		if err := d.Set(key, value); err != nil {
			return nil, yamlErrorAt(n.Content[i], "%v", err)
		}
		if d.Len() == before {
			return nil, yamlErrorAt(n.Content[i], "the key %s is given twice", displayValue(key))
		}
	}
	return d, nil
}

func scalarFromYAML(n *yaml.Node) (Value, error) {
	switch n.ShortTag() {
	case "!!null":
		return nil, nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	case "!!str", "!!timestamp":
		return n.Value, nil
	case "!!int":
		i, ok := new(big.Int).SetString(strings.ReplaceAll(n.Value, "_", ""), 0)
		if !ok || len(n.Value) > maxDigits {
			return nil, yamlErrorAt(n, "%q is not an integer", n.Value)
		}
		return Integer(i), nil
	case "!!float":
		return yamlFloat(n)
	}
	return nil, yamlErrorAt(n, "the tag %s is not supported", n.ShortTag())
}

func yamlFloat(n *yaml.Node) (Value, error) {
	switch strings.ToLower(n.Value) {
	case ".inf", "+.inf":
		return math.Inf(1), nil
	case "-.inf":
		return math.Inf(-1), nil
	case ".nan":
		return math.NaN(), nil
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
	if err != nil {
		return nil, yamlErrorAt(n, "%q is not a number", n.Value)
	}
	return f, nil
}

// FormatYAML writes a value as YAML, in block style, keeping the order of
// dicts; [ParseYAML] reads it back as JSON would: tuples and sets as lists,
// bytes as base64 text.
func FormatYAML(v Value) (string, error) {
	n, err := toYAML(v, MaxDepth)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(n); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return b.String(), enc.Close()
}

func toYAML(v Value, depth int) (*yaml.Node, error) {
	if depth == 0 {
		return nil, limitError("depth", "a value nested more than %d deep", MaxDepth)
	}
	if d, ok := v.(*Dict); ok {
		n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for k, val := range d.All() {
			key, err := toYAML(k, depth-1)
			if err != nil {
				return nil, err
			}
			value, err := toYAML(val, depth-1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, key, value)
		}
		return n, nil
	}
	if items, ok := Elements(v); ok {
		n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, item := range items {
			c, err := toYAML(item, depth-1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, c)
		}
		return n, nil
	}
	return scalarToYAML(v)
}

func scalarToYAML(v Value) (*yaml.Node, error) {
	switch f := v.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	case string:
		n := &yaml.Node{}
		n.SetString(f)
		return n, nil
	case float64:
		n := &yaml.Node{}
		if err := n.Encode(f); err != nil {
			return nil, err
		}
		if f == math.Trunc(f) && !strings.ContainsAny(n.Value, ".eE") {
			n.Value += ".0"
		}
		return n, nil
	}
	text, err := AppendJSON(nil, v)
	if err != nil {
		return nil, err
	}
	switch v.(type) {
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: string(text)}, nil
	case []byte:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: strings.Trim(string(text), `"`)}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: string(text)}, nil
}
