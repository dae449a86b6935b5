// Package lockfile describes the files of a project that a person reviews, so that a later change is
// noticed: above all a tool that may do more than before.
//
// [Of] describes the files as they are, [Read] and [Write] keep the description in the file
// .cassidy/cassidy.lock, and [Lock.Compare] lists what has changed.
package lockfile

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/dirhash"

	"github.com/cassidy-run/cassidy/internal/folder"
	"github.com/cassidy-run/cassidy/internal/trust"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// version is that of the format.
const version = 1

// A Lock describes the files of a project. The zero value describes no files.
type Lock struct {
	Tools []Tool // by name
	Files []File // all other files, by path
	// Servers are the reviewed MCP servers of the project, by name. [Of] does not know them.
	Servers []Server
}

// Server returns a server of the lock. A nil lock has none.
func (l *Lock) Server(name string) (s Server, ok bool) {
	if l == nil {
		return s, false
	}
	i := slices.IndexFunc(l.Servers, func(s Server) bool { return s.Name == name })
	if i < 0 {
		return s, false
	}
	return l.Servers[i], true
}

// A Server is an MCP server whose tools the project uses, as they were reviewed.
type Server struct {
	Name   string
	Digest string   // of the definitions of its tools, as sha256:HEX
	Tools  []string // their names, sorted
}

// A Tool is a tool of the project.
type Tool struct {
	Name    string
	Path    string   // from the project's root, with slashes
	Content string   // the digest of its file and of the files that it loads, as h1:BASE64
	Schema  string   // the digest of what models see of it, as sha256:HEX
	Needs   []string // its capabilities, in order
	Risky   bool     // declared to need approval
}

// A File is a skill, an agent file, the hooks, or another file that needs a review.
type File struct {
	Path    string
	Kind    trust.Kind
	Content string // the digest, as h1:BASE64
}

// Of describes the files of a review. It fails if the review has broken files, as nobody knows what
// these would do.
func Of(r *trust.Review) (*Lock, error) {
	if len(r.Broken) > 0 {
		e := *r.Broken[0]
		return nil, e.WithHint("repair or remove the file: a lock describes only valid files")
	}
	texts := map[string]string{}
	for i := range r.Files {
		texts[r.Files[i].Path] = r.Files[i].Text
	}
	l := &Lock{}
	for i := range r.Files {
		f := &r.Files[i]
		if f.Tool == nil {
			digest, err := digestOf(texts, f.Path)
			if err != nil {
				return nil, err
			}
			l.Files = append(l.Files, File{f.Path, f.Kind, digest})
			continue
		}
		t, err := toolOf(f, texts)
		if err != nil {
			return nil, err
		}
		l.Tools = append(l.Tools, t)
	}
	slices.SortFunc(l.Tools, func(a, b Tool) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path)) })
	slices.SortFunc(l.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return l, nil
}

// toolOf describes a tool.
func toolOf(f *trust.File, texts map[string]string) (t Tool, err error) {
	names := []string{f.Path}
	for _, lib := range f.Tool.Loads {
		names = append(names, path.Join(folder.ToolsDir, lib))
	}
	t = Tool{Name: f.Tool.Name, Path: f.Path, Risky: f.Tool.Risky, Needs: value.Map(f.Tool.Needs, tool.Capability.String)}
	slices.Sort(t.Needs)
	t.Needs = slices.Compact(t.Needs)
	if t.Content, err = digestOf(texts, names...); err != nil {
		return t, err
	}
	definition, err := f.Tool.Tool.Definition(tool.Locked)
	if err != nil {
		return t, err
	}
	sum := sha256.Sum256([]byte(value.FormatJSON(definition, "")))
	t.Schema = "sha256:" + hex.EncodeToString(sum[:])
	return t, nil
}

// digestOf returns the digest of some files, in the form that go.sum has.
func digestOf(texts map[string]string, names ...string) (string, error) {
	return dirhash.Hash1(names, func(name string) (io.ReadCloser, error) {
		text, ok := texts[name]
		if !ok {
			return nil, value.Errorf(value.Failed, "%s was not reviewed", name)
		}
		return io.NopCloser(strings.NewReader(text)), nil
	})
}
