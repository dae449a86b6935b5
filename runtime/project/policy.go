package project

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

const (
	policiesDir = "policies"
	// maxPolicy is how long a policy's file may be, and maxPolicies how many
	// files one folder is read for.
	maxPolicy   = 256 << 10
	maxPolicies = 1000
)

// A Policy is a script that leads an agent: a file of the folder policies of a
// project or of its user.
type Policy struct {
	Name     string // the stem of the file
	Path     string // as messages name the file
	Location tool.Location
	State    tool.State
	Reason   string // why it is untrusted, or ""

	source string
}

// Script returns the policy's script. It fails for one that is untrusted. libs
// are the files that it may load.
func (p *Policy) Script(libs map[string]string) (tool.Script, error) {
	if p.State == tool.Untrusted {
		return tool.Script{}, tool.Errorf(tool.Denied, "the policy '%s' is untrusted: %s", p.Name, p.Reason).WithHint("review it with: cassidy trust")
	}
	return tool.Script{Name: p.Name, Path: p.Path, Source: p.source, Libs: libs}, nil
}

// Policies reads the policies of a project and of its user. A file that is not
// right is reported and hides no other; of two with one name neither is used.
// An empty root means that there is no project; of the options Home, Trust and
// TrustOnce count.
func Policies(root string, o *Options) ([]Policy, []*tool.Error) {
	var all []Policy
	var broken []*tool.Error
	ledger := o.ledger(root)
	for _, place := range userPlaces(root, o.Home, policiesDir) {
		place.ledger = ledger
		found, errs := place.policies()
		for _, p := range found {
			if i := slices.IndexFunc(all, func(q Policy) bool { return tool.Key(q.Name) == tool.Key(p.Name) }); i >= 0 {
				if all[i].State == tool.Untrusted && p.State == tool.Ready {
					all[i] = p // a stranger's takes nobody's name
					continue
				}
				errs = append(errs, place.fileError(path.Base(p.Path), tool.Errorf(tool.Conflict, "%s has the same name", all[i].Path).WithHint("rename one of them")))
				all = slices.Delete(all, i, i+1)
				continue
			}
			all = append(all, p)
		}
		broken = append(broken, errs...)
	}
	return all, broken
}

// policies reads the policies that the place holds.
func (p userPlace) policies() (found []Policy, broken []*tool.Error) {
	files, done, err := p.open()
	if err != nil {
		return nil, []*tool.Error{p.fileError("", err)}
	}
	defer done()
	entries, more, err := readFolder(files, p.dir, maxPolicies)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, []*tool.Error{p.fileError("", err)}
	case more:
		broken = append(broken, p.fileError("", tool.Errorf(tool.Limit, "more than %d files: the rest is not read", maxPolicies)))
	}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || path.Ext(name) != ".star" || strings.HasPrefix(name, ".") {
			continue
		}
		policy, err := p.policy(files, name)
		if err != nil {
			broken = append(broken, p.fileError(name, err))
			continue
		}
		found = append(found, policy)
	}
	return found, broken
}

func (p userPlace) policy(files fs.FS, name string) (Policy, error) {
	stem := strings.TrimSuffix(name, ".star")
	if err := tool.CheckName(stem); err != nil {
		return Policy{}, err
	}
	file := path.Join(p.dir, name)
	text, cut, err := readHead(files, file, maxPolicy)
	switch {
	case err != nil:
		return Policy{}, err
	case cut:
		return Policy{}, tool.Errorf(tool.Limit, "the file is longer than %d KB", maxPolicy>>10)
	}
	policy := Policy{Name: stem, Path: filepath.ToSlash(path.Join(p.shown, name)), Location: p.location, State: tool.Ready, source: string(text)}
	if p.location == tool.Project {
		if policy.Reason = p.ledger.file(KindPolicy, file, tool.HashBytes(text)); policy.Reason != "" {
			policy.State = tool.Untrusted
		}
	}
	return policy, nil
}
