// Package openapi makes tools of the operations of an OpenAPI document: a script for each, and tests with fakes.
//
// The document may come from an untrusted author. Its texts reach a script only as literals and in docstrings, cleaned and
// bounded, its names only as identifiers, and its servers only if they name one host. Nothing that a document refers to is
// fetched.
package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// MaxSize is the limit of a document, in bytes.
const MaxSize = 16 << 20

const (
	maxNodes      = 4_000_000 // values in a document
	maxOperations = 20_000
	maxChain      = 50 // references that lead to one another
)

// A Document is an OpenAPI document whose operations can become tools.
type Document struct {
	Title, Version string
	Servers        []string
	Group          string
	Operations     []*Operation // sorted by path and method
}

// Read reads a document in YAML or JSON, and plans the tools of its operations. Its errors are of kind Invalid or Limit.
func Read(text string, o *Options) (*Document, error) {
	doc, err := load(strings.TrimPrefix(text, "\ufeff"))
	if err != nil {
		return nil, err
	}
	d := &Document{}
	if doc.Info != nil {
		d.Title, d.Version = oneLine(doc.Info.Title, 80), oneLine(doc.Info.Version, 40)
	}
	for _, s := range doc.Servers {
		if s != nil {
			d.Servers = append(d.Servers, oneLine(s.URL, 200))
		}
	}
	d.Group = identifier(o.Name)
	if d.Group == "" {
		d.Group = strings.Trim(strings.TrimSuffix(cutName(identifier(d.Title), 40), "_api"), "_")
	}
	if d.Group == "" {
		d.Group = "api"
	}
	taken := map[string]bool{}
	p := &planner{doc: doc, options: o, group: d.Group}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
		item := doc.Paths.Value(path)
		if item == nil {
			continue
		}
		operations := item.Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			if len(d.Operations) == maxOperations {
				return nil, value.Errorf(value.Limit, "the document has more than %d operations", maxOperations)
			}
			plan := func() *Operation { return p.operation(method, path, item, operations[method]) }
			op := plan()
			op.again = plan
			op.plan = nil // those of all operations of a large document take much memory
			op.Name = uniqueName(toolName(o.Name, op), taken)
			d.Operations = append(d.Operations, op)
		}
	}
	if len(d.Operations) == 0 {
		return nil, value.Errorf(value.Invalid, "the document has no operations")
	}
	return d, nil
}

// load reads a document and resolves its references. The text is read with bounds first, so that the library gets JSON
// without aliases.
func load(text string) (doc *openapi3.T, err error) {
	tree, err := parse(text)
	if err != nil {
		return nil, err
	}
	root, _ := tree.(*value.Dict)
	version, _ := root.Get("openapi")
	swagger, isSwagger := root.Get("swagger")
	switch {
	case isSwagger:
		return nil, value.Errorf(value.Invalid, "the document is Swagger %s, and only OpenAPI 3.0 and 3.1 can be imported", oneLine(value.Display(swagger), 20)).
			WithHint("convert it, for example with: npx swagger2openapi FILE -o openapi.yaml")
	case version == nil:
		return nil, value.Errorf(value.Invalid, "this is no OpenAPI document: the field openapi is missing")
	case !strings.HasPrefix(value.Display(version), "3.0") && !strings.HasPrefix(value.Display(version), "3.1"):
		return nil, value.Errorf(value.Invalid, "the document is OpenAPI %s, and only 3.0 and 3.1 can be imported", oneLine(value.Display(version), 20))
	}
	root.Put("openapi", value.Display(version)) // YAML reads 3.0 as a number
	if err := cyclic(root); err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil { // of the library, by a malformed document
			doc, err = nil, value.Errorf(value.Invalid, "read the document: %s", oneLine(fmt.Sprint(p), 200))
		}
	}()
	doc = &openapi3.T{}
	data, err := json.Marshal(older("", plainJSON(root)))
	if err == nil {
		err = json.Unmarshal(data, doc)
	}
	if err == nil {
		err = openapi3.NewLoader().ResolveRefsIn(doc, nil)
	}
	_, remote, isRemote := strings.Cut(fmt.Sprint(err), "disallowed external reference: ")
	switch {
	case isRemote:
		return nil, value.Errorf(value.Invalid, "the document refers to another one, which is not fetched: $ref %q", oneLine(strings.Trim(remote, `"`), 200)).
			WithHint("bundle the documents into one, for example with: npx @redocly/cli bundle FILE -o openapi.yaml")
	case err != nil:
		return nil, value.Errorf(value.Invalid, "read the document: %s", oneLine(err.Error(), 300))
	case doc.Paths == nil:
		return nil, value.Errorf(value.Invalid, "the document has no operations")
	}
	return doc, nil
}

