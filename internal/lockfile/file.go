package lockfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/internal/yaml"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// Name is the path of the lock, from the root of its project.
const Name = folder.Name + "/cassidy.lock"

// head begins the file.
const head = "# Written by cassidy lock. Comments and other changes by hand are not kept.\n"

// maxSize is the limit of the file, in bytes: enough for 10,000 tools.
const maxSize = 8 << 20

// Value returns the lock as it is written.
func (l *Lock) Value() *value.Dict {
	d := value.NewDict("version", int64(version))
	if len(l.Tools) > 0 {
		d.Set("tools", value.List(value.Map(l.Tools, func(t Tool) value.Value { return t.value() })))
	}
	if len(l.Files) > 0 {
		d.Set("files", value.List(value.Map(l.Files, func(f File) value.Value {
			return value.NewDict("name", f.Path, "kind", string(f.Kind), "contentDigest", f.Content)
		})))
	}
	if len(l.Servers) > 0 {
		d.Set("servers", value.List(value.Map(l.Servers, func(s Server) value.Value {
			names := value.List(value.Map(s.Tools, func(n string) value.Value { return n }))
			return value.NewDict("name", s.Name, "toolsDigest", s.Digest, "tools", names)
		})))
	}
	return d
}

func (t *Tool) value() *value.Dict {
	d := value.NewDict("name", t.Name, "path", t.Path, "contentDigest", t.Content, "schemaDigest", t.Schema)
	if len(t.Needs) > 0 {
		d.Set("needs", value.List(value.Map(t.Needs, func(n string) value.Value { return n })))
	}
	if t.Risky {
		d.Set("risky", true)
	}
	return d
}

// Read reads the lock of a project. Without the file the error is of kind NotFound.
func Read(root string) (*Lock, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, failed("read", err)
	}
	defer dir.Close()
	text, err := folder.ReadText(dir.FS(), Name, maxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, value.Errorf(value.NotFound, "there is no %s", Name).WithHint("write the file with: cassidy lock")
	}
	if err != nil {
		return nil, failed("read", err)
	}
	v, err := yaml.ParseUpTo(text, maxSize)
	if err != nil {
		return nil, invalid("%w", err)
	}
	return parse(v)
}

// parse reads a lock. Unknown fields are ignored: they belong to what this version does not lock.
func parse(v value.Value) (*Lock, error) {
	d, _ := v.(*value.Dict)
	if d == nil {
		return nil, invalid("the file is not a mapping")
	}
	switch n, ok := d.Get("version"); {
	case !ok:
		return nil, invalid("the field 'version' is missing")
	case d.Int("version") > version:
		return nil, value.Errorf(value.Invalid, "read "+Name+": the file has version %d, but this cassidy reads version %d", d.Int("version"), version).WithHint("update cassidy")
	case n != int64(version):
		return nil, invalid("the file has version %s, but this cassidy reads version %d", value.FormatJSON(n, ""), version)
	}
	l, p := &Lock{}, &parser{}
	for _, d := range p.dicts(d, "tools") {
		l.Tools = append(l.Tools, Tool{
			Name: p.text(d, "name"), Path: p.text(d, "path"), Content: p.text(d, "contentDigest"), Schema: p.text(d, "schemaDigest"),
			Needs: p.texts(d, "needs"), Risky: p.bool(d, "risky"),
		})
	}
	for _, d := range p.dicts(d, "files") {
		l.Files = append(l.Files, File{p.text(d, "name"), trust.Kind(p.text(d, "kind")), p.text(d, "contentDigest")})
	}
	for _, d := range p.dicts(d, "servers") {
		l.Servers = append(l.Servers, Server{p.text(d, "name"), p.text(d, "toolsDigest"), p.texts(d, "tools")})
	}
	return l, p.err
}

// A parser reads fields, and keeps the first error.
type parser struct{ err error }

func (p *parser) fail(name, want string) {
	if p.err == nil {
		p.err = invalid("the field %s must be %s", name, want)
	}
}

func (p *parser) list(d *value.Dict, name string) value.List {
	v, ok := d.Get(name)
	list, isList := v.(value.List)
	if ok && !isList {
		p.fail(name, "a list")
	}
	return list
}

func (p *parser) dicts(d *value.Dict, name string) (all []*value.Dict) {
	for _, v := range p.list(d, name) {
		if d, ok := v.(*value.Dict); ok {
			all = append(all, d)
		} else {
			p.fail(name, "a list of mappings")
		}
	}
	return all
}

func (p *parser) texts(d *value.Dict, name string) (all []string) {
	for _, v := range p.list(d, name) {
		if s, ok := v.(string); ok {
			all = append(all, s)
		} else {
			p.fail(name, "a list of strings")
		}
	}
	return all
}

func (p *parser) text(d *value.Dict, name string) string {
	v, _ := d.Get(name)
	s, ok := v.(string)
	if !ok {
		p.fail(name, "a string")
	}
	return s
}

func (p *parser) bool(d *value.Dict, name string) bool {
	v, ok := d.Get(name)
	b, isBool := v.(bool)
	if ok && !isBool {
		p.fail(name, "true or false")
	}
	return b
}

// Write writes the lock of a project. Other programs read the old file or the new one.
func Write(root string, l *Lock) error {
	text, err := yaml.Format(l.Value())
	if err != nil {
		return err
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return failed("write", err)
	}
	defer dir.Close()
	temp := folder.Name + "/.cassidy-lock-" + rand.Text()
	err = dir.WriteFile(temp, []byte(head+text), 0o644)
	if err == nil {
		err = dir.Rename(temp, Name)
	}
	if err != nil {
		return failed("write", errors.Join(err, ignoreMissing(dir.Remove(temp))))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func failed(op string, err error) error {
	return value.Errorf(value.Failed, "%s %s: %w", op, Name, folder.Cause(err))
}

func invalid(format string, args ...any) error {
	return value.Errorf(value.Invalid, "read "+Name+": "+format, args...).WithHint("review the tools and the other files, and then write the lock again with: cassidy lock")
}
