package jsonschema

import (
	"iter"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/value"
)

// A schemaWork foretells how much work it is to check a value against a schema.
// The library that checks follows every $ref without counting: a schema that
// refers to itself would overflow the stack, which no program survives, and one
// that refers twice to what refers twice, and so on, would keep it busy for
// years. So the same paths are walked here first, each pair of a schema and a
// part of the value once, and what is too much is refused.
type schemaWork struct {
	root *schemaNode
}

const (
	// maxSchemaSteps is how much work one check may be: a step for each schema
	// that is applied to a part of the value, about a microsecond, and one for
	// each stepBytes of that part, which the library writes into its errors.
	maxSchemaSteps = 500_000
	stepBytes      = 256
	// maxSchemaDepth is how deep one schema may be applied inside another,
	// including those that $ref leads to; each level takes a kilobyte of stack.
	maxSchemaDepth = 2000
)

// A schemaNode is a schema by what it applies to what.
type schemaNode struct {
	here  []*schemaNode          // to the value itself
	at    []*schemaNode          // to the item at an index
	named map[string]*schemaNode // to the property of a name
	each  []*schemaNode          // to every item and property
}

// The keywords that hold schemas, by what those are applied to and how they
// are held: as one schema, a list of schemas, or an object of them.
var (
	hereKeywords = []string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else"}
	hereMaps     = []string{"dependentSchemas", "dependencies"}
	eachKeywords = []string{"items", "additionalItems", "contains", "unevaluatedItems",
		"additionalProperties", "propertyNames", "unevaluatedProperties", "contentSchema"}
	eachMaps = []string{"patternProperties"}
	defMaps  = []string{"$defs", "definitions"}
	// otherKeywords hold no schemas, but lead to some or name them, or are
	// read by link itself.
	otherKeywords = []string{"$id", "$ref", "$dynamicRef", "$anchor", "$dynamicAnchor", "$schema", "prefixItems", "properties"}
)

// A schemaReader turns schemas into nodes and finds what references mean.
type schemaReader struct {
	nodes    map[*value.Dict]*schemaNode
	bases    map[*value.Dict]*url.URL // the base URI of each schema
	byURI    map[string]*value.Dict   // the schemas that have one: documents and those with $id
	anchors  map[string]*value.Dict   // by URI#name
	dynamic  map[string][]*value.Dict // those with a $dynamicAnchor, by its name alone
	oldStyle bool                     // draft 07: nothing beside a $ref counts
}

// newSchemaWork reads schemas that the library has accepted, by the URI under
// which each was loaded; "" is the one to check against. Where the library and
// this reading could differ, in what a name means, the schema is refused.
func newSchemaWork(docs map[string]value.Value, oldStyle bool) (*schemaWork, error) {
	r := &schemaReader{
		nodes: map[*value.Dict]*schemaNode{}, bases: map[*value.Dict]*url.URL{}, byURI: map[string]*value.Dict{},
		anchors: map[string]*value.Dict{}, dynamic: map[string][]*value.Dict{}, oldStyle: oldStyle,
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
			if err := r.find(d, base); err != nil {
				return nil, err
			}
		}
	}
	for d := range r.bases {
		if err := r.link(d); err != nil {
			return nil, err
		}
	}
	root, _ := docs[""].(*value.Dict)
	return &schemaWork{r.nodes[root]}, nil // nil for true and false
}

// name notes what a URI or an anchor means: one schema and no other.
func (r *schemaReader) name(names map[string]*value.Dict, name string, d *value.Dict) error {
	if old, ok := names[name]; ok && old != d {
		return value.Errorf(value.Invalid, "two schemas are named %q", name)
	}
	names[name] = d
	return nil
}

// find notes a schema and the schemas inside it, with their URIs and anchors.
func (r *schemaReader) find(d *value.Dict, base *url.URL) error {
	if err := exactKeywords(d); err != nil {
		return err
	}
	base, err := r.identify(d, base)
	if err != nil {
		return err
	}
	r.nodes[d], r.bases[d] = &schemaNode{}, base
	for _, name := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := d.Text(name); anchor != "" && !r.oldStyle {
			if err := r.name(r.anchors, base.String()+"#"+anchor, d); err != nil {
				return err
			}
		}
	}
	if anchor := d.Text("$dynamicAnchor"); anchor != "" {
		r.dynamic[anchor] = append(r.dynamic[anchor], d)
	}
	for k := range d.All() {
		for _, inner := range append(heldSchemas(d, k.(string)), heldByName(d, k.(string))...) {
			if err := r.find(inner, base); err != nil {
				return err
			}
		}
	}
	return nil
}

// identify notes a schema by its $id and returns the base URI of what is in it.
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

// exactKeywords refuses keywords in another case, such as $Ref: the library,
// by way of encoding/json, takes them for the keyword, and nobody else does.
func exactKeywords(d *value.Dict) error {
	for k := range d.All() {
		name := k.(string)
		for _, list := range [][]string{hereKeywords, hereMaps, eachKeywords, eachMaps, defMaps, otherKeywords} {
			for _, keyword := range list {
				if name != keyword && strings.EqualFold(name, keyword) {
					return value.Errorf(value.Invalid, "the keyword %q: write it as %q", name, keyword)
				}
			}
		}
	}
	return nil
}