// plainJSON returns a value as encoding/json writes it. The functions of package value are for smaller values.
func plainJSON(v value.Value) any {
	switch v := v.(type) {
	case *value.Dict:
		d := make(map[string]any, v.Len())
		for name, item := range v.All() {
			d[fmt.Sprint(name)] = plainJSON(item)
		}
		return d
	case value.List:
		return value.Map(v, plainJSON)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil // YAML has them
		}
	}
	return v
}

// older returns the schemas in v as OpenAPI 3.0 writes them: later versions of the library, which know 3.1, link a validator
// whose start takes 3 ms in each process. key is the keyword that has the value v.
func older(key string, v any) any {
	switch key {
	case "example", "examples", "default", "enum", "const":
		return v // data
	}
	switch v := v.(type) {
	case map[string]any:
		switch key {
		case "properties", "patternProperties", "schemas", "$defs", "parameters", "responses", "headers":
			for name, item := range v { // names, no keywords
				v[name] = older("schema", item)
			}
			return v
		}
		for name, item := range v {
			v[name] = older(name, item)
		}
		olderKeywords(v)
	case []any:
		for i, item := range v {
			v[i] = older("schema", item)
		}
	case bool:
		if key == "schema" || key == "items" || key == "not" { // true or false, where 3.0 has an object
			return map[string]any{}
		}
	}
	return v
}

// olderKeywords writes the keywords of a schema.
func olderKeywords(s map[string]any) {
	for _, b := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		if bound, ok := s[b[0]]; ok && bound != true && bound != false {
			s[b[0]], s[b[1]] = true, bound
		}
	}
	if list, ok := s["type"].([]any); ok {
		types := slices.DeleteFunc(slices.Clone(list), func(name any) bool { return name == "null" })
		if len(types) < len(list) {
			s["nullable"] = true
		}
		s["type"] = types
	}
	if list, ok := s["examples"].([]any); ok && len(list) > 0 { // those of a response have names
		s["example"] = list[0]
		delete(s, "examples")
	}
	if only, ok := s["const"]; ok {
		s["enum"] = []any{only}
		delete(s, "const")
	}
}

// parse reads JSON or YAML with bounds.
func parse(text string) (value.Value, error) {
	if len(text) > MaxSize {
		return nil, value.Errorf(value.Limit, "the document is longer than %d MB", MaxSize>>20)
	}
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		if v, err := value.ReadJSON([]byte(text), 2*value.MaxDepth, maxNodes); err == nil {
			return v, nil
		}
	}
	v, err := yaml.ParseUpTo(text, MaxSize)
	if err != nil {
		return nil, value.AsError(err, value.Invalid)
	}
	if _, ok := v.(*value.Dict); !ok {
		return nil, value.Errorf(value.Invalid, "this is no OpenAPI document: neither an object in JSON nor a mapping in YAML")
	}
	return v, nil
}

// cyclic returns an error for a component that is nothing but a reference to itself, directly or through others. A schema
// that contains itself is no cycle of this kind.
func cyclic(root *value.Dict) error {
	target := func(v value.Value) (string, bool) {
		d, _ := v.(*value.Dict)
		ref, ok := d.Get("$ref")
		name, isText := ref.(string)
		return name, ok && isText
	}
	at := func(ref string) value.Value {
		var v value.Value = root
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			d, _ := v.(*value.Dict)
			v, _ = d.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(part))
		}
		return v
	}
	for kind, list := range root.Dict("components").All() {
		named, _ := list.(*value.Dict)
		for name, v := range named.All() {
			start := fmt.Sprintf("#/components/%v/%v", kind, name)
			seen := map[string]bool{start: true}
			for ref, is := target(v); is; ref, is = target(at(ref)) {
				if seen[ref] {
					return value.Errorf(value.Invalid, "the reference %s leads back to itself", oneLine(start, 200))
				}
				if seen[ref] = true; len(seen) > maxChain {
					return value.Errorf(value.Limit, "the reference %s leads through more than %d others", oneLine(start, 200), maxChain)
				}
			}
		}
	}
	return nil
}
