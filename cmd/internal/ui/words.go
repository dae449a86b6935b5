package ui

import (
	"slices"

	"github.com/cassidy-run/cassidy/runtime/tool"
)

// WorstFirst sorts capabilities: those that change something come first.
func WorstFirst(list []tool.Capability) []tool.Capability {
	acting := slices.DeleteFunc(slices.Clone(list), func(c tool.Capability) bool { return !c.Acts() })
	return append(acting, slices.DeleteFunc(slices.Clone(list), tool.Capability.Acts)...)
}
