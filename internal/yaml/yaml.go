// Package yaml reads and writes values as YAML: front matter and configuration.
package yaml

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxSize is the limit of a YAML text, in bytes: front matter and configuration are
// written by hand and far shorter.
const MaxSize = 64 << 10

// Parse reads one YAML document as a value: mappings as dicts in order, sequences as
// lists, and scalars by the core schema of YAML 1.2, where yes and on, 1_000 and
// 2026-01-31 are strings. Aliases, merge keys, tags beyond the core schema, repeated
// keys and a second document are rejected, so a short text cannot expand to a large
// value. The position of an error is its line.
func Parse(text string) (value.Value, error) { return ParseUpTo(text, MaxSize) }

// ParseUpTo is [Parse] with another limit of the text, in bytes, for files that programs write.
func ParseUpTo(text string, limit int) (value.Value, error) {
	if len(text) > limit {
		return nil, value.Limitf(value.LimitSource, "the YAML text is longer than %d KB", limit>>10)
	}
	if !utf8.ValidString(text) {
		return nil, value.Errorf(value.Invalid, "invalid YAML: not UTF-8")
	}
	doc, err := yamlDocument(text)
	if err != nil {
		return nil, err
	}
	if doc.Kind == 0 {
		return nil, nil
	}
	return fromYAML(doc.Content[0], value.MaxDepth)
}

// Line returns the line of a field that path leads to, from the top, or of the last field on the
// path that exists. In a list, an element of the path is an index, as in "0". Line returns 0 if no
// field of the path exists.
func Line(text string, path ...string) (line int) { return Lines(text)(path...) }

// Lines returns [Line] of a text, which is parsed once.
func Lines(text string) func(path ...string) int {
	doc, err := yamlDocument(text)
	if err != nil || doc.Kind == 0 {
		return func(...string) int { return 0 }
	}
	return func(path ...string) int { return lineIn(doc.Content[0], path) }
}

func lineIn(at *yaml.Node, path []string) (line int) {
	for _, name := range path {
		found := false
		if i, err := strconv.Atoi(name); err == nil && at.Kind == yaml.SequenceNode && i >= 0 && i < len(at.Content) {
			at = at.Content[i]
			line = at.Line
			continue
		}
		if at.Kind != yaml.MappingNode {
			return line
		}
		for i := 0; i+1 < len(at.Content) && !found; i += 2 {
			if found = at.Content[i].Value == name; found {
				line, at = at.Content[i].Line, at.Content[i+1]
			}
		}
		if !found {
			return line
		}
	}
	return line
}

// yamlDocument parses a text into nodes. The parser panics on some malformed texts;
// these are errors.
func yamlDocument(text string) (doc yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = value.Errorf(value.Invalid, "invalid YAML: %v", p)
		}
	}()
	dec := yaml.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return yaml.Node{}, nil
		}
		e := yamlError(err)
		e.Pos.Line = lineOf(text, err, e.Pos.Line)
		if open := unclosed(text, err); open != "" {
			e.Err = fmt.Errorf("invalid YAML: the closing '%s' is missing", open)
		}
		return yaml.Node{}, e
	}
	var second yaml.Node
	switch err := dec.Decode(&second); {
	case err == nil:
		return yaml.Node{}, yamlErrorAt(&second, "the text has more than one YAML document")
	case !errors.Is(err, io.EOF):
		return yaml.Node{}, yamlError(err)
	}
	return doc, nil
}

const wrongIndent = "expected a line that is indented as those above it"

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// first returns the index of the first key of a mapping that is the same as the key at an index, which is not the first.
func first(n *yaml.Node, at int) int {
	key, _ := fromYAML(n.Content[at], value.MaxDepth)
	for i := 0; i < at; i += 2 {
		if other, _ := fromYAML(n.Content[i], value.MaxDepth); value.Equal(key, other) {
			return i
		}
	}
	return at
}

