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
	Status
}

// Unique removes the items with conflicting names, and returns their errors: a custom
// item never replaces a built-in one, and of two custom ones neither is used, unless
// projectWins prefers the project's to the user's. An untrusted item cannot disable one
// of the user's. what names the items.
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