// heldSchemas returns the schemas under a keyword that holds one or a list.
// True and false are left out: they apply nothing.
func heldSchemas(d *value.Dict, keyword string) []*value.Dict {
	if !slices.Contains(hereKeywords, keyword) && !slices.Contains(eachKeywords, keyword) && keyword != "prefixItems" {
		return nil
	}
	v, _ := d.Get(keyword)
	if s, ok := v.(*value.Dict); ok {
		return []*value.Dict{s}
	}
	items, _ := value.Elements(v)
	return dictsOf(slices.Values(items))
}

// heldByName returns the schemas under a keyword that holds an object of them.
func heldByName(d *value.Dict, keyword string) []*value.Dict {
	if !slices.Contains(hereMaps, keyword) && !slices.Contains(eachMaps, keyword) && !slices.Contains(defMaps, keyword) && keyword != "properties" {
		return nil
	}
	v, _ := d.Get(keyword)
	m, _ := v.(*value.Dict)
	return dictsOf(func(yield func(value.Value) bool) {
		for _, item := range m.All() {
			if !yield(item) {
				return
			}
		}
	})
}

func dictsOf(items iter.Seq[value.Value]) (list []*value.Dict) {
	for item := range items {
		if d, ok := item.(*value.Dict); ok {
			list = append(list, d)
		}
	}
	return list
}

// link fills in what a schema applies to what.
func (r *schemaReader) link(d *value.Dict) error {
	n := r.nodes[d]
	for _, k := range hereKeywords {
		n.here = r.append(n.here, heldSchemas(d, k))
	}
	for _, k := range hereMaps {
		n.here = r.append(n.here, heldByName(d, k))
	}
	for _, k := range eachKeywords {
		n.each = r.append(n.each, heldSchemas(d, k))
	}
	for _, k := range eachMaps {
		n.each = r.append(n.each, heldByName(d, k))
	}
	prefix, _ := d.Get("prefixItems")
	items, _ := value.Elements(prefix)
	for _, item := range items {
		s, _ := item.(*value.Dict)
		n.at = append(n.at, r.nodes[s]) // nil for true and false
	}
	properties, _ := d.Get("properties")
	m, _ := properties.(*value.Dict)
	n.named = make(map[string]*schemaNode, m.Len())
	for k, v := range m.All() {
		if s, ok := v.(*value.Dict); ok {
			n.named[k.(string)] = r.nodes[s]
		}
	}
	for _, k := range []string{"$ref", "$dynamicRef"} {
		if ref := d.Text(k); ref != "" {
			targets, err := r.follow(d, ref, k == "$dynamicRef")
			if err != nil {
				return err
			}
			n.here = r.append(n.here, targets)
		}
	}
	return nil
}

func (r *schemaReader) append(nodes []*schemaNode, schemas []*value.Dict) []*schemaNode {
	for _, s := range schemas {
		nodes = append(nodes, r.nodes[s])
	}
	return nodes
}

// follow finds what a reference may mean. A dynamic one depends on the way that
// led to it, so it may mean any schema with its anchor.
func (r *schemaReader) follow(d *value.Dict, ref string, dynamic bool) ([]*value.Dict, error) {
	u, err := url.Parse(ref)
	if err != nil {
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
	if r.nodes[d] == nil {
		return nil, value.Errorf(value.Invalid, "cannot follow the reference %q", ref)
	}
	targets := []*value.Dict{d}
	if dynamic {
		targets = append(targets, r.dynamic[fragment]...)
	}
	return targets, nil
}

// pointed returns what is at a JSON Pointer (RFC 6901), or nil.
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

// bound says whether checking a value is too much work.
func (w *schemaWork) bound(v value.Value) error {
	c := schemaCount{steps: map[schemaPair]int{}}
	_, err := c.count(w.root, shapeOf(v), 0)
	return err
}

// A shape is a value by what it holds: nothing for all but lists and dicts.
type shape struct {
	size  int      // in bytes, about
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

// A schemaCount counts steps. Each pair of a schema and a part of the value is
// counted once and remembered.
type schemaCount struct {
	steps map[schemaPair]int // 0 while it is being counted
}

func (c *schemaCount) count(s *schemaNode, v *shape, depth int) (int, error) {
	if s == nil {
		return 1, nil
	}
	n, known := c.steps[schemaPair{s, v}]
	if known {
		if n == 0 {
			return 0, value.Errorf(value.Invalid, "the JSON Schema refers to itself without end")
		}
		return n, nil
	}
	if depth > maxSchemaDepth {
		return 0, value.Limitf(value.LimitDepth, "the JSON Schema leads more than %d schemas deep", maxSchemaDepth)
	}
	c.steps[schemaPair{s, v}] = 0
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
	c.steps[schemaPair{s, v}] = n
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
		subs := s.each
		switch {
		case v.names != nil && s.named[v.names[i]] != nil:
			subs = append(subs[:len(subs):len(subs)], s.named[v.names[i]])
		case v.names == nil && i < len(s.at):
			subs = append(subs[:len(subs):len(subs)], s.at[i])
		}
		for _, sub := range subs {
			if err := add(sub, part); err != nil {
				return err
			}
		}
	}
	return nil
}