// lineOf returns the line of an error, for which the library reports a line. Its parser counts lines from 0,
// and reports where the fields or elements begin to which an unexpected line does not belong.
func lineOf(text string, err error, reported int) int {
	_, problem, expected := strings.Cut(err.Error(), "did not find expected ")
	if !expected {
		_, problem, _ = strings.Cut(err.Error(), "found ")
	}
	lines := strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n")
	switch problem {
	case "',' or ']'", "',' or '}'":
		return min(reported+1, len(lines))
	case "character that cannot start any token", "a tab character that violates indentation":
		return max(reported, 1) // the library omits the first line
	case "key", "'-' indicator", "node content", "unexpected end of stream":
		return 1 + sort.Search(len(lines)-1, func(n int) bool { // the shortest beginning that has the error
			var doc yaml.Node
			err := yaml.Unmarshal([]byte(strings.Join(lines[:n+1], "")), &doc)
			return err != nil && strings.HasSuffix(err.Error(), problem)
		})
	}
	return reported
}

// unclosed returns the bracket that is missing at the end of a text, or "". The parser expects a value there.
func unclosed(text string, err error) string {
	for _, bracket := range []string{"]", "}"} {
		var doc yaml.Node
		if strings.HasSuffix(err.Error(), "node content") && yaml.Unmarshal([]byte(text+bracket), &doc) == nil {
			return bracket
		}
	}
	return ""
}

// plainly replaces the terms of the parser.
var plainly = strings.NewReplacer(
	"mapping values are not allowed in this context", "unexpected ':': put a text that contains ': ' in quotes",
	"found character that cannot start any token", "unexpected character: put the text in quotes, and indent with spaces, not with tabs",
	"found a tab character that violates indentation", "unexpected tab: indent with spaces",
	"found unexpected end of stream", "the closing quote is missing",
	"did not find expected key", wrongIndent,
	"did not find expected '-' indicator", wrongIndent+", and that begins with - as they do",
	"did not find expected node content", "expected a value: put a text that begins with ], }, ',' or % in quotes",
	"did not find expected ',' or ']'", "a ',' or the closing ']' is missing",
	"did not find expected ',' or '}'", "a ',' or the closing '}' is missing",
	"unknown anchor '", "aliases (*", "' referenced", ") are not supported: put a text that begins with * in quotes",
)

// yamlError converts "yaml: line 3: did not find …" to an error with a position.
func yamlError(err error) *value.Error {
	text := plainly.Replace(strings.TrimPrefix(err.Error(), "yaml: "))
	e := value.Errorf(value.Invalid, "invalid YAML: %s", text)
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if n, what, ok := strings.Cut(rest, ": "); ok {
			e = value.Errorf(value.Invalid, "invalid YAML: %s", what)
			e.Pos.Line, _ = strconv.Atoi(n)
		}
	}
	return e
}

func yamlErrorAt(n *yaml.Node, format string, args ...any) error {
	return at(n, value.Errorf(value.Invalid, format, args...))
}

// at sets the position of an error.
func at(n *yaml.Node, e *value.Error) error {
	e.Pos = value.Position{Line: n.Line, Col: n.Column}
	return e
}

