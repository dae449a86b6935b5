package jsonschema

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// maxSchemaSteps bounds the work of one check: a step for each schema that is applied to a
// part of the value, about a microsecond, and one for each stepBytes of that part, which the
// library writes into its errors.
const (
	maxSchemaSteps = 500_000
	stepBytes      = 256
	// maxSchemaDepth is how deep schemas may be applied inside each other, including
	// those of $ref; each level takes a kilobyte of stack.
	maxSchemaDepth = 2000
)

// A schemaNode holds the subschemas of a schema by what they apply to. It predicts the work of
// checking a value against the schema. The library follows every $ref without counting: a
// schema that refers to itself would overflow the stack and end the program, and a chain of
// schemas that each refer twice to the next would keep it busy for years. So the same paths are
// walked here first, each pair of a schema and a part of the value once, and too much work is
// rejected. A nil schemaNode is true or false.
type schemaNode struct {
	here  []*schemaNode          // to the value itself
	at    map[int]*schemaNode    // to the item at an index
	named map[string]*schemaNode // to the property of a name
	each  []*schemaNode          // to every item and property
}

// A keyword is what the schemas under a keyword apply to.
type keyword struct {
	to     target
	byName bool // it holds an object of schemas; otherwise one schema or a list
}

type target int

const (
	toNothing target = iota
	toHere
	toEach
	toIndex
	toName
)

// keywords are the keywords that hold schemas, refer to them or name them.
var keywords = map[string]keyword{
	"allOf": {to: toHere}, "anyOf": {to: toHere}, "oneOf": {to: toHere}, "not": {to: toHere}, "if": {to: toHere}, "then": {to: toHere}, "else": {to: toHere},
	"dependentSchemas": {toHere, true}, "dependencies": {toHere, true},
	"items": {to: toEach}, "additionalItems": {to: toEach}, "contains": {to: toEach}, "unevaluatedItems": {to: toEach},
	"additionalProperties": {to: toEach}, "propertyNames": {to: toEach}, "unevaluatedProperties": {to: toEach}, "contentSchema": {to: toEach},
	"patternProperties": {toEach, true}, "prefixItems": {to: toIndex}, "properties": {toName, true},
	"$defs": {toNothing, true}, "definitions": {toNothing, true},
	"$id": {}, "$ref": {}, "$dynamicRef": {}, "$anchor": {}, "$dynamicAnchor": {}, "$schema": {},
}

// A schemaReader converts schemas to nodes and resolves references.
type schemaReader struct {
	nodes    map[*value.Dict]*schemaNode
	bases    map[*value.Dict]*url.URL // the base URI of each schema
	byURI    map[string]*value.Dict   // documents and schemas with $id
	anchors  map[string]*value.Dict   // by URI#name
	dynamic  map[string][]*schemaNode // schemas with a $dynamicAnchor, by its name alone
	oldStyle bool                     // draft 07: keywords next to a $ref are ignored
}

// readSchemas reads schemas that the library has accepted, by the URI from which each was
// loaded. It returns the one of the URI "". If the library and this code could resolve a name
// differently, the schema is rejected.
func readSchemas(docs map[string]value.Value, oldStyle bool) (*schemaNode, error) {
	r := &schemaReader{
		nodes: map[*value.Dict]*schemaNode{}, bases: map[*value.Dict]*url.URL{}, byURI: map[string]*value.Dict{},
		anchors: map[string]*value.Dict{}, dynamic: map[string][]*schemaNode{}, oldStyle: oldStyle,
	}
	for uri, doc := range docs {
		base, err := url.Parse(uri)
		if err != nil {
			return nil, err
		}
		if d, ok := doc.(*value.Dict); ok {
			if err := r.name(r.byURI, uri, d); err != nil {
				return nil, err
			}
			if _, err := r.read(d, base); err != nil {
				return nil, err
			}
		}
	}
	for d, n := range r.nodes {
		for _, k := range []string{"$ref", "$dynamicRef"} {
			targets, err := r.follow(d, d.Text(k), k == "$dynamicRef")
			if err != nil {
				return nil, err
			}
			n.here = append(n.here, targets...)
		}
	}
	root, _ := docs[""].(*value.Dict)
	return r.nodes[root], nil
}

