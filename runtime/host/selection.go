package host

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cassidy-run/cassidy/runtime/host/toolset"
	"github.com/cassidy-run/cassidy/runtime/tool"
	"github.com/cassidy-run/cassidy/runtime/value"
)

// expand returns the names for a word: the name of a tool, @GROUP, preset:NAME, auto or all. tools
// returns those of the host. It fails with kind Invalid for an unknown group or preset.
func expand(word string, tools func() []toolset.Info, presets map[string][]string) ([]string, error) {
	group, isGroup := strings.CutPrefix(word, "@")
	preset, isPreset := strings.CutPrefix(word, "preset:")
	if isPreset && preset != "all" {
		names, ok := presets[preset]
		if !ok {
			known := slices.Sorted(maps.Keys(presets))
			return nil, value.Errorf(value.Invalid, "unknown preset %q%s", preset, value.DidYouMean(preset, known)).
				WithHint("use one of the presets: all, %s", strings.Join(known, ", "))
		}
		return names, nil
	}
	if !isGroup && !isPreset && word != "auto" && word != "all" {
		return []string{word}, nil
	}
	var names []string
	groups := map[string]bool{}
	for _, t := range tools() {
		groups[t.DisplayGroup()] = true
		if t.State == toolset.Ready && (!isGroup || t.DisplayGroup() == group) {
			names = append(names, t.Name)
		}
	}
	if isGroup && len(names) == 0 {
		known := slices.Sorted(maps.Keys(groups))
		return nil, value.Errorf(value.Invalid, "no tools found in group %q%s", group, value.DidYouMean(group, known)).
			WithHint("use one of the groups: %s", strings.Join(known, ", "))
	}
	return names, nil
}

// join returns one error for all words that select nothing, or nil.
func join(wrong []error) error {
	if len(wrong) < 2 {
		return errors.Join(wrong...)
	}
	const unknown = "Unknown tool: "
	var names, others []string
	for _, err := range wrong {
		message := value.ErrorOf(err, value.Failed).Message()
		if name, ok := strings.CutPrefix(message, unknown); ok {
			if name, meant, ok := strings.Cut(name, "; "); ok {
				names = append(names, name+" ("+meant+")")
				continue
			}
			names = append(names, name)
		} else {
			others = append(others, message)
		}
	}
	if len(names) == 1 {
		others = append([]string{unknown + names[0]}, others...)
	} else if len(names) > 1 {
		others = append([]string{"Unknown tools: " + strings.Join(names, ", ")}, others...)
	}
	first := value.ErrorOf(wrong[0], value.Failed)
	return &value.Error{Kind: first.Kind, Limit: first.Limit, Err: errors.New(strings.Join(others, "; also: ")), Hint: first.Hint}
}

// most is how many names a list has: as many as fit on a screen.
const most = 60

// list returns the names of tools for an error: first those of the user and the project, then the
// built-in ones. A model may read them, so untrusted tools are omitted. "" means that there are none.
func list(heads []toolset.Head) string {
	var own, builtin []string
	for i := range heads {
		switch h := &heads[i]; {
		case h.State == toolset.Untrusted:
		case h.Location == tool.Builtin:
			builtin = append(builtin, h.Name)
		default:
			own = append(own, h.Name)
		}
	}
	names := append(own, builtin...)
	if n := len(names) - most; n > 0 {
		names = append(names[:most], fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}