func fromYAML(n *yaml.Node, depth int) (value.Value, error) {
	switch n.Kind {
	case yaml.AliasNode:
		return nil, yamlErrorAt(n, "aliases (*%s) are not supported: repeat the value", n.Value)
	case yaml.ScalarNode:
		return scalarFromYAML(n)
	}
	if depth == 0 {
		return nil, at(n, value.Limitf(value.LimitDepth, "the YAML is nested more than %d levels deep", value.MaxDepth))
	}
	if tag := n.ShortTag(); tag != "!!map" && tag != "!!seq" {
		return nil, yamlErrorAt(n, "the tag %s is not supported", tag)
	}
	if n.Kind == yaml.MappingNode {
		return mappingFromYAML(n, depth)
	}
	list := make(value.List, len(n.Content))
	for i, c := range n.Content {
		v, err := fromYAML(c, depth-1)
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

func mappingFromYAML(n *yaml.Node, depth int) (value.Value, error) {
	d := &value.Dict{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Tag == "!!merge" {
			return nil, yamlErrorAt(n.Content[i], "merge keys (<<) are not supported: repeat the fields")
		}
		key, err := fromYAML(n.Content[i], depth-1)
		if err != nil {
			return nil, err
		}
		val, err := fromYAML(n.Content[i+1], depth-1)
		if err != nil {
			return nil, err
		}
		before := d.Len()
		if err := d.Set(key, val); err != nil {
			return nil, yamlErrorAt(n.Content[i], "expected a string as a key but got %s", value.TypeOf(key))
		}
		if d.Len() == before {
			above := ""
			if lines := n.Content[i].Line - n.Content[first(n, i)].Line; lines > 0 { // the text may begin below the first line of its file
				above = fmt.Sprintf(", also %s above", lineCount(lines))
			}
			return nil, yamlErrorAt(n.Content[i], "the key %s is given twice%s", value.Display(key), above)
		}
	}
	return d, nil
}

// scalarFromYAML reads a scalar by the core schema. The library mixes YAML 1.1 and 1.2
// (it reads 0777 as octal), so only quotes and explicit tags are taken from it.
func scalarFromYAML(n *yaml.Node) (value.Value, error) {
	const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle
	tag := ""
	if n.Style&yaml.TaggedStyle != 0 {
		tag = n.ShortTag()
	}
	if tag == "" && n.Style&quoted != 0 || tag == "!!str" {
		return n.Value, nil
	}
	v, is, err := coreScalar(n.Value)
	if err != nil {
		return nil, at(n, value.ErrorOf(err, value.Invalid))
	}
	switch tag {
	case "", is:
		return v, nil
	case "!!int", "!!float", "!!bool", "!!null":
		return nil, yamlErrorAt(n, "the value %q does not match its tag %s", n.Value, tag)
	}
	return nil, yamlErrorAt(n, "the tag %s is not supported", tag)
}

// coreScalar reads a plain scalar by the core schema of YAML 1.2 (section 10.3.2) and
// returns its tag.
func coreScalar(text string) (v value.Value, tag string, err error) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil, "!!null", nil
	case "true", "True", "TRUE":
		return true, "!!bool", nil
	case "false", "False", "FALSE":
		return false, "!!bool", nil
	case ".nan", ".NaN", ".NAN":
		return math.NaN(), "!!float", nil
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1), "!!float", nil
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1), "!!float", nil
	}
	if coreInteger().MatchString(text) {
		base := map[string]int{"0o": 8, "0x": 16}[text[:min(len(text), 2)]]
		digits := text
		if base == 0 {
			base = 10
		} else {
			digits = text[2:]
		}
		i, ok := new(big.Int), len(text) <= value.MaxDigits
		if ok {
			_, ok = i.SetString(digits, base)
		}
		if !ok {
			return nil, "", value.Limitf(value.LimitDigits, "the number has more than %d digits", value.MaxDigits)
		}
		return value.Integer(i), "!!int", nil
	}
	if coreFloat().MatchString(text) {
		if len(text) > value.MaxDigits {
			return nil, "", value.Limitf(value.LimitDigits, "the number has more than %d digits", value.MaxDigits)
		}
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, "", value.Errorf(value.Invalid, "the number %s is out of range", value.Cut(text, 40))
		}
		return f, "!!float", nil
	}
	return text, "!!str", nil
}

