package lockfile

import (
	"slices"
	"strings"
)

// A Change is one difference between a lock and the files.
type Change struct {
	Subject    string // such as "tool slug" or ".cassidy/hooks.star"
	Text       string // such as "now needs fs.read"
	Capability bool   // it is about what a tool may do
}

// Compare lists what has changed since the lock: first what tools may do, then the rest.
func (l *Lock) Compare(now *Lock) []Change {
	c := &comparison{}
	pairs(l.Tools, now.Tools, func(t *Tool) string { return t.Name }, c.tools)
	pairs(l.Servers, now.Servers, func(s *Server) string { return s.Name }, c.servers)
	pairs(l.Files, now.Files, func(f *File) string { return f.Path }, c.files)
	return append(c.capabilities, c.others...)
}

// pairs calls do for each name, with what has it before and now; one of them may be nil.
func pairs[T any](before, now []T, name func(*T) string, do func(name string, before, now *T)) {
	find := func(list []T, n string) *T {
		if i := slices.IndexFunc(list, func(x T) bool { return name(&x) == n }); i >= 0 {
			return &list[i]
		}
		return nil
	}
	var names []string
	for _, list := range [][]T{before, now} {
		for i := range list {
			names = append(names, name(&list[i]))
		}
	}
	slices.Sort(names)
	for _, n := range slices.Compact(names) {
		do(n, find(before, n), find(now, n))
	}
}

// A comparison collects changes.
type comparison struct{ capabilities, others []Change }

func (c *comparison) may(subject, text string) {
	c.capabilities = append(c.capabilities, Change{subject, text, true})
}
func (c *comparison) other(subject, text string) {
	c.others = append(c.others, Change{subject, text, false})
}

// tools compares two versions of a tool.
func (c *comparison) tools(name string, before, now *Tool) {
	subject := "tool " + name
	if now == nil {
		c.other(subject, "was removed")
		return
	}
	if before == nil {
		c.other(subject, "is new in "+now.Path)
		before = &Tool{Path: now.Path, Content: now.Content, Schema: now.Schema, Risky: now.Risky}
	}
	if more := without(now.Needs, before.Needs); len(more) > 0 {
		c.may(subject, "now needs "+strings.Join(more, ", "))
	}
	if before.Risky && !now.Risky {
		c.may(subject, "no longer asks before it runs")
	}
	if !before.Risky && now.Risky {
		c.may(subject, "now asks before it runs")
	}
	if less := without(before.Needs, now.Needs); len(less) > 0 {
		c.may(subject, "no longer needs "+strings.Join(less, ", "))
	}
	if before.Path != now.Path {
		c.other(subject, "is in another file: "+now.Path)
	}
	if before.Schema != now.Schema {
		c.other(subject, "what models see has changed: its description, arguments, result or hints")
	}
	if before.Content != now.Content {
		c.other(subject, "content changed")
	}
}

// servers compares two versions of a server.
func (c *comparison) servers(name string, before, now *Server) {
	subject := "server " + name
	if now == nil {
		c.other(subject, "is not used any more")
		return
	}
	if before == nil {
		c.may(subject, "is new")
		before = &Server{Digest: now.Digest}
	}
	if more := without(now.Tools, before.Tools); len(more) > 0 {
		c.may(subject, "now offers "+strings.Join(more, ", "))
	}
	if less := without(before.Tools, now.Tools); len(less) > 0 {
		c.other(subject, "no longer offers "+strings.Join(less, ", "))
	}
	if before.Digest != now.Digest && slices.Equal(before.Tools, now.Tools) {
		c.other(subject, "what models see of its tools has changed")
	}
}

// without returns the texts of a list that another one does not have.
func without(list, other []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(other, s) })
}

// files compares two versions of a file.
func (c *comparison) files(name string, before, now *File) {
	switch {
	case now == nil:
		c.other(name, "was removed")
	case before == nil:
		c.other(name, "is new: "+string(now.Kind))
	case before.Kind != now.Kind:
		c.other(name, "is used differently: "+string(now.Kind))
	case before.Content != now.Content:
		c.other(name, "content changed")
	}
}
