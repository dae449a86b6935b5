// Package openapi makes tools of the operations of an OpenAPI document: a script for each, and tests with fakes.
//
// The document may come from an untrusted author. Its texts reach a script only as literals and in docstrings, cleaned and
// bounded, its names only as identifiers, and its servers only if they name one host. Nothing that a document refers to is
// fetched.
package openapi

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

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

// Options say how tools are made.
type Options struct {
	From   string // the file or the URL, for readers of the scripts
	Base   string // the URL of the document, to which servers may be relative; "" for a file
	Server string // replaces the servers of the document unless it is ""
	Secret string // the name of the secret; "" derives one from the title
	Name   string // begins the names of the tools, and is their group; "" takes the group from the title
}

// A Document is an OpenAPI document whose operations can become tools. It is read as it is, without a type for each of its
// objects: the keywords that matter are few, and those of OpenAPI 3.0 and 3.1 differ.
type Document struct {
	Title      string       `json:"title"`
	Version    string       `json:"version"`
	Group      string       `json:"group"`
	Servers    []string     `json:"servers"`
	Operations []*Operation `json:"operations"` // sorted by path and method

	root    *value.Dict
	options *Options
	wrong   error // the first fault that was found
}

// An Operation is one operation of a document.
type Operation struct {
	Name    string   `json:"name"` // of its tool
	Method  string   `json:"method"`
	Path    string   `json:"path"`
	ID      string   `json:"operation_id,omitempty"`
	Summary string   `json:"summary"`
	Tags    []string `json:"tags,omitempty"`
	Notes   []string `json:"notes,omitempty"`    // what the tool does not have
	LeftOut string   `json:"left_out,omitempty"` // why it cannot become a tool, or ""

	item, spec *value.Dict // the path item, and the operation in it
	keys       []key
}

// Label names an operation as people select it.
func (op *Operation) Label() string { return op.Method + " " + op.Path }

// Read reads a document in YAML or JSON, and plans the tools of its operations. Its errors are of kind Invalid or Limit.
func Read(ctx context.Context, text string, o *Options) (*Document, error) {
	root, err := parse(strings.TrimPrefix(text, "\ufeff"))
	if err != nil {
		return nil, err
	}
	if err := checkVersion(root); err != nil {
		return nil, err
	}
	d := &Document{Servers: []string{}, root: root, options: o}
	info := d.object(root, "info")
	d.Title, d.Version = oneLine(info.Text("title"), 80), oneLine(info.Text("version"), 40)
	for _, s := range d.list(root, "servers") {
		d.Servers = append(d.Servers, oneLine(s.Text("url"), 200))
	}
	d.Group = cmp.Or(identifier(o.Name), strings.Trim(strings.TrimSuffix(cutName(identifier(d.Title), 40), "_api"), "_"), "api")
	taken := map[string]bool{}
	paths := d.object(root, "paths")
	for _, path := range sortedKeys(paths) {
		item := d.object(paths, path)
		for _, method := range []string{"delete", "get", "head", "options", "patch", "post", "put", "trace"} {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			spec := d.object(item, method)
			if spec == nil {
				continue
			}
			if len(d.Operations) == maxOperations {
				return nil, value.Errorf(value.Limit, "the document has more than %d operations", maxOperations)
			}
			op := &Operation{Method: strings.ToUpper(method), Path: path, ID: spec.Text("operationId"), item: item, spec: spec}
			op.Summary = oneLine(cmp.Or(spec.Text("summary"), item.Text("summary"), firstLine(spec.Text("description")), op.Label()), 120)
			for _, tag := range spec.Elements("tags") {
				op.Tags = append(op.Tags, oneLine(value.Display(tag), 40))
			}
			p := d.plan(op, fewSchemas) // it is not kept: those of all operations of a large document take much memory
			op.LeftOut, op.Notes, op.keys = p.leftOut, p.notes, p.keys
			op.Name = uniqueName(toolName(o.Name, op), taken)
			d.Operations = append(d.Operations, op)
		}
	}
	if d.wrong != nil {
		return nil, d.wrong
	}
	if len(d.Operations) == 0 {
		return nil, value.Errorf(value.Invalid, "the document has no operations")
	}
	return d, nil
}

// parse reads JSON or YAML with bounds.
func parse(text string) (*value.Dict, error) {
	if len(text) > MaxSize {
		return nil, value.Errorf(value.Limit, "the document is longer than %d MB", MaxSize>>20)
	}
	if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") {
		if v, err := value.ReadJSON([]byte(text), 2*value.MaxDepth, maxNodes); err == nil {
			return v.(*value.Dict), nil
		}
	}
	v, err := yaml.ParseUpTo(text, MaxSize)
	if err != nil {
		return nil, value.AsError(err, value.Invalid)
	}
	if root, ok := withTextKeys(v).(*value.Dict); ok {
		return root, nil
	}
	return nil, value.Errorf(value.Invalid, "this is no OpenAPI document: neither an object in JSON nor a mapping in YAML")
}

