package trust

import (
	"strings"

	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// A Name is the name of what a file defines: a tool, a skill, a policy or a workflow.
type Name struct {
	Name     string
	Path     string // the file in messages
	Location tool.Location
	// Folder is where the file is, and Content the hash of what it has, for [First].
	Folder, Content string
	Status
}

// First removes the items of a project, or of its user, whose name an earlier folder of this location has, and returns the
// errors of those with other contents. It also removes copies of an item of another location. An untrusted item removes
// no trusted one.
func First[T any](what string, all []T, nameOf func(*T) Name) (kept []T, hidden []*value.Error) {
	type named struct {
		location tool.Location
		key      string
	}
	first := map[named]*Name{}
	for _, trusted := range []bool{true, false} {
		for i := range all {
			n := nameOf(&all[i])
			if at := (named{n.Location, tool.Key(n.Name)}); n.Trusted == trusted && first[at] == nil {
				first[at] = &n
			}
		}
	}
	for i := range all {
		n := nameOf(&all[i])
		by, project := first[named{n.Location, tool.Key(n.Name)}], first[named{tool.Project, tool.Key(n.Name)}]
		switch {
		case by.Folder != n.Folder && by.Content != n.Content:
			e := value.Errorf(value.Invalid, "the %s '%s' is not used: %s has the same name, and comes first", what, n.Name, by.Path).WithHint("rename or delete one of the two")
			e.Pos = value.Position{File: n.Path, Line: 1}
			hidden = append(hidden, e)
		case by.Folder != n.Folder, project != nil && project.Trusted && n.Location == tool.Personal && project.Content == n.Content:
		default:
			kept = append(kept, all[i])
		}
	}
	return kept, hidden
}

// Unique removes the items with conflicting names, and returns their errors: a custom
// item never replaces a built-in one, and of two custom ones neither is used, unless
// projectWins prefers the project's to the user's. An untrusted item cannot disable one
// of the user's. A silent choice could run another item than the caller means. what names the
// items.
func Unique[T any](what string, all []T, nameOf func(*T) Name, projectWins bool) (kept []T, broken []*value.Error) {
	first, same := make(map[string]int, len(all)), map[string][]int{}
	for i := range all {
		key := tool.Key(nameOf(&all[i]).Name)
		switch at, taken := first[key]; {
		case !taken:
			first[key] = i
		case same[key] == nil:
			same[key] = []int{at, i}
		default:
			same[key] = append(same[key], i)
		}
	}
	if len(same) == 0 {
		return all, nil
	}
	for i := range all {
		n := nameOf(&all[i])
		var names []Name
		for _, at := range same[tool.Key(n.Name)] {
			names = append(names, nameOf(&all[at]))
		}
		removed, err := conflict(what, n, names, projectWins)
		if err != nil {
			broken = append(broken, err)
		}
		if !removed {
			kept = append(kept, all[i])
		}
	}
	return kept, broken
}

// conflict reports whether an item is removed because of others with the same name, and
// why.
func conflict(what string, n Name, same []Name, projectWins bool) (removed bool, err *value.Error) {
	personal := 0
	for _, other := range same {
		if other.Location == tool.Personal {
			personal++
		}
	}
	count := map[tool.Location]int{}
	var others []string
	for _, other := range same {
		if personal == 0 || other.Trusted {
			count[other.Location]++
		}
		if other.Path != n.Path {
			others = append(others, other.Path)
		}
	}
	overrides := projectWins && count[tool.Project] == 1
	switch {
	case len(same) == 0, n.Location == tool.Builtin:
		return false, nil
	case count[tool.Builtin] > 0:
		err = value.Errorf(value.Invalid, "a built-in %s already has the name '%s'", what, n.Name).WithHint("Rename your custom %s", what)
	case personal > 0 && !n.Trusted:
		err = value.Errorf(value.Invalid, "a personal %s already has the name '%s', and the project's file is not reviewed", what, n.Name).
			WithHint("rename one of them, and run cassidy trust")
	case count[tool.Project]+count[tool.Personal] == 1, overrides && n.Location == tool.Project:
		return false, nil
	case overrides && personal == 1:
		return true, nil
	default:
		remedy := ""
		if what == "tool" && count[tool.Project] == 1 && personal == 1 {
			remedy = ", or set project_overrides_personal: true in your own config.yaml"
		}
		err = value.Errorf(value.Invalid, "the %s '%s' is also in %s", what, n.Name, strings.Join(others, ", ")).
			WithHint("Each custom %s must have a unique name (- and _ are equal): rename one%s", what, remedy)
	}
	err.Pos = value.Position{File: n.Path, Line: 1}
	return true, err
}