// name records the schema of a URI or an anchor, which must be unique.
func (r *schemaReader) name(names map[string]*value.Dict, name string, d *value.Dict) error {
	if old, ok := names[name]; ok && old != d {
		return value.Errorf(value.Invalid, "two schemas have the name %q", name)
	}
	names[name] = d
	return nil
}

// read reads a schema and its subschemas, with their URIs and anchors, but not the references.
func (r *schemaReader) read(d *value.Dict, base *url.URL) (*schemaNode, error) {
	base, err := r.identify(d, base)
	if err != nil {
		return nil, err
	}
	n := &schemaNode{at: map[int]*schemaNode{}, named: map[string]*schemaNode{}}
	r.nodes[d], r.bases[d] = n, base
	for _, name := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := d.Text(name); anchor != "" && !r.oldStyle {
			if err := r.name(r.anchors, base.String()+"#"+anchor, d); err != nil {
				return nil, err
			}
		}
	}
	if anchor := d.Text("$dynamicAnchor"); anchor != "" {
		r.dynamic[anchor] = append(r.dynamic[anchor], n)
	}
	for k, v := range d.All() {
		name := k.(string)
		use, known := keywords[name]
		if !known {
			if err := notKeyword(name); err != nil {
				return nil, err
			}
			continue
		}
		for i, held := range heldSchemas(v, use.byName) {
			s, ok := held.Value.(*value.Dict)
			if !ok {
				continue // true and false apply nothing
			}
			sub, err := r.read(s, base)
			if err != nil {
				return nil, err
			}
			switch use.to {
			case toHere:
				n.here = append(n.here, sub)
			case toEach:
				n.each = append(n.each, sub)
			case toIndex:
				n.at[i] = sub
			case toName:
				n.named[held.Key.(string)] = sub
			}
		}
	}
	return n, nil
}

// heldSchemas returns the schemas under a keyword: those of an object by name, those of a list,
// or the one that is the value itself.
func heldSchemas(v value.Value, byName bool) (list []value.Entry) {
	if byName {
		d, _ := v.(*value.Dict)
		for k, item := range d.All() {
			list = append(list, value.Entry{Key: k, Value: item})
		}
		return list
	}
	items, ok := value.Elements(v)
	if !ok {
		items = []value.Value{v}
	}
	return value.Map(items, func(item value.Value) value.Entry { return value.Entry{Value: item} })
}

// identify records a schema by its $id and returns the base URI for its subschemas.
func (r *schemaReader) identify(d *value.Dict, base *url.URL) (*url.URL, error) {
	id := d.Text("$id")
	if id == "" || r.oldStyle && d.Text("$ref") != "" {
		return base, nil
	}
	u, err := url.Parse(id)
	if err != nil {
		return nil, err
	}
	if u.Fragment != "" { // draft 07, which has no $anchor
		return base, r.name(r.anchors, base.String()+"#"+strings.TrimPrefix(id, "#"), d)
	}
	base = base.ResolveReference(u)
	return base, r.name(r.byURI, base.String(), d)
}

// notKeyword rejects the name of a keyword in another case, such as $Ref: the library accepts
// it, because of encoding/json, but nothing else does.
func notKeyword(name string) error {
	for keyword := range keywords {
		if strings.EqualFold(name, keyword) {
			return value.Errorf(value.Invalid, "unknown keyword %q: write %q", name, keyword)
		}
	}
	return nil
}