// withTextKeys returns a value whose keys are all texts: YAML reads the code of a response, such as 200, as a number.
func withTextKeys(v value.Value) value.Value {
	switch v := v.(type) {
	case *value.Dict:
		d := value.MakeDict(v.Len())
		for k, item := range v.All() {
			d.Put(value.Display(k), withTextKeys(item))
		}
		return d
	case value.List:
		return value.List(value.Map(v, withTextKeys))
	}
	return v
}

func checkVersion(root *value.Dict) error {
	v, has := root.Get("openapi")
	version := oneLine(value.Display(v), 20) // YAML reads 3.0 as a number
	swagger, isSwagger := root.Get("swagger")
	switch {
	case isSwagger:
		return value.Errorf(value.Invalid, "the document is Swagger %s, and only OpenAPI 3.0 and 3.1 can be imported", oneLine(value.Display(swagger), 20)).
			WithHint("convert it, for example with: npx swagger2openapi FILE -o openapi.yaml")
	case !has:
		return value.Errorf(value.Invalid, "this is no OpenAPI document: the field openapi is missing")
	case !strings.HasPrefix(version+".", "3.0.") && !strings.HasPrefix(version+".", "3.1.") && version != "3":
		return value.Errorf(value.Invalid, "the document is OpenAPI %s, and only 3.0 and 3.1 can be imported", version)
	}
	return nil
}

func isReference(v value.Value) bool {
	o, _ := v.(*value.Dict)
	ref, _ := o.Get("$ref")
	_, ok := ref.(string)
	return ok
}

// follow returns the object that v is or refers to, and the reference, if v is one. The object is nil for nothing, and for
// true and false, which are schemas in OpenAPI 3.1.
func (d *Document) follow(v value.Value) (o *value.Dict, ref string, err error) {
	if isReference(v) {
		ref = v.(*value.Dict).Text("$ref")
	}
	left := maxChain
	v, err = d.resolve(v, &left)
	if err != nil {
		if left < 0 {
			err = value.Errorf(value.Invalid, "the reference %s leads back to itself, or through more than %d others", oneLine(ref, 200), maxChain)
		}
		return nil, ref, err
	}
	o, isObject := v.(*value.Dict)
	if _, isBool := v.(bool); !isObject && !isBool && v != nil {
		return nil, ref, value.Errorf(value.Invalid, "should be an object but is %s", oneLine(value.Display(v), 60))
	}
	return o, ref, nil
}

// resolve returns what v refers to, directly or through others, of which at most left remain; or v, if it is no reference.
func (d *Document) resolve(v value.Value, left *int) (value.Value, error) {
	for isReference(v) {
		ref := v.(*value.Dict).Text("$ref")
		nowhere := value.Errorf(value.Invalid, "$ref %q leads nowhere", oneLine(ref, 200))
		if *left--; *left < 0 {
			return nil, nowhere
		}
		path, isLocal := strings.CutPrefix(ref, "#")
		if !isLocal {
			return nil, value.Errorf(value.Invalid, "the document refers to another one, which is not fetched: $ref %q", oneLine(ref, 200)).
				WithHint("bundle the documents into one, for example with: npx @redocly/cli bundle FILE -o openapi.yaml")
		}
		path, err := url.PathUnescape(path)
		if err != nil || !strings.HasPrefix(path, "/") {
			return nil, nowhere
		}
		v = d.root
		for part := range strings.SplitSeq(path[1:], "/") {
			if v, err = d.resolve(v, left); err != nil {
				return nil, err
			}
			found := false
			switch at := v.(type) {
			case *value.Dict:
				v, found = at.Get(strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~"))
			case value.List:
				if n, err := strconv.Atoi(part); err == nil && n >= 0 && n < len(at) {
					v, found = at[n], true
				}
			}
			if !found {
				return nil, nowhere
			}
		}
	}
	return v, nil
}

// object returns the object in a field, or nil.
func (d *Document) object(o *value.Dict, name string) *value.Dict {
	v, _ := o.Get(name)
	found, _ := d.read(name, v)
	return found
}

// list returns the objects in a list.
func (d *Document) list(o *value.Dict, name string) (list []*value.Dict) {
	v, _ := o.Get(name)
	items, ok := v.(value.List)
	if !ok && v != nil {
		d.fault(name, value.Errorf(value.Invalid, "should be a list but is %s", oneLine(value.Display(v), 60)))
	}
	for _, item := range items {
		if found, _ := d.read(name, item); found != nil {
			list = append(list, found)
		}
	}
	return list
}

// read is follow for a value in a field, whose fault is that of the document.
func (d *Document) read(name string, v value.Value) (o *value.Dict, ref string) {
	o, ref, err := d.follow(v)
	d.fault(name, err)
	return o, ref
}

// fault keeps the first fault.
func (d *Document) fault(name string, err error) {
	if err != nil && d.wrong == nil {
		d.wrong = value.Errorf(value.Invalid, "read the document: %s: %w", oneLine(name, 60), err).WithHint("%s", value.ErrorOf(err, value.Invalid).Hint)
	}
}

func sortedKeys(o *value.Dict) []string {
	var names []string
	for k := range o.All() {
		names = append(names, k.(string))
	}
	slices.Sort(names)
	return names
}