// Numbers of the core schema.
var (
	coreInteger = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$`)
	})
	coreFloat = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
	})
)

// FrontMatter returns the YAML between two lines --- at the beginning of a text, and the
// number of the lines up to the second one. The number is 0 if the text does not begin
// with ---, and -1 if the second is missing.
func FrontMatter(lines []string) (text string, n int) {
	isRule := func(line string) bool { return strings.TrimRight(line, " \t") == "---" }
	if !isRule(lines[0]) {
		return "", 0
	}
	end := slices.IndexFunc(lines[1:], isRule)
	if end < 0 {
		return "", -1
	}
	return strings.Join(lines[1:1+end], "\n"), end + 2
}

// Fields parses the front matter of a file. The descriptions in files for other programs often contain characters that YAML
// reserves, without quotes: such a description is read as text, with a warning. The fields are nil if the front matter has
// none. The line of an error is that in the file.
func Fields(meta string) (fields *value.Dict, warnings []string, err error) {
	v, err := Parse(meta)
	if err != nil {
		if again, failure := Parse(quoteDescription(meta)); failure == nil {
			v, err, warnings = again, nil, []string{"the description has characters that YAML reserves: put it in quotes"}
		}
	}
	if err != nil {
		e := *value.ErrorOf(err, value.Invalid)
		if e.Pos.Line > 0 {
			e.Pos.Line++ // the line --- above
		}
		return nil, nil, &e
	}
	fields, _ = v.(*value.Dict)
	return fields, warnings, nil
}

// quoteDescription puts the text of the line description: … in quotes, unless it is a list or an
// object.
func quoteDescription(meta string) string {
	const field = "description:"
	lines := strings.Split(meta, "\n")
	for i, line := range lines {
		if text, ok := strings.CutPrefix(line, field); ok && !strings.HasPrefix(line, field+" [") && !strings.HasPrefix(line, field+" {") {
			lines[i] = field + " '" + strings.ReplaceAll(strings.TrimSpace(text), "'", "''") + "'"
			break
		}
	}
	return strings.Join(lines, "\n")
}

// Format writes a value as YAML, in block style, keeping the order of dicts. [Parse]
// reads it back, but as from JSON: tuples and sets as lists, bytes as base64 text.
func Format(v value.Value) (string, error) {
	w := yamlWriter{nodes: value.MaxNodes}
	n, err := w.value(v, value.MaxDepth)
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

type yamlWriter struct{ nodes int }

func (w *yamlWriter) value(v value.Value, depth int) (*yaml.Node, error) {
	if w.nodes--; w.nodes < 0 {
		return nil, value.Limitf(value.LimitNodes, "the value has more than %d elements in total", value.MaxNodes)
	}
	d, isDict := v.(*value.Dict)
	items, isList := value.Elements(v)
	if !isDict && !isList {
		return scalarToYAML(v)
	}
	if depth == 0 {
		return nil, value.Limitf(value.LimitDepth, "the value is nested more than %d levels deep", value.MaxDepth)
	}
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	if isDict {
		n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		for k, val := range d.All() {
			items = append(items, k, val)
		}
	}
	for _, item := range items {
		c, err := w.value(item, depth-1)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, c)
	}
	return n, nil
}

func scalarToYAML(v value.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := v.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case string:
		n.Tag, n.Value, n.Style = "!!str", v, yamlStyle(v)
	case float64:
		n.Tag, n.Value = "!!float", yamlFloat(v)
	default:
		text, err := value.AppendJSON(nil, v)
		if err != nil {
			return nil, err
		}
		n.Value = strings.Trim(string(text), `"`)
		switch v.(type) {
		case bool:
			n.Tag = "!!bool"
		case []byte, value.Media:
			n.Tag, n.Style = "!!str", yamlStyle(n.Value)
		default:
			n.Tag = "!!int"
		}
	}
	return n, nil
}

// yamlStyle returns the style with which a string is read back unchanged: plain, a
// literal block, or quotes for unusual strings.
func yamlStyle(s string) yaml.Style {
	if strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && value.IsInvisible(r) }) {
		return yaml.DoubleQuotedStyle
	}
	if _, tag, err := coreScalar(s); err != nil || tag != "!!str" {
		return yaml.DoubleQuotedStyle
	}
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "<<": // YAML 1.1 gives these a meaning
		return yaml.DoubleQuotedStyle
	}
	if !strings.Contains(s, "\n") {
		return 0
	}
	for line := range strings.SplitSeq(s, "\n") {
		if line != strings.TrimSpace(line) {
			return yaml.DoubleQuotedStyle
		}
	}
	if strings.HasPrefix(s, "\n") || strings.HasSuffix(s, "\n\n") || s == "\n" {
		return yaml.DoubleQuotedStyle
	}
	return yaml.LiteralStyle
}

func yamlFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 0):
		return strings.Replace(strconv.FormatFloat(f, 'g', -1, 64), "Inf", ".inf", 1)
	}
	return value.FormatJSON(f, "")
}

// ParseNumber reads a decimal number of the core schema of YAML 1.2. It rejects
// hexadecimals, NaN and infinity, which no bound of a parameter would expect.
func ParseNumber(text string) (value.Value, bool) {
	if strings.HasPrefix(text, "0x") || strings.HasPrefix(text, "0o") || !coreInteger().MatchString(text) && !coreFloat().MatchString(text) {
		return nil, false
	}
	n, _, err := coreScalar(text)
	return n, err == nil && value.Numeric(n)
}