// follow resolves a reference; "" refers to nothing. The target of a dynamic one depends on the
// path to it, so it may be any schema with its anchor.
func (r *schemaReader) follow(d *value.Dict, ref string, dynamic bool) ([]*schemaNode, error) {
	u, err := url.Parse(ref)
	if err != nil || ref == "" {
		return nil, err
	}
	u = r.bases[d].ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	var target value.Value = r.anchors[u.String()+"#"+fragment]
	if fragment == "" || strings.HasPrefix(fragment, "/") {
		target = pointed(r.byURI[u.String()], fragment)
	}
	if _, ok := target.(bool); ok {
		return nil, nil // it applies nothing
	}
	d, _ = target.(*value.Dict)
	n := r.nodes[d]
	if n == nil {
		return nil, value.Errorf(value.Invalid, "$ref not found: %q", ref)
	}
	if dynamic {
		return append([]*schemaNode{n}, r.dynamic[fragment]...), nil
	}
	return []*schemaNode{n}, nil
}

// pointed returns the value at a JSON Pointer (RFC 6901), or nil.
func pointed(d *value.Dict, pointer string) value.Value {
	var v value.Value = d
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch in := v.(type) {
		case *value.Dict:
			v, _ = in.Get(part)
		case value.List:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// bound fails if checking a value is too much work.
func (s *schemaNode) bound(v value.Value) error {
	c := schemaCount{}
	_, err := c.count(s, shapeOf(v), 0)
	return err
}

// A shape is the structure of a value: only lists and dicts have parts.
type shape struct {
	size  int      // in bytes, approximately
	names []string // of a dict, one for each part
	parts []*shape
}

func shapeOf(v value.Value) *shape {
	s := &shape{size: 8}
	switch v := v.(type) {
	case string:
		s.size += len(v)
	case []byte:
		s.size += len(v)
	case value.Media:
		s.size += len(v.Data)
	case *value.Dict:
		for k, item := range v.All() {
			name := value.Display(k)
			s.size += len(name)
			s.names = append(s.names, name)
			s.hold(item)
		}
	default:
		items, _ := value.Elements(v)
		for _, item := range items {
			s.hold(item)
		}
	}
	return s
}

func (s *shape) hold(item value.Value) {
	part := shapeOf(item)
	s.size += part.size
	s.parts = append(s.parts, part)
}

type schemaPair struct {
	schema *schemaNode
	value  *shape
}

// A schemaCount has the steps of each pair of a schema and a part of the value: 0 while they are
// being counted.
type schemaCount map[schemaPair]int

func (c schemaCount) count(s *schemaNode, v *shape, depth int) (int, error) {
	if s == nil {
		return 1, nil
	}
	n, known := c[schemaPair{s, v}]
	if known {
		if n == 0 {
			return 0, value.Errorf(value.Invalid, "the JSON Schema has an endless reference to itself")
		}
		return n, nil
	}
	if depth > maxSchemaDepth {
		return 0, value.Limitf(value.LimitDepth, "the JSON Schema is nested more than %d levels deep", maxSchemaDepth)
	}
	c[schemaPair{s, v}] = 0
	n = 1 + v.size/stepBytes
	add := func(sub *schemaNode, part *shape) error {
		m, err := c.count(sub, part, depth+1)
		if n += m; err == nil && n > maxSchemaSteps {
			err = value.Limitf(value.LimitSteps, "checking the value against the JSON Schema takes more than %d steps", maxSchemaSteps)
		}
		return err
	}
	if err := s.apply(v, add); err != nil {
		return 0, err
	}
	c[schemaPair{s, v}] = n
	return n, nil
}

// apply calls add for each schema that s applies to a part of the value.
func (s *schemaNode) apply(v *shape, add func(*schemaNode, *shape) error) error {
	for _, sub := range s.here {
		if err := add(sub, v); err != nil {
			return err
		}
	}
	for i, part := range v.parts {
		subs, own := s.each, s.at[i]
		if v.names != nil {
			own = s.named[v.names[i]]
		}
		if own != nil {
			subs = append(subs[:len(subs):len(subs)], own)
		}
		for _, sub := range subs {
			if err := add(sub, part); err != nil {
				return err
			}
		}
	}
	return nil
}
